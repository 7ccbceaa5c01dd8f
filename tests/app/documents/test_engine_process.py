"""The editor with an engine in another process."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pytestqt.qtbot import QtBot

from tests.app.app_support import is_picture
from tests.app.conftest import Asked
from tests.protocol.engine_process import COMMAND, the_child
from warploom import Patch, ProfilingLevel
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import NodeRemoved, PortRef
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch, save_patch
from warploom.engine.protocol import pipe
from warploom.engine.protocol.child import liveness
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import FrameReport, NodeState, StateCopy, UpdateLevel
from warploom.engine.protocol.pipe import connect


def make_engine(patch: Patch, profiling: ProfilingLevel) -> Client:
    """Run a patch by an engine in a child process, as the editor does."""
    return connect(patch, COMMAND, "host", profiling=profiling, waits=False)


def photo(folder: Path) -> Path:
    """Save the example with a photograph in a folder, with a small picture in its place, and return its file."""
    Image.new("RGB", (48, 31), "teal").save(folder / "small.png")
    patch = load_patch(EXAMPLES_FOLDER / "photo.loom")
    patch.set("load", file=str(folder / "small.png"))
    save_patch(patch, folder / "photo.loom")
    return folder / "photo.loom"


def test_an_engine_whose_process_dies_is_started_again(
    qtbot: QtBot, tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the engine's process dies, this is said, and a new one runs the patch, but not over and over."""
    monkeypatch.setattr("warploom.app.documents.session._COST_S", 600.0)
    monkeypatch.setattr("warploom.app.documents.restarts._MOST", 1)
    monkeypatch.setattr("warploom.app.documents.restarts._WITHIN_S", 600.0)  # on a busy machine, a restart takes long
    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        assert window.files.open_path(photo(tmp_path))
        patch = window.session.patch
        assert patch is not None
        with qtbot.waitSignal(window.bridge.sampled, check_params_cb=is_picture):
            pass
        removal = [NodeRemoved(patch.nodes["viewer"])]
        cost = window.session.cost_of(removal)
        assert cost is not None
        assert cost.level is UpdateLevel.COLD

        patch.set("tone", exposure=-2.0)
        dead = window.session.engine
        os.kill(the_child(), signal.SIGKILL)
        qtbot.waitUntil(lambda: window.session.engine is not dead)
        assert "it was ended by SIGKILL" in window.log.lines[-1].record.text
        assert not window.banner.text
        with qtbot.waitSignal(window.bridge.sampled, check_params_cb=is_picture):
            pass
        os.kill(the_child(), signal.SIGKILL)
        qtbot.waitUntil(lambda: bool(window.banner.text))
        assert "it was ended by SIGKILL" in window.banner.text
        assert window.session.cost_of(removal) is None
        with qtbot.waitSignal(window.bridge.sampled, check_params_cb=is_picture):
            window.banner.buttons[0].click()
        assert not window.banner.text
    finally:
        window.close()


