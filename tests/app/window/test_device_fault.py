"""After a kernel faults the device, the editor shows the error, and the patch continues in a new engine."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.docks.problems import Problems
from app.view_models.problems import ProblemColumn
from app.window.main_window import MainWindow
from engine.api import Block, BlockBuilder, Kernel, Out, f32, param, port
from engine.patch.document import Patch
from engine.patch.files import save_patch
from tests.app.app_support import FakeEngine


class Wild(Block, id="test_app.wild", category="Test"):
    """Writes out of bounds on request."""

    out: Out[f32] = port(shape="[32]", doc="Ones.")
    reach: int = param(0, min=0, max=1 << 28, doc="How far behind the buffer to write.")

    kernel = Kernel("wild.cu", entry="write_wildly")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread block."""
        build.launch(self.kernel, num_threads=32, thread_block=32, args=(self.out, self.reach))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A patch with a Wild block, which is harmless at first."""
    patch = Patch()
    patch.add("test_app.wild", node_id="wild", title="Bull")
    save_patch(patch, tmp_path / "wild.loom")
    return tmp_path / "wild.loom"


def test_a_fault_is_shown_and_the_engine_can_be_started_again(
    qtbot: QtBot,
    real_window: MainWindow,
    file: Path,  # a fixture
) -> None:
    """A fault marks the node with the kernel's line, a banner offers a new engine, and the fixed patch runs in it."""
    window = real_window
    window.files.open_path(file)
    patch = window.session.patch
    assert patch is not None
    qtbot.waitUntil(lambda: "still" in window.badge.label.text())
    assert window.banner.text == ""
    patch.set("wild", reach=1 << 28)
    qtbot.waitUntil(lambda: bool(window.banner.text))
    assert "write_wildly" in window.banner.text
    assert "the patch is intact" in window.banner.text
    assert window.badge.label.text() == "host · stopped"
    row = window.docks.widget(Problems).list.topLevelItem(0)
    assert row is not None
    assert row.text(ProblemColumn.BLOCK) == "Bull"
    assert "start the engine again" in row.text(ProblemColumn.REMEDY)
    assert window.canvas.scene.nodes["wild"].appearance.state == "error"
    patch.undo()
    assert patch.value("wild", "reach") == 0
    failed = window.session.engine
    window.banner.buttons[0].click()
    assert window.session.engine is not failed
    assert window.banner.text == ""
    qtbot.waitUntil(lambda: "still" in window.badge.label.text())
    assert window.docks.widget(Problems).list.topLevelItemCount() == 0
    assert window.canvas.scene.nodes["wild"].appearance.state == "ok"


def test_an_engine_that_cannot_start_is_shown_in_the_same_place(
    window: MainWindow, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that can't start is reported in the banner until a start succeeds."""
    from engine.diagnostics import DeviceError

    def refuse(self: FakeEngine, **_: object) -> None:
        raise DeviceError("cuda:0 is busy")

    with monkeypatch.context() as broken:
        broken.setattr(FakeEngine, "start", refuse)
        window.files.open_path(file)
        assert "cuda:0 is busy" in window.banner.text
        window.banner.buttons[0].click()
        assert "cuda:0 is busy" in window.banner.text
    window.banner.buttons[0].click()
    assert window.banner.text == ""
