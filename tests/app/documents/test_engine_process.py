"""The editor with an engine in another process."""

import os
import signal
from pathlib import Path

import numpy as np
from pytestqt.qtbot import QtBot

from app.window.main_window import MainWindow
from engine import Patch, ProfilingLevel
from engine.diagnostics import Diagnostic
from engine.patch.changes import NodeRemoved, PortRef
from engine.patch.files import EXAMPLES_FOLDER
from engine.protocol.client import Client
from engine.protocol.messages import FrameReport, NodeState, Preview, UpdateLevel
from engine.protocol.pipe import connect
from tests.app.conftest import Asked
from tests.protocol.engine_process import COMMAND, the_child


def test_pictures_come_and_a_process_that_dies_can_be_started_again(qtbot: QtBot, tmp_path: Path, asked: Asked) -> None:
    """If the engine's process dies, the failure is signalled, the patch stays open, and a new engine can run it."""

    def make_engine(patch: Patch, profiling: ProfilingLevel) -> Client:
        return connect(patch, COMMAND, "host", profiling=profiling)

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

    def make_engine(patch: Patch, profiling: ProfilingLevel) -> Client:
        return connect(patch, COMMAND, "host", profiling=profiling)

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
