"""After a fault of a GPU, a replay in another process names the block, its kernel, the line and the arguments.

Each test fails in processes of its own: after a fault, a process can't use its GPU any more.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.engine_process import COMMAND
from tests.protocol.faulty_patches import LINES, chain, faulty_blocks, lines_of
from warploom import Patch
from warploom.engine.diagnostics import DeviceError, Severity
from warploom.engine.protocol import culprit, pipe, sanitizer
from warploom.engine.protocol.culprit import find_culprit
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.questions import Doing

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
#: What CUDA calls the faults of the kernels, and an operation that does not end.
FAULTS = {
    "far": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "askew": "CUDA_ERROR_MISALIGNED_ADDRESS",
    "asserting": "CUDA_ERROR_ASSERT",
    "trapping": "CUDA_ERROR_",
    "endless": "must end, got none within",
}


@pytest.fixture(scope="module", autouse=True)
def blocks() -> Iterator[None]:
    """The blocks that fail."""
    with faulty_blocks():
        yield


@pytest.fixture(autouse=True)
def closes_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a process soon that a fault keeps from closing."""
    monkeypatch.setattr(pipe, "PATIENCE_S", 20.0)


@pytest.mark.parametrize("entry", FAULTS)
def test_a_kernel_that_fails_is_named(entry: str) -> None:
    """Node, kernel, frame and arguments are found on the GPU; the line by compute-sanitizer or by the host."""
    found = find_culprit(chain("test_faults.fault", entry=entry, at=2.0), COMMAND, DEVICE, stuck_s=2.0)
    assert (found.node, found.kernel, found.frame, found.device) == ("bad", entry, 2, DEVICE), found
    assert FAULTS[entry] in found.fault
    assert "at = 2.0" in found.arguments
    assert found.arguments[0].startswith("out = f32[4], 16 bytes at 0x")
    told = found.diagnostic
    assert (told.node, told.severity) == ("bad", Severity.ERROR)
    assert Path(told.file or "").name == "faults.cu"
    assert told.line in lines_of(entry), told


@pytest.mark.parametrize("entry", ["far", "askew"])
@pytest.mark.skipif(not sanitizer.is_installed(), reason="compute-sanitizer is not installed")
def test_memcheck_names_the_line(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """compute-sanitizer alone finds the line, and the thread."""
    monkeypatch.setattr(culprit.CulpritSearch, "_checked", lambda _search, found: found)
    found = find_culprit(chain("test_faults.fault", entry=entry, at=1.0), COMMAND, DEVICE)
    assert (found.node, found.line in lines_of(entry)) == ("bad", True), found
    assert "by thread (0,0,0) of block (0,0,0)" in found.fault


@pytest.mark.parametrize("entry", ["far", "askew", "asserting", "trapping", "endless"])
def test_the_host_names_the_line_where_there_is_no_memcheck(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without compute-sanitizer, the line comes from a replay on the host."""
    assert entry in LINES
    monkeypatch.setattr(sanitizer, "is_installed", lambda: False)
    found = find_culprit(chain("test_faults.fault", entry=entry), COMMAND, DEVICE, stuck_s=2.0)
    assert (found.node, found.device, found.line in lines_of(entry)) == ("bad", DEVICE, True), found
    assert "; on the host, " in found.fault


def test_a_fault_in_a_loop_names_the_turn() -> None:
    """The turns of the loops around the kernel are known: launch 15 is in turn 1 of turn 3 of frame 1."""
    patch = Patch()
    outer = patch.add("control.for", node_id="outer", count=4)
    inner = patch.add("control.for", node_id="inner", count=2, region=outer)
    found = find_culprit(chain("test_faults.fault", patch=patch, region=inner, at=15.0), COMMAND, DEVICE)
    assert (found.node, found.frame, found.loops) == ("bad", 1, (("outer", 3), ("inner", 1)))


def test_a_loop_without_an_end_is_named() -> None:
    """A While whose condition stays true is the culprit, not the blocks inside it."""
    patch = Patch()
    always = patch.add("buffer.constant", node_id="always", shape="1", value=1.0)
    loop = patch.add("control.while", node_id="loop", limit=10_000_000)
    patch.connect(always["out"], loop["condition"])
    found = find_culprit(chain("test_faults.fault", patch=patch, region=loop, at=1e30), COMMAND, DEVICE, limit_s=5.0)
    assert found.node == "loop", found
    assert "loop must end by itself" in found.fault


def test_an_earlier_or_later_frame_is_found_from_any_hint() -> None:
    """The frame that failed may be given wrongly."""
    patch = chain("test_faults.fault", at=6.0)
    for hint in (0, 5, 6, 60):
        found = find_culprit(patch, COMMAND, DEVICE, frame=hint)
        assert (found.node, found.frame) == ("bad", 6), (hint, found)


def test_memory_that_does_not_fit_is_named() -> None:
    """A buffer larger than the GPU's memory is reported at its node."""
    found = find_culprit(chain("test_faults.fault", size=1 << 40), COMMAND, DEVICE)
    assert (found.node, found.is_found) == ("bad", True), found


def test_a_process_that_is_killed_beside_launches_is_named() -> None:
    """A block whose Python ends the process, while other blocks run on the GPU, is named."""
    found = find_culprit(chain("test_faults.die_later", at=3), COMMAND, DEVICE)
    assert (found.node, found.frame, found.doing) == ("bad", 3, Doing.CODE), found
    assert "it was ended by SIGKILL" in found.fault


def test_a_sound_patch_has_no_culprit() -> None:
    """No step of a patch without a fault is blamed, on the GPU or on the host."""
    patch = Patch()
    port = patch.add("buffer.constant", shape="4", value=1.0)["out"]
    for _ in range(3):
        node = patch.add("math.scale_offset", scale=2.0)
        patch.connect(port, node["x"])
        port = node["out"]
    found = find_culprit(patch, COMMAND, DEVICE, limit_s=3.0)
    assert not found.is_found, found


def test_an_engine_that_failed_is_explained() -> None:
    """The fault that stops an engine at full speed is found from the frame of its last report."""
    patch = chain("test_faults.fault", entry="askew", at=50.0)
    with pytest.raises(DeviceError), connect(patch, COMMAND, DEVICE) as client:
        for _ in range(100):
            client.step()
    report = client.take_report()
    assert report is not None
    assert report.failed
    found = find_culprit(patch, COMMAND, DEVICE, frame=report.frame)
    assert (found.node, found.kernel, found.frame) == ("bad", "askew", 50), found
