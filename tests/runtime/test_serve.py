"""A kernel that breaks the device ends the engine's process, and nothing else."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from warploom import Patch, forget_blocks, trust_blocks
from warploom.engine.diagnostics import DeviceError, Diagnostic
from warploom.engine.patch.changes import Connection, Disconnected, NodeAdded, ParameterChanged, PortRef
from warploom.engine.protocol.pipe import connect

#: The engine's command, without the command line's library.
COMMAND = [sys.executable, "-c", "from warploom.engine.runtime.serve import serve_standard_streams as serve; serve()"]

BLOCK = """
from warploom.api import Block, BlockBuilder, Kernel, Out, f32, port

class Wild(Block, id="test_serve.wild", category="Test"):
    "Writes where no memory is."

    out: Out[f32] = port(shape="[4]", doc="Nothing.")
    kernel = Kernel("wild.cu", "wild")

    def describe(self, build: BlockBuilder) -> None:
        "One thread."
        build.launch(self.kernel, num_threads=1, args=(self.out,))
"""


@pytest.fixture
def wild_block(tmp_path: Path) -> Iterator[str]:
    """Define a trusted block whose kernel writes outside of its memory, and return its type."""
    (tmp_path / "wild.py").write_text(BLOCK)
    (tmp_path / "wild.cu").write_text('extern "C" __global__ void wild(float* out) { out[1ll << 44] = 1; }')
    trust_blocks(tmp_path)
    yield "test_serve.wild"
    forget_blocks(tmp_path)


@pytest.mark.parametrize("device", ["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_a_fault_of_the_device_ends_with_its_process(wild_block: str, device: str) -> None:
    """The frame raises, the last report shows the reason, and the next process runs the corrected patch."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.arange(4, dtype=np.float32))
    wild = patch.add(wild_block)
    with connect(patch, COMMAND, device) as client:
        with pytest.raises(DeviceError):
            client.step()
        report = client.take_report()
        assert report is not None
        assert report.failed
        assert report.diagnostics
        assert device != "host" or report.diagnostics[-1].node == "wild"  # a GPU doesn't report which kernel failed
        with pytest.raises(DeviceError):
            client.step()
    patch.remove(wild)
    patch.connect(data["out"], patch.add("buffer.copy", node_id="copy")["x"])
    with connect(patch, COMMAND, device) as client:
        assert not client.step().diagnostics
        assert client.read(patch["copy"]["out"]).tolist() == [0, 1, 2, 3]


def test_a_change_that_does_not_fit_is_reported_and_skipped() -> None:
    """A change that doesn't fit is reported and skipped, and the process keeps its copy of the patch."""
    patch = Patch()
    made = patch.add("buffer.constant", value=2.0)
    with connect(patch, COMMAND, "host") as client:
        client.post(ParameterChanged("gone", "value", 1.0, None))
        client.post(NodeAdded(patch.nodes[made.id]))
        client.post(Disconnected(Connection(made["out"], PortRef("gone", "x"))))
        assert not client.step().diagnostics
        assert client.read(made["out"]).tolist() == [2.0]
        told = [event for event in client.take_events() if isinstance(event, Diagnostic)]
        assert [item.node for item in told] == ["gone", made.id, made.id]


PRINTING = """
import ctypes, os, sys
from warploom.api import Block, BlockBuilder, Out, f32, port

class Printing(Block, id="test_serve.printing", category="Test"):
    "Prints in all ways."

    out: Out[f32] = port(shape="[4]", doc="Zeros.")

    def describe(self, build: BlockBuilder) -> None:
        "Print."
        print("python \\x1b[2J")
        sys.stdout.flush()
        os.write(1, b"system \\x1b]0;x\\a\\xff\\r\\n")
        ctypes.CDLL(None).printf(b"native \\x1b[31m\\n")
        build.fill(self.out, 0)
"""


def test_what_the_process_prints_controls_no_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever prints in the process, its escapes reach standard error as text, and nothing gets lost at the end."""
    (tmp_path / "printing.py").write_text(PRINTING)
    trust_blocks(tmp_path)
    try:
        patch = Patch()
        patch.add("test_serve.printing")
        with connect(patch, COMMAND, "host") as client:
            client.step()
    finally:
        forget_blocks(tmp_path)
    told = capfd.readouterr().err
    for line in (r"python \x1b[2J", r"system \x1b]0;x\x07\ufffd\r".replace(r"\ufffd", "\ufffd"), r"native \x1b[31m"):
        assert f"{line}\n" in told
    assert "\x1b" not in told
