"""After a fault, a replay in another process names the block, its kernel, the line and the arguments."""

import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.engine_process import COMMAND
from tests.protocol.faulty_patches import FOLDER, LINES, chain, faulty_blocks, lines_of
from warploom import Engine, Patch
from warploom.engine.diagnostics import DeviceError, Severity
from warploom.engine.protocol import culprit, sanitizer
from warploom.engine.protocol.culprit import CulpritSearch, find_culprit
from warploom.engine.protocol.questions import Doing, ReplayStep


@pytest.fixture(scope="module", autouse=True)
def blocks() -> Iterator[None]:
    """The blocks that fail."""
    with faulty_blocks():
        yield


def until_fault(patch: Patch, from_frame: int = 0, time_limit_s: float | None = None) -> tuple[ReplayStep, ReplayStep]:
    """Replay in this process up to a fault. Return the step that was announced last, and the fault."""
    with Engine(patch, "host") as engine:
        engine.device.set_kernel_time_limit(time_limit_s)
        step = engine.replay(from_frame)
        while (following := engine.replay(from_frame)).fault is None:
            step = following
            assert step.frame < 20
        assert engine.replay(from_frame) == following  # nothing follows a fault
        return step, following


@pytest.mark.parametrize("entry", LINES)
def test_a_fault_is_announced_before_it_happens(entry: str) -> None:
    """The step before a fault has the node, kernel and arguments, and the fault has the line of the source."""
    step, failed = until_fault(chain("test_faults.fault", entry=entry, at=2.0), time_limit_s=0.2)
    assert (step.frame, step.doing, step.nodes, step.kernel) == (2, Doing.OPERATION, ("bad",), entry)
    assert step.arguments[0].startswith("out = f32[4], 16 bytes at 0x")
    assert step.arguments[1] == "at = 2.0"
    assert failed.fault is not None
    assert failed.fault.node == "bad"
    assert Path(failed.fault.file or "").name == "faults.cu"
    assert failed.fault.line in lines_of(entry)


def test_a_fault_in_a_loop_names_the_turn() -> None:
    """The turns of the loops around the operation are known: launch 11 is in turn 1 of turn 3 of frame 1."""
    patch = Patch()
    outer = patch.add("control.for", node_id="outer", count=4)
    inner = patch.add("control.for", node_id="inner", count=2, region=outer)
    step, _ = until_fault(chain("test_faults.fault", patch=patch, region=inner, at=15.0))
    assert (step.frame, step.nodes, step.loops) == (1, ("bad",), (("outer", 3), ("inner", 1)))


def test_frames_before_the_replay_are_single_steps() -> None:
    """Frames before the first replayed one run whole, and a fault in one of them has its frame."""
    step, failed = until_fault(chain("test_faults.fault", at=2.0), from_frame=2)
    assert (step.frame, step.nodes) == (2, ("bad",))
    step, failed = until_fault(chain("test_faults.fault", at=2.0), from_frame=9)
    assert (step.frame, step.doing, step.nodes, failed.frame) == (2, Doing.FRAME, (), 2)


def test_memory_that_does_not_fit_is_the_blocks_fault() -> None:
    """A buffer that is larger than the device's memory is reported at its node."""
    _, failed = until_fault(chain("test_faults.fault", size=1 << 50))
    assert failed.fault is not None
    assert failed.fault.node == "bad"


def test_a_kernel_that_fails_is_found_from_any_frame() -> None:
    """The frame that is given may be too late; the patch may change meanwhile, and the engine have other processes."""
    patch = chain("test_faults.fault", entry="trapping", at=2.0)
    search = CulpritSearch(patch, ["sh", "-c", f"sleep 1000 & {shlex.join(COMMAND)}"], "host", frame=5)
    patch.remove("bad")
    found = search.run()
    assert (found.node, found.kernel, found.frame, found.device) == ("bad", "trapping", 2, "host")
    assert found.operation == "kernel trapping, grid 1x1x1 of 1x1x1"
    told = found.diagnostic
    assert (told.node, told.file, told.severity) == ("bad", str(FOLDER / "faults.cu"), Severity.ERROR)
    assert told.line in lines_of("trapping")
    assert "at = 2.0" in told.message
    assert "(frame 2, on host)" in told.message


def test_a_block_that_ends_the_process_is_found() -> None:
    """A process that dies in a block's Python leaves its node behind."""
    found = find_culprit(chain("test_faults.die", dies=True), COMMAND, "host")
    assert (found.node, found.frame, found.doing) == ("bad", 0, Doing.CODE)
    assert "it was ended by SIGSEGV" in found.fault


class _Scripted:
    """Stands for a client: answers with steps, then raises an exception."""

    def __init__(self, steps: list[ReplayStep], last: Exception) -> None:
        self.steps, self.last = iter(steps), last
        self.info = type("Info", (), {"name": "cuda:0"})

    def replay(self, _from_frame: int, *, within_s: float) -> ReplayStep:
        """Return the next step."""
        for step in self.steps:
            return step
        raise self.last


