"""Three tasks from an empty canvas by mouse and keys alone, in a window with a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.canvas.items.parameter_tray import ParameterTray
from app.canvas.notice import CanvasNotice
from app.canvas.search.search_popup import SearchPopup
from app.docks.problems import Problems
from app.view_models.problems import ProblemColumn
from engine.catalogue.block_folders import block_folders
from engine.patch.changes import PortRef
from engine.patch.document import Patch
from engine.patch.files import load_patch
from engine.protocol.messages import NodeState, Preview
from tests.app.app_support import move_pointer
from tests.app.canvas.canvas_support import Hand
from tests.app.conftest import Asked

_CONTROL = Qt.KeyboardModifier.ControlModifier


@dataclass
class Person:
    """A person who has just opened the editor and only uses mouse and keys; places are points of the scene."""

    window: Any
    qtbot: QtBot
    pictures: dict[str, Preview]

    @property
    def hand(self) -> Hand:
        return Hand(self.window.canvas)

    @property
    def patch(self) -> Patch:
        patch: Patch = self.window.session.patch
        return patch

    def click(self, part: QWidget | None, text: str) -> None:
        """Click the button with this text in a part of the window."""
        assert part is not None

        def found() -> list[QPushButton]:
            return [b for b in part.findChildren(QPushButton) if b.text() == text and b.isVisible()]

        self.qtbot.waitUntil(lambda: len(found()) == 1)
        QTest.mouseClick(found()[0], Qt.MouseButton.LeftButton)

    def add(self, text: str, x: float, y: float) -> str:
        """Open the search with Tab at a place, take the first result, and return its node."""
        self.window.canvas.select([])  # the new block would be connected to a selected one
        move_pointer(self.hand.view.viewport(), self.hand.view.mapFromScene(QPointF(x, y)))
        QTest.keyClick(self.hand.view, Qt.Key.Key_Tab)
        popup = self.window.canvas.findChild(SearchPopup)
        assert popup.isVisible()
        QTest.keyClicks(popup.field, text)
        QTest.keyClick(popup.field, Qt.Key.Key_Return)
        (node,) = self.window.canvas.selected()
        return str(node)

    def connect(self, source: str, output: str, target: str, name: str) -> None:
        """Drag from an output to an input."""
        hand = self.hand
        hand.drag(hand.port(source, output, is_input=False), hand.port(target, name, is_input=True))
        is_made = self.patch.source_of(PortRef(target, name)) == PortRef(source, output)
        assert is_made or self.window.canvas.findChild(CanvasNotice).isVisible()

    def set(self, node: str, **values: float) -> None:
        """Select a block and type numbers into the inspector."""
        self.hand.click(self.hand.title(node))
        for name, value in values.items():
            field = self.window.inspector.editor(name).box.findChild(QLineEdit)
            QTest.mouseClick(field, Qt.MouseButton.LeftButton)
            QTest.keyClick(field, Qt.Key.Key_A, _CONTROL)
            QTest.keyClicks(field, str(value))
            QTest.keyClick(field, Qt.Key.Key_Return)
            assert self.patch.value(node, name) == value

    def drive(self, source: str, output: str, node: str, name: str) -> None:
        """Drag a value over a block and drop it on a row of the block's tray."""
        hand = self.hand
        hand.drag(hand.port(source, output, is_input=False), hand.title(node), release=False)
        (tray,) = [item for item in hand.scene.items() if isinstance(item, ParameterTray)]
        x, rows = tray.area.center().x(), np.arange(tray.area.top() + 2, tray.area.bottom(), 4)
        named = (QPointF(x, y) for y in rows if (found := tray.candidate_at(QPointF(x, y))) and found.ref.port == name)
        position = hand.view.mapFromScene(next(named))
        for step in (1, 0):
            move_pointer(hand.view.viewport(), position + QPoint(step, 0), Qt.MouseButton.LeftButton)
        QTest.mouseRelease(hand.view.viewport(), Qt.MouseButton.LeftButton, pos=position)

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """Press a key over the canvas."""
        QTest.keyClick(self.hand.view, key, modifiers)

    def wait_for(self, node: str, state: NodeState) -> None:
        """Wait until a report gives a block this state."""
        scene, display = self.hand.scene, self.window.canvas._display
        self.qtbot.waitUntil(lambda: display.report is not None and node in display.report.nodes)
        self.qtbot.waitUntil(lambda: scene.nodes[node].appearance.state is state)

    def picture(self, viewer: str) -> np.ndarray[Any, Any]:
        """Wait for a viewer's newest picture and return it; a picture that does not change is sent only once."""
        self.qtbot.waitUntil(lambda: viewer in self.pictures)
        assert self.window.viewers.viewer(viewer).picture.isVisible()
        return self.pictures[viewer].pixels


@pytest.fixture
def person(real_window: Any, qtbot: QtBot) -> Iterator[Person]:
    """A person in front of a new patch."""
    person = Person(real_window, qtbot, {})
    real_window.bridge.preview.connect(lambda preview: person.pictures.update({preview.node: preview}))
    real_window.activateWindow()
    qtbot.waitUntil(real_window.isActiveWindow)
    person.click(real_window.welcome, "New patch")
    yield person


