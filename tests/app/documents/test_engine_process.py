"""The editor with an engine in another process."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.window.main_window import MainWindow
from engine import Patch, ProfilingLevel
from engine.diagnostics import Diagnostic
from engine.patch.changes import NodeRemoved, PortRef
from engine.patch.files import EXAMPLES_FOLDER
from engine.protocol import liveness, pipe
from engine.protocol.client import Client
from engine.protocol.messages import FrameReport, NodeState, Preview, UpdateLevel
from engine.protocol.pipe import connect
from tests.app.conftest import Asked
from tests.protocol.engine_process import COMMAND, the_child


def make_engine(patch: Patch, profiling: ProfilingLevel) -> Client:
    """Run a patch by an engine in a child process, as the editor does."""
    return connect(patch, COMMAND, "host", profiling=profiling, waits=False)


def test_pictures_come_and_a_process_that_dies_can_be_started_again(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """If the engine's process dies, the failure is signalled, the patch stays open, and a new engine can run it."""

    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        assert window.files.open_example(EXAMPLES_FOLDER / "photo.loom")
        patch = window.session.patch
        assert patch is not None
        with qtbot.waitSignal(window.bridge.preview):
            pass
        removal = [NodeRemoved(patch.nodes["viewer"])]
        cost = window.session.cost_of(removal)
        assert cost is not None
        assert cost.level is UpdateLevel.COLD

        with qtbot.waitSignal(window.bridge.failed) as failed:
            os.kill(the_child(), signal.SIGKILL)
        assert "it was ended by SIGKILL" in failed.args[0].message
        patch.set("tone", exposure=-2.0)
        assert window.session.cost_of(removal) is None

        pictures: list[Preview] = []
        problems: list[Diagnostic] = []
        window.bridge.preview.connect(pictures.append)
        window.bridge.failed.connect(problems.append)
        window.session.restart_engine()
        qtbot.waitUntil(lambda: bool(pictures or problems))
        assert not problems
    finally:
        window.close()


def test_a_saved_kernel_file_changes_the_ports_on_the_canvas(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """A saved kernel file changes the node's ports in the editor and in the engine's process."""

    file = tmp_path / "gain.cu"
    head = (
        'extern "C" __global__ void gain(const float* x, float* out, {}int n) {{ if (threadIdx.x < n) out[0] = {}; }}'
    )
    file.write_text(head.format("", "x[0]"))
    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        window.files.new()
        patch = window.session.patch
        assert patch is not None
        source = patch.add("io.array", data=np.ones(4, np.float32))
        node = patch.add("kernel.file", file=str(file), position=(240, 0)).id
        patch.connect(source["out"], PortRef(node, "x"))
        reports: list[FrameReport] = []
        window.bridge.report.connect(reports.append)

        def runs() -> bool:
            found = reports[-1].nodes.get(node) if reports and not reports[-1].preparing else None
            return found is not None and found.state is NodeState.OK

        qtbot.waitUntil(runs)
        file.write_text(head.format("const float* y, ", "x[0] + y[0]"))
        qtbot.waitUntil(lambda: ("y", True) in window.canvas.scene.nodes[node].ports)
        patch.connect(source["out"], PortRef(node, "y"))
        engine = window.session.engine
        assert engine is not None
        qtbot.waitUntil(lambda: runs() and engine.read(PortRef(node, "out"))[0] == 2)
    finally:
        window.close()


def test_a_silent_process_is_shown_and_can_be_waited_for_or_restarted(
    qtbot: QtBot, tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A banner offers both while the process is stopped, and goes when the process goes on; the window never waits."""
    monkeypatch.setattr("app.documents.bridge.SILENT_S", 0.5)
    monkeypatch.setattr("app.documents.session.SILENT_S", 600.0)

    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        assert window.files.open_example(EXAMPLES_FOLDER / "photo.loom")
        patch = window.session.patch
        assert patch is not None
        with qtbot.waitSignal(window.bridge.preview):
            pass
        child = the_child()
        with qtbot.waitSignal(window.bridge.silent):
            os.kill(child, signal.SIGSTOP)
        assert window.banner.text.startswith("The engine's process does not answer; the patch is intact.")
        assert [button.text() for button in window.banner.buttons] == ["Restart engine", "Wait"]
        patch.set("tone", exposure=-2.0)
        window.session.set_running(False)
        assert window.session.cost_of([NodeRemoved(patch.nodes["viewer"])]) is None
        with qtbot.waitSignal(window.bridge.silent):
            os.kill(child, signal.SIGCONT)
        assert not window.banner.text
        window.session.set_running(True)
        with qtbot.waitSignal(window.bridge.silent):
            os.kill(child, signal.SIGSTOP)
        monkeypatch.setattr(pipe, "PATIENCE_S", 0.2)
        with qtbot.waitSignal(window.bridge.preview):
            window.banner.buttons[0].click()
        assert not window.banner.text
        os.kill(child, signal.SIGKILL)
    finally:
        window.close()


@pytest.mark.parametrize(
    ("command", "device", "message"),
    [
        ([sys.executable, "-c", "pass"], "host", "it ended with status 0"),
        ([sys.executable, "-c", "import time; time.sleep(1000)"], "host", "must begin within 0.5 s"),
        (COMMAND, "cuda:99", "cuda:99"),
    ],
)
def test_a_window_opens_although_its_engine_can_not_start(
    qtbot: QtBot,
    tmp_path: Path,
    asked: Asked,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    device: str,
    message: str,
) -> None:
    """The window doesn't wait for the process; a banner says why there are no frames, and the patch can be edited."""
    if "sleep" in command[-1]:
        monkeypatch.setattr(liveness, "HELLO_S", 0.5)
    window = MainWindow(
        lambda patch, profiling: connect(patch, command, device, profiling=profiling, waits=False), tmp_path / "state"
    )
    try:
        with qtbot.waitSignal(window.bridge.stopped):
            window.files.new()
        assert message in window.banner.text and window.banner.buttons[0].text() == "Restart engine"
        assert window.session.patch is not None
        window.session.patch.add("buffer.constant")
    finally:
        window.close()