STEP = ReplayStep(4, Doing.OPERATION, "kernel spin, grid 1x1x1 of 1x1x1", ("a/b",), "spin", "spin.cu", (), ("n = 3",))


def followed(scripted: _Scripted, **options: Any) -> culprit.Culprit:
    """Follow scripted steps."""
    search: Any = CulpritSearch(Patch(), COMMAND, "cuda:0", **options)
    found: culprit.Culprit = search._follow(scripted, 0)
    return found


def test_an_operation_without_an_end_is_found() -> None:
    """An operation that does not end in time is the culprit."""
    found = followed(_Scripted([STEP], TimeoutError()), stuck_s=3.0)
    assert (found.node, found.kernel, found.frame) == ("a", "spin", 4)
    assert found.fault == "kernel spin, grid 1x1x1 of 1x1x1 must end, got none within 6 s"


def test_a_process_that_falls_silent_has_a_culprit() -> None:
    """The step that was announced is the culprit."""
    assert followed(_Scripted([STEP], DeviceError("engine's process must answer"))).node == "a"


def test_a_loop_without_an_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that still turns when the time is over is the culprit, not what it holds or the loop around it."""
    times_s = iter(range(1000))
    monkeypatch.setattr(culprit.time, "monotonic", lambda: float(next(times_s)))
    steps = [
        ReplayStep(0, Doing.OPERATION, "fill", ("inside",), loops=(("outer", 2), ("loop", turn))) for turn in range(40)
    ]
    found = followed(_Scripted([STEP, *steps], TimeoutError()), limit_s=50.0)
    assert (found.node, found.loops) == ("loop", (("outer", 2),))
    assert "loop must end by itself, got" in found.fault


def test_what_does_not_fail_again_is_said_to() -> None:
    """A patch whose replay does not fail has no culprit; its diagnostic has the number of frames."""
    frames = (ReplayStep(frame, Doing.UPDATE, "update of the graph") for frame in range(1000))
    found = followed(_Scripted([*frames], TimeoutError()))
    assert not found.is_found
    assert found.diagnostic.severity is Severity.WARNING
    assert found.diagnostic.message == "fault must occur again to be found, got 240 frames one by one without it"


def test_a_cancelled_search_ends() -> None:
    """A search that is cancelled before or while it runs returns no culprit."""
    search = CulpritSearch(chain("test_faults.fault", entry="endless"), COMMAND, "host", stuck_s=1000.0)
    timer = threading.Timer(0.2, search.cancel)
    timer.start()
    assert not search.run().is_found
    timer.join()
    assert not search.run().is_found


REPORTS = {
    "2025": (
        """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at far(float *, float)+0x90 in /patches/my blocks/faults.cu:6
=========     by thread (3,0,0) in block (1,2,0)
=========     Access at 0x7f5c3b4d9400 is out of bounds
=========     and is 4,000,000,000,000 bytes after the nearest allocation at 0x7f0000000000 of size 16 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuGraphLaunch [0x3344ff] in libcuda.so.1
=========
========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) on CUDA API call to cuStreamSynchronize.
========= ERROR SUMMARY: 2 errors
""",
        ("Invalid __global__ write of size 4 bytes", "far", "/patches/my blocks/faults.cu", 6),
    ),
    "2020": (
        """========= COMPUTE-SANITIZER
========= Program hit invalid device function (error 98) on CUDA API call to cudaFuncGetAttributes.
=========     Saved host backtrace up to driver entry point at error
========= Invalid __global__ read of size 8 bytes
=========     at 0x160 in faults.cu:12:askew(float*,float)
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f5c3b4d9401 is misaligned
""",
        ("Invalid __global__ read of size 8 bytes: Address 0x7f5c3b4d9401 is misaligned", "askew", "faults.cu", 12),
    ),
    "without lines": (
        """========= Invalid __shared__ read of size 4 bytes
=========     at void scan<(int)4, float>(float *)+0x40
=========     by thread (31,0,0) in block (0,0,0)
""",
        ("Invalid __shared__ read of size 4 bytes", "void scan<", None, None),
    ),
}


@pytest.mark.parametrize("version", REPORTS)
def test_the_first_error_of_memcheck_is_read(version: str) -> None:
    """Kernel, source line and thread come from the reports of several versions of compute-sanitizer."""
    text, (told, kernel, file, line) = REPORTS[version]
    report = sanitizer.first_report(text)
    assert report is not None
    assert (report.text, report.kernel, report.file, report.line) == (told, kernel, file, line)
    assert report.thread.startswith("thread (")


def test_a_report_without_a_kernels_error_is_none() -> None:
    """Failed calls and an empty report name no kernel."""
    failed = "========= Program hit CUDA_ERROR_ASSERT (error 710) on CUDA API call to cuStreamSynchronize.\n"
    assert sanitizer.first_report(failed) is None
    assert sanitizer.first_report("========= ERROR SUMMARY: 0 errors\n") is None