def test_an_image_pipeline_from_an_empty_canvas(person: Person, asked: Asked, tmp_path: Path) -> None:
    """A picture is made, blurred by a slider and saved with the patch, by mouse and keys alone."""
    noise, blur, viewer = (
        person.add("noise", -400, -100),
        person.add("gausian", -180, -100),
        person.add("viewer", 60, -100),
    )
    person.set(noise, width=32, height=24, speed=0)
    person.set(blur, sigma=0)
    person.connect(noise, "out", blur, "image")
    person.connect(blur, "out", viewer, "image")
    person.wait_for(viewer, NodeState.OK)
    sharp = person.picture(viewer)
    assert sharp.shape == (24, 32, 4)
    person.set(blur, sigma=20)
    person.qtbot.waitUntil(lambda: bool(person.picture(viewer)[..., :3].std() < sharp[..., :3].std() / 2))
    asked.path = tmp_path / "first.loom"
    person.press(Qt.Key.Key_S, _CONTROL)
    saved = load_patch(asked.path)
    assert {str(connection) for connection in saved.connections} == {
        f"{noise}.out -> {blur}.image",
        f"{blur}.out -> {viewer}.image",
    }
    person.press(Qt.Key.Key_Z, _CONTROL)
    assert person.patch.value(blur, "sigma") == 0


def test_feedback_particles_driven_by_an_lfo_from_an_empty_canvas(person: Person) -> None:
    """A loop of particles is refused, the button beside the pointer inserts a delay, and an LFO drives the jets."""
    emitter, forces = person.add("emitter", -420, -120), person.add("forces", -220, -120)
    move, draw = person.add("integrate", -40, -120), person.add("render points", -420, 40)
    mix, viewer = person.add("mix", -180, 40), person.add("viewer", 60, 40)
    person.set(emitter, count=64)
    person.set(draw, width=32, height=18)
    person.connect(emitter, "particles", forces, "particles")
    person.connect(forces, "out", move, "particles")
    person.connect(move, "out", draw, "particles")
    person.connect(draw, "image", mix, "a")
    person.connect(mix, "out", viewer, "image")
    person.connect(mix, "out", mix, "b")
    person.click(person.window.canvas.findChild(CanvasNotice), "Insert Frame Delay")
    person.wait_for(viewer, NodeState.OK)
    assert person.picture(viewer).shape == (18, 32, 4)
    lfo = person.add("lfo", -420, 240)
    person.set(lfo, amplitude=20, offset=45)
    person.drive(lfo, "value", emitter, "lean")
    assert person.patch.source_of(PortRef(emitter, "lean")) == PortRef(lfo, "value")
    person.hand.click(person.hand.title(emitter))
    seen: set[str] = set()

    def has_swung() -> bool:
        seen.add(person.window.inspector.rows["lean"].driven.value.text())
        return len(seen) > 3

    person.qtbot.waitUntil(has_swung)
    assert person.window.problem_count.text() == "No problems"


_BLOCK = '''
from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port


class Tint(Block, id="first.tint", category="My blocks"):
    """Keep only the red of an image."""

    image: In[float4] = port(rank=2, doc="An image.")
    out: Out[float4] = port(shape="same(image)", doc="The red of it.")
    gain: float = param(1.0, min=0, max=4, doc="Brightness.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        size = self.out.size
        build.launch(Kernel("tint.cu", "tint"), num_threads=size, args=(self.image, self.out, self.gain, size))
'''
_KERNEL = """
extern "C" __global__ void tint(const float4* image, float4* out, float gain, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = make_float4(gain * image[i].x, 0.0f, 0.0f, image[i].w);
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A folder for a patch; the block files in it are unloaded afterwards."""
    yield tmp_path / "project"
    block_folders.remove(tmp_path / "project" / "blocks")
    block_folders.reload([]).result()


@pytest.mark.feature("hot_reload")
def test_a_block_with_its_kernel_beside_the_patch_is_made_broken_and_mended(
    person: Person, asked: Asked, project: Path
) -> None:
    """A banner asks about a new block folder; a mistake in its kernel is shown at its line until it is fixed."""
    project.mkdir()
    asked.path = project / "mine.loom"
    board, viewer = person.add("checker", -400, -60), person.add("viewer", 60, -60)
    person.set(board, width=32, height=24, cell=8)
    person.press(Qt.Key.Key_S, _CONTROL)
    made = project / "made"
    made.mkdir()
    (made / "tint.cu").write_text(_KERNEL)
    (made / "tint.py").write_text(_BLOCK)
    kernel = made.rename(project / "blocks") / "tint.cu"
    banner = person.window.blocks_banner
    person.qtbot.waitUntil(banner.isVisible)
    with person.qtbot.waitSignal(person.window.session.types_changed):
        person.click(banner, "Trust")
    tint = person.add("tint", -160, -60)
    person.connect(board, "out", tint, "image")
    person.connect(tint, "out", viewer, "image")
    person.wait_for(viewer, NodeState.OK)
    red = person.picture(viewer)
    assert red[..., 0].max() > 200 and not red[..., 1:3].any()
    kernel.write_text(_KERNEL.replace("0.0f, 0.0f", "0.0f, gian"))
    person.wait_for(tint, NodeState.ERROR)
    person.hand.click(person.hand.title(tint))
    person.qtbot.waitUntil(lambda: "gian" in person.window.inspector.status.message)
    problems = person.window.docks.widget(Problems).list
    assert [problems.topLevelItem(row).text(ProblemColumn.FILE) for row in range(problems.topLevelItemCount())] == [
        "tint.cu:4"
    ]
    kernel.write_text(_KERNEL.replace("0.0f, 0.0f", "0.0f, gain * image[i].x"))
    person.wait_for(tint, NodeState.OK)
    person.qtbot.waitUntil(lambda: bool(person.picture(viewer)[..., 2].any()))
    assert person.window.problem_count.text() == "No problems"
