"""After a kernel faults the device, the editor shows the error at its block, and the rest of the patch goes on."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from warploom.api import Block, BlockBuilder, Kernel, Out, f32, param, port
from warploom.app.docks.problems import Problems
from warploom.app.view_models.lists.problems import ProblemColumn
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch


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


@pytest.mark.feature("culprit")
def test_a_block_that_fails_is_marked_and_runs_again_when_it_is_mended(
    qtbot: QtBot,
    real_window: MainWindow,
    file: Path,  # a fixture
) -> None:
    """A fault marks the node with the kernel's line and offers another try; the engine goes on, and so does undo."""
    window = real_window
    window.files.open_path(file)
    patch = window.session.patch
    assert patch is not None
    qtbot.waitUntil(lambda: "still" in window.badge.label.text())
    node, problems = window.canvas.scene.nodes["wild"], window.docks.widget(Problems).list
    for mend in (patch.undo, lambda: patch.set("wild", reach=0)):
        patch.set("wild", reach=1 << 28)
        qtbot.waitUntil(lambda: node.appearance.state == "error")
        row = problems.topLevelItem(0)
        assert row is not None
        assert row.text(ProblemColumn.BLOCK) == "Bull"
        assert "write_wildly" in row.text(ProblemColumn.PROBLEM)
        assert "left out until it changes" in row.text(ProblemColumn.REMEDY)
        assert window.banner.text == "" and "stopped" not in window.badge.label.text()
        engine = window.session.engine
        mend()
        qtbot.waitUntil(lambda: node.appearance.state == "ok")
        assert window.session.engine is engine and problems.topLevelItemCount() == 0


def test_a_failed_block_can_be_tried_again(qtbot: QtBot, real_window: MainWindow, file: Path) -> None:
    """The button tries it once more; it fails again, and is marked again."""
    window = real_window
    window.files.open_path(file)
    patch = window.session.patch
    assert patch is not None
    patch.set("wild", reach=1 << 28)
    node = window.canvas.scene.nodes["wild"]
    qtbot.waitUntil(lambda: node.appearance.state == "error")
    with qtbot.waitSignal(window.bridge.failed) as again:
        window.actions_by_id["run_muted"].trigger()
    assert "write_wildly" in again.args[0].message
    qtbot.waitUntil(lambda: node.appearance.state == "error")


def test_an_engine_that_cannot_start_is_shown_in_the_same_place(
    window: MainWindow, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that can't start is reported in the banner until a start succeeds."""
    from warploom.engine.diagnostics import DeviceError

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
