"""Random legal actions of a person: document, canvas and engine agree, and undo leads back to the first file."""

from __future__ import annotations

import random
from collections.abc import Callable
from difflib import unified_diff
from itertools import islice
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from tests.app.window.random_edits import WRONG_CODE, RandomEdits, frames_agree
from tests.app.window.window_support import patch_of
from tests.fuzzing import FACTOR, seeds
from warploom import Engine
from warploom.app.edits import nodes as edits
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import PatchError, Severity, WarploomError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch

#: Actions in an ordinary run.
ACTIONS = 60
#: A patch with more nodes is emptied, since checking a large one takes long.
MOST_NODES = 120
#: The number of actions after which the engine's numbers are compared with a fresh engine's.
CHECKED_EVERY = 30
#: Blocks whose numbers don't depend on time, by what a person types to find them.
TYPES = ("math.add", "math.saxpy", "math.scale_offset", "buffer.constant", "value.slider", "buffer.copy", "expression")
#: The commands that edit, each as often as a person may choose it.
COMMANDS = {
    "undo": 4,
    "redo": 3,
    "duplicate": 3,
    "delete": 3,
    "cut": 1,
    "copy": 2,
    "paste": 3,
    "select_all": 1,
    "disconnect": 1,
    "group": 5,
    "ungroup": 3,
    "take_out": 2,
    "wrap_if": 2,
    "lay_out": 2,
    "align_left": 1,
    "distribute_x": 1,
    "add_dot": 2,
    "straighten": 1,
    "bypass": 4,
    "disable": 2,
    "add_frame": 3,
    "select_in_frame": 1,
    "make_function": 3,
    "duplicate_linked": 3,
    "make_unique": 1,
    "reset": 1,
}


class Person:
    """Chooses actions at random, and does what the editor allows."""

    def __init__(self, window: MainWindow, seed: int) -> None:
        self.window, self.chance = window, random.Random(seed)
        self.done: list[str] = []
        own: dict[Callable[[], object], int] = {
            self._add: 12,
            self._connect: 20,
            self._select: 18,
            self._select_connection: 4,
            self._set: 8,
            self._nudge: 4,
            self._enter: 4,
            self._leave: 3,
        }
        own |= RandomEdits(window, self.chance).ways
        self._ways = {**own, **{self._command(name): weight for name, weight in COMMANDS.items()}}

    @property
    def patch(self) -> Patch:
        return patch_of(self.window)

    @property
    def shown(self) -> list[str]:
        return list(self.window.canvas.scene.nodes)

    def act(self) -> None:
        """Do one thing."""
        (way,) = self.chance.choices(list(self._ways), list(self._ways.values()))
        if len(self.patch.nodes) > MOST_NODES:  # copies of functions double quickly
            self.window.canvas.select_all()
            way = self._command("delete")
        self.done.append(way.__name__)
        try:
            way()
        except PatchError:  # the editor says why it refuses
            self.done[-1] += " (refused)"

    def _command(self, name: str) -> Callable[[], object]:
        def run() -> None:
            self.window.actions_by_id.look()
            self.window.actions_by_id[name].trigger()  # does nothing while the command is disabled
            for form in self.window.findChildren(QDialog):
                form.reject()

        run.__name__ = name
        return run

    def _add(self) -> None:
        canvas = self.window.canvas
        canvas.open_search(QPoint(self.chance.randrange(80, 600), self.chance.randrange(80, 500)))
        popup = canvas.search.popup
        QTest.keyClicks(popup.field, self.chance.choice(TYPES))
        QTest.keyClick(popup.field, Qt.Key.Key_Return)
        assert not popup.isVisible()

    def _connect(self) -> None:
        ends = [self._port(is_input=False), self._port(is_input=True)]
        if None not in ends:
            edits.connect(self.patch, *ends)  # type: ignore[arg-type]  # both are there

    def _port(self, *, is_input: bool) -> PortRef | None:
        ports = [
            PortRef(node, name)
            for node, view in self.window.canvas.scene.nodes.items()
            for name, of_input in view.ports
            if of_input is is_input
        ]
        return self.chance.choice(ports) if ports else None

    def _select(self) -> None:
        count = self.chance.choice((1, 1, 2, 2, 3, 4))
        self.window.canvas.select(self.chance.sample(self.shown, min(count, len(self.shown))))

    def _select_connection(self) -> None:
        lines = list(self.window.canvas.scene.connections.values())
        if lines:
            self.window.canvas.select(())
            self.chance.choice(lines).setSelected(True)

    def _set(self) -> None:
        for node in self.window.canvas.selected()[:1]:
            block_type = self.patch.block_type(node)
            names = [name for name, spec in block_type.parameters.items() if spec.type == "float"] if block_type else []
            if names:
                value = self.chance.choice((0.0, 0.5, 1.0, -2.0, 3.0))
                edits.set_parameter(self.patch, [node], self.chance.choice(names), value)

    def _nudge(self) -> None:
        self.window.canvas.edits.nudge(self.chance.choice((-8, 8)), self.chance.choice((-8, 0, 8)), object())

    def _enter(self) -> None:
        groups = [node for node in self.shown if self.patch.is_group(node)]
        if groups:
            self.window.kernel.open(self.chance.choice(groups))

    def _leave(self) -> None:
        if self.window.kernel.is_open:
            self.window.kernel.leave()