def test_state_goes_on_after_a_kill(
    qtbot: QtBot, tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum over frames goes on from the newest copy when the process is killed, and the message says so."""
    monkeypatch.setattr("warploom.app.documents.state_copies._PERIOD_S", 0.0)
    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        window.files.new()
        patch = window.session.patch
        assert patch is not None
        add, delay = patch.add("math.add"), patch.add("buffer.frame_delay")
        patch.connect(patch.add("io.array", data=np.ones(3, np.float32))["out"], add["x"])
        patch.connect(delay["out"], add["y"])
        patch.connect(add["out"], delay["x"])
        copies, reports = list[StateCopy](), list[FrameReport]()
        window.bridge.copied.connect(copies.append)
        qtbot.waitUntil(lambda: bool(copies) and copies[-1].state.frame >= 60)
        monkeypatch.setattr("warploom.app.documents.state_copies._PERIOD_S", 600.0)
        dead, out = window.session.engine, add["out"]
        os.kill(the_child(), signal.SIGKILL)
        qtbot.waitUntil(lambda: window.session.engine is not dead)
        assert "The engine was started again with " in window.log.lines[-1].record.text
        window.bridge.report.connect(reports.append)
        qtbot.waitUntil(lambda: bool(reports) and reports[-1].launches > 0)
        engine = window.session.engine
        assert engine is not None and reports[-1].frame >= 60
        states = copies[-1].state, engine.read_state()
        sums = [state.buffers[str(out)].view(np.float32)[0] for state in states]
        assert sums[1] - sums[0] == states[1].frame - states[0].frame > 0
    finally:
        window.close()


def test_a_lost_line_is_connected_again(
    qtbot: QtBot, tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When ssh loses its line, the editor connects until that succeeds, and then runs the patch as it is by then."""
    monkeypatch.setattr("warploom.app.documents.restarts._RECONNECT_MS", 10)
    line, tries = tmp_path / "line", tmp_path / "tries"
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\necho >> {tries}\n[ -e {line} ] && {shlex.join(COMMAND)}\nexit 255\n")
    ssh.chmod(0o700)
    line.touch()
    window = MainWindow(lambda patch, level: connect(patch, [str(ssh)], "host", profiling=level, waits=False), tmp_path)
    window.show()
    try:
        window.files.new()
        patch = window.session.patch
        assert patch is not None
        patch.add("buffer.constant", node_id="one")
        reports: list[FrameReport] = []
        window.bridge.report.connect(reports.append)
        qtbot.waitUntil(lambda: bool(reports) and reports[-1].launches > 0)
        line.unlink()
        subprocess.run(["pkill", "-KILL", "-P", str(window.session.engine.transport._process.pid)], check=True)
        qtbot.waitUntil(lambda: tries.read_text().count("\n") >= 4 and "The line to the engine" in window.banner.text)
        patch.add("buffer.constant", node_id="two")
        line.touch()
        qtbot.waitUntil(lambda: len(reports[-1].nodes) == 2 and not reports[-1].failed and reports[-1].launches > 0)
        qtbot.waitUntil(lambda: not window.banner.text)
        assert all(node.state is NodeState.OK for node in reports[-1].nodes.values())
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
    monkeypatch.setattr("warploom.app.documents.bridge.SILENT_S", 0.5)
    monkeypatch.setattr("warploom.app.documents.session.SILENT_S", 600.0)

    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        assert window.files.open_path(photo(tmp_path))
        patch = window.session.patch
        assert patch is not None
        with qtbot.waitSignal(window.bridge.sampled, check_params_cb=is_picture):
            pass
        child = the_child()
        os.kill(child, signal.SIGSTOP)
        # On a busy machine the process may seem silent at other times too, so states are waited for, not signals.
        said = "The engine's process does not answer. The patch is intact;"
        qtbot.waitUntil(lambda: window.banner.text.startswith(said))
        assert [button.text() for button in window.banner.buttons] == ["Restart engine", "Wait"]
        patch.set("tone", exposure=-2.0)
        window.session.set_running(False)
        assert window.session.cost_of([NodeRemoved(patch.nodes["viewer"])]) is None
        os.kill(child, signal.SIGCONT)
        qtbot.waitUntil(lambda: not window.banner.text)
        window.session.set_running(True)
        os.kill(child, signal.SIGSTOP)
        qtbot.waitUntil(lambda: window.banner.text.startswith(said))
        monkeypatch.setattr(pipe, "PATIENCE_S", 0.2)
        with qtbot.waitSignal(window.bridge.sampled, check_params_cb=is_picture):
            window.banner.buttons[0].click()
        qtbot.waitUntil(lambda: not window.banner.text)  # it may have said that the new process begins
        os.kill(child, signal.SIGKILL)
    finally:
        window.close()


STUCK = """from warploom.api import Block, BlockBuilder, Out, f32, param, port

class Stuck(Block, id="test_process.stuck"):
    "Computes a huge number, which nothing can stop, on request."

    out: Out[f32] = port(shape="[8]", doc="Ones.")
    power: int = param(1, min=1, structural=True, doc="The number of digits.")

    def describe(self, build: BlockBuilder) -> None:
        "Fill."
        10 ** self.power
        build.fill(self.out, 0)
"""


def test_code_that_stops_the_whole_process_is_named_and_left_out(
    qtbot: QtBot, tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A describe that holds the interpreter makes its process silent; after a restart all other blocks run."""
    monkeypatch.setattr("warploom.app.documents.bridge.SILENT_S", 0.5)
    monkeypatch.setattr(pipe, "PATIENCE_S", 0.2)
    (tmp_path / "stuck.py").write_text(STUCK)
    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    try:
        window.files.new()
        window.session.use_blocks(tmp_path)
        patch = window.session.patch
        assert patch is not None
        patch.add("test_process.stuck", node_id="stuck")
        patch.add("buffer.constant", node_id="other")
        reports: list[FrameReport] = []
        window.bridge.report.connect(reports.append)

        def states(stuck: NodeState) -> bool:
            nodes = reports[-1].nodes if reports and not reports[-1].preparing else {}
            return len(nodes) == 2 and (nodes["stuck"].state, nodes["other"].state) == (stuck, NodeState.OK)

        qtbot.waitUntil(lambda: states(NodeState.OK))
        patch.set("stuck", power=10**10)
        qtbot.waitUntil(lambda: "it runs the code of stuck" in window.banner.text)
        reports.clear()
        window.banner.buttons[0].click()
        qtbot.waitUntil(lambda: states(NodeState.ERROR))
        patch.set("stuck", power=2)
        qtbot.waitUntil(lambda: states(NodeState.OK))
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
