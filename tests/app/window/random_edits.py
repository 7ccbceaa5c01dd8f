"""Edits that a person makes in docks, dialogs, forms and the inspector, chosen at random."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from tests.app.window.window_support import patch_of
from warploom.app.edits import drive, groups
from warploom.app.edits import nodes as edits
from warploom.app.edits.organise import dots, frames, osc, presets
from warploom.app.window.main_window import MainWindow
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import COLOURS, Frame, Preset
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.runtime.check.pins import pin_output

_NAMES = ("One", "Two", "Drei & vier")
WRONG_CODE = "vec("
_CODES = ("x * gain", "x + y", "sin(x) * depth\n", WRONG_CODE, "x if x > level else -x")


class RandomEdits:
    """Chooses among what is there; without any of it, an edit does nothing."""

    def __init__(self, window: MainWindow, chance: Random) -> None:
        self.window, self.chance = window, chance
        #: Each edit, with how often it is chosen.
        self.ways: dict[Callable[[], object], int] = {
            self._frame: 6,
            self._dots: 4,
            self._preset: 5,
            self._bookmark: 2,
            self._pin: 3,
            self._osc: 4,
            self._code: 5,
            self._drive: 4,
            self._promote: 3,
            self._animate: 3,
            self._reset: 2,
            self._rename: 3,
            self._sentinel: 3,
            self._add_instance: 2,
            self._jump: 2,
        }

    @property
    def patch(self) -> Patch:
        return patch_of(self.window)

    def _frame(self) -> None:
        view, organise = self.window.canvas.scene.frames, self.window.canvas.organise
        if not view.views:
            return
        chosen = self.chance.choice(list(view.views))
        match self.chance.randrange(5):
            case 0:
                frames.change_frames(self.patch, [chosen], title=self._name(), comment="Why\nso?")
            case 1:
                frames.change_frames(self.patch, [chosen], colour=self.chance.choice(COLOURS))
            case 2:
                rect = frames.rect_of(frames.frame_of(self.patch, chosen))
                organise.resize_frame(chosen, Rect(rect.x - 16, rect.y, rect.width + 16, rect.height))
            case 3:
                inside = frames.frames_in(self.patch, chosen)
                organise.move_frames([chosen, *inside], {}, (24.0, 8.0))
            case _:
                self.window.canvas.select([])
                view.select([chosen])  # for Delete, Copy and the frame's commands

    def _dots(self) -> None:
        led = [c for c in self.window.canvas.scene.connections if self.patch.dots(c.target)]
        if led:
            connection = self.chance.choice(led)
            points = list(self.patch.dots(connection.target))
            number = self.chance.randrange(len(points))
            if self.chance.random() < 0.5:
                self.window.canvas.organise.remove_dot(connection, number)
            else:
                points[number] = (points[number][0] + 8.0, points[number][1] - 16.0)
                dots.set_dots(self.patch, connection, points, "Move dot")

    def _preset(self) -> None:
        nodes, organise = self.window.canvas.selected(), self.window.canvas.organise
        known = presets.presets_for(self.patch, nodes) if nodes else []
        match self.chance.randrange(4):
            case 0 | 1 if nodes:
                organise.save_preset(nodes[0], self._name())
            case 2 if known:
                organise.apply_preset(self.chance.choice(known))
            case 3 if known:
                organise.rename_preset(self.chance.choice(known), self._name())
            case _ if all_presets := self.patch.annotations_of(Preset):
                organise.delete_preset(self.chance.choice(all_presets))

    def _bookmark(self) -> None:
        number = self.chance.randrange(1, 4)
        if self.chance.random() < 0.5:
            self.window.kernel.set_bookmark(number)
        else:
            self.window.kernel.go_to_bookmark(number)

    def _pin(self) -> None:
        pins = self.patch.annotations_of(Pin)
        if pins and self.chance.random() < 0.3:
            self.patch.remove_annotation(self.chance.choice(pins).key)
        elif (port := self._output()) is not None:
            pin_output(self.patch, port, np.arange(4, dtype=np.float32), frame=3, tolerance=1e-3)

    def _osc(self) -> None:
        port = self._parameter()
        if port is not None and self.chance.random() < 0.7:
            osc.set_sent(self.patch, port, is_sent=not osc.is_sent(self.patch, port))
        else:
            osc.set_destination(self.patch, f"127.0.0.1:{self.chance.randrange(40_000, 40_004)}")

    def _code(self) -> None:
        """Type a formula; some are wrong."""
        held = [node.id for node in self.patch.nodes.values() if node.type == "kernel.expression"]
        if held:
            edits.set_parameter(self.patch, [self.chance.choice(held)], "expression", self.chance.choice(_CODES))

    def _drive(self) -> None:
        port = self._parameter()
        if port is None:
            return
        types = drive.drivers(self.patch, port)
        if self.patch.source_of(port) is not None:
            drive.release(self.patch, [port])
        elif types:
            known = [block_type for block_type in types if block_type.id == "value.slider"]
            drive.drive_with_new(self.patch, [port], (known or types)[0], lambda patch, node: (160.0, 64.0))

    def _promote(self) -> None:
        port = self._parameter()
        if port is not None and self.patch.group_of(port.node):
            groups.promote(self.patch, [port])

    def _animate(self) -> None:
        """Give a parameter keys, other ones, or none; they are constant, so that every frame has the same numbers."""
        port = self._parameter()
        if port is not None:
            value = self.chance.choice((0.5, 1.0))
            keys = self.chance.choice(((), ((0.0, value),), ((0.0, value), (1.5, value, "hold"))))
            self.patch.animate(port.node, port.port, keys)

    def _reset(self) -> None:
        port = self._parameter()
        if port is not None:
            edits.reset_parameter(self.patch, [port.node], port.port)

    def _rename(self) -> None:
        for node in self.window.canvas.selected()[:1]:
            self.patch.rename(node, self._name())

    def _sentinel(self) -> None:
        port = self._output()
        if port is not None and self.patch.sentinel_of(port) is not None:
            self.patch.remove_sentinel(port)
        elif port is not None:
            self.patch.set_sentinel(port)

    def _add_instance(self) -> None:
        functions = self.window.canvas.edits.functions()
        if functions:
            self.window.canvas.edits.add_instance(self.chance.choice(functions))

    def _jump(self) -> None:
        """Go back or forward by several edits, as a click into the history does."""
        step = self.chance.choice((self.window.session.undo, self.window.session.redo))
        for _ in range(self.chance.randrange(1, 5)):
            step()

    def _name(self) -> str:
        return self.chance.choice(_NAMES)

    def _output(self) -> PortRef | None:
        ports = [c.source for c in self.window.canvas.scene.connections]
        return self.chance.choice(ports) if ports else None

    def _parameter(self) -> PortRef | None:
        nodes = self.window.canvas.selected() or list(self.window.canvas.scene.nodes)
        node = self.chance.choice(nodes) if nodes else ""
        block_type = self.patch.block_type(node) if node else None
        names = [spec.name for spec in block_type.parameters.values() if spec.type == "float"] if block_type else []
        return PortRef(node, self.chance.choice(names)) if names else None


def frames_agree(window: MainWindow) -> None:
    """Compare the frames on the canvas with those of the document at the shown level."""
    shown = window.canvas.scene.frames
    held = {frame.id: frame for frame in patch_of(window).annotations_of(Frame) if frame.group == shown.level}
    assert set(shown.views) == set(held)
    for frame_id, view in shown.views.items():
        assert tuple(view.rect.topLeft().toTuple()) == held[frame_id].position