def same_on_canvas(window: MainWindow) -> None:
    """Compare the canvas with the document: one level of groups is shown, with all its blocks and connections."""
    patch, scene = patch_of(window), window.canvas.scene
    levels = {patch.group_of(node) for node in scene.nodes if node in patch.nodes}
    assert len(levels) <= 1
    level = levels.pop() if levels else None
    if level is not None:
        assert set(scene.nodes) == {node for node in patch.nodes if patch.group_of(node) == level}
    inside = [c for c in patch.connections if c.source.node in scene.nodes and c.target.node in scene.nodes]
    assert set(scene.connections) == set(inside)
    for node, view in scene.nodes.items():
        assert (view.x(), view.y()) == patch.nodes[node].position
    frames_agree(window)


def readable(engine: Engine, patch: Patch) -> dict[PortRef, Any]:
    """Return what each output port holds, and None where nothing does."""
    found: dict[PortRef, Any] = {}
    for node in patch.nodes:
        block_type = patch.block_type(node)
        for spec in block_type.outputs() if block_type else ():
            try:
                found[PortRef(node, spec.name)] = engine.read(PortRef(node, spec.name))
            except WarploomError:
                found[PortRef(node, spec.name)] = None
    return found


def same_in_engine(window: MainWindow) -> None:
    """Compare the window's engine, which has followed all edits, with one that begins with the same file."""
    engine: Any = window.session.engine
    report = engine.step()
    while report.preparing:  # a large graph is built beside the frames
        report = engine.step()
    with Engine(parse_patch(dump_patch(patch_of(window))), "host") as fresh:
        expected = fresh.step()
        wrong = {(each.node, each.message) for each in expected.diagnostics if each.severity is Severity.ERROR}
        found = {(each.node, each.message) for each in report.diagnostics if each.severity is Severity.ERROR}
        # The window's engine keeps the ports of the last right code; a fresh one has none to check other blocks by.
        codes = {node.parameters.get("expression") for node in patch_of(window).nodes.values()}
        assert found == wrong or WRONG_CODE in codes, found ^ wrong
        if not wrong and not found:  # otherwise blocks may go on running in the graph before the error
            states = [{node: each.state for node, each in each.nodes.items()} for each in (report, expected)]
            assert states[0] == states[1]
            held, wanted = readable(engine, patch_of(window)), readable(fresh, patch_of(window))
            assert held.keys() == wanted.keys()
            for port, array in wanted.items():
                assert (held[port] is None) == (array is None), port
                assert array is None or np.array_equal(held[port], array, equal_nan=True), port


def differences(one: str, other: str) -> str:
    """Return the first lines of two files that differ, with those around them."""
    return "\n".join(islice(unified_diff(one.splitlines(), other.splitlines(), lineterm=""), 40))


@pytest.mark.parametrize("seed", seeds(1))
def test_random_actions_agree_and_can_be_undone(real_window: MainWindow, qtbot: QtBot, seed: int) -> None:
    """After each action the canvas shows the document; the engine computes it; all undone, the first file is back."""
    window = real_window
    window.resize(1200, 800)
    window.files.new()
    person = Person(window, seed)
    first = dump_patch(patch_of(window))
    for number in range(ACTIONS * min(FACTOR, 34)):
        person.act()
        qtbot.wait(0)
        try:
            same_on_canvas(window)
            if number % CHECKED_EVERY == CHECKED_EVERY - 1:
                same_in_engine(window)
        except AssertionError as problem:
            raise AssertionError(f"after {person.done[-12:]}") from problem
    last = dump_patch(patch_of(window))
    count = len(patch_of(window).history.names)
    for _ in range(count):
        window.session.undo()
    assert not differences(dump_patch(patch_of(window)), first)
    for _ in range(count):
        window.session.redo()
    assert not differences(dump_patch(patch_of(window)), last)
    same_on_canvas(window)
