"""Compilers that never end, or die: the engine continues, closes at once, and takes the next save."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.processes import broken_compilers
from tests.processes.test_pool import is_running, started
from tests.runtime.conftest import SCALE, Kernels
from tests.waiting import until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.compiler.executable.nodes import NodeMaker
from warploom.engine.device.host.modules import build
from warploom.engine.diagnostics import Severity, WarploomError
from warploom.engine.kernel_sources import loader
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import CancelCompiles, NodeState, RunMuted

OUT = PortRef("scale", "out")
#: Frames a second: the engine leaves the processor to the compilers.
RATE = 100


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """An array of 1 and 2, scaled by 2, beside a counter."""
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.array([1, 2], np.float32))
    scale = patch.add("test_run.scale", node_id="scale")
    patch.add("test_run.count", node_id="count")
    patch.connect(data["out"], scale["x"])
    return patch


@pytest.fixture(params=["nvrtc", "translator"])
def fails(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one of the compilers fail in the way that a kernel's name asks for."""
    if request.param == "nvrtc":
        monkeypatch.setattr(loader, "compile_kernels", broken_compilers.compile_as_told)
    else:
        monkeypatch.setattr(build, "translate", broken_compilers.translate_as_told)


def failing(text: str, how: str = "HANG") -> tuple[str, Path]:
    """Return a kernel file on which the compiler fails in some way, and the file with its process id."""
    name = f"{how}_{os.urandom(4).hex()}"
    return f'{text}extern "C" __global__ void {name}() {{}}\n', broken_compilers.process_file(name)


def shows(engine: Engine, numbers: list[float]) -> bool:
    """Return whether the frames of the engine's thread have these results."""
    with engine.between_frames():
        return bool(engine.core.updates.compiled and engine.core.results.read(OUT).tolist() == numbers)


@pytest.mark.parametrize("when", ["at first", "in the middle", "by hand"])
def test_an_engine_closes_while_a_compile_never_ends(patch: Patch, kernels: Kernels, fails: None, when: str) -> None:
    """Closing an engine kills an endless compile, and a caller that waits for a frame gets an error."""
    text, hanging = failing(SCALE)
    engine = Engine(patch, "host")
    if when != "at first":
        engine.step()
    engine.post(kernels.write("scale.cu", text))
    with ThreadPoolExecutor(1) as other:
        if when == "by hand":
            frame = other.submit(engine.step)
        else:
            engine.start(rate=RATE)
        process = started(hanging)
        engine.close()
        if when == "by hand":
            assert isinstance(frame.exception(), WarploomError)
    assert not is_running(process)


def test_only_the_newest_save_counts(patch: Patch, kernels: Kernels, fails: None) -> None:
    """A newer save kills the older one's compile, whose mistakes are not reported."""
    with Engine(patch, "host") as engine:
        engine.step()
        engine.start(rate=RATE)
        for factor in (3, 4):
            text, hanging = failing(SCALE)
            engine.post(kernels.write("scale.cu", text))
            process = started(hanging)
            engine.post(kernels.write("scale.cu", SCALE.replace("factor;", f"factor * {factor};")))
            until(partial(shows, engine, [2 * factor, 4 * factor]))
            assert not is_running(process)
        report = engine.step()
        assert report.nodes["scale"].state is NodeState.OK
        assert not report.diagnostics


def test_a_saved_header_overtakes_too(patch: Patch, kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved header kills the compiles that use the older header."""
    monkeypatch.setattr(build, "translate", broken_compilers.translate_as_told)
    with Engine(patch, "host") as engine:
        engine.step()
        engine.start(rate=RATE)
        text, hanging = failing("#define FACTOR 0\n")
        kernels.write("factor.cuh", text)
        uses = '#include "factor.cuh"\n' + SCALE.replace("factor;", "factor * FACTOR;")
        engine.post(kernels.write("scale.cu", uses))
        process = started(hanging)
        engine.post(kernels.write("factor.cuh", "#define FACTOR 7\n"))
        until(partial(shows, engine, [14, 28]))
        assert not is_running(process)


@pytest.mark.parametrize("when", ["at first", "in the middle"])
def test_a_cancelled_compile_is_an_error_until_it_is_tried_again(
    patch: Patch, kernels: Kernels, fails: None, when: str
) -> None:
    """A person cancels an endless compile: the rest runs, and the next try compiles the same file."""
    text, hanging = failing(SCALE)
    with Engine(patch, "host") as engine:
        if when == "in the middle":
            engine.step()
        engine.post(kernels.write("scale.cu", text))
        engine.start(rate=RATE)
        process = started(hanging)
        until(lambda: len(engine.core.context.services.modules._under_way) == 1)  # the other kernels are compiled
        engine.post(CancelCompiles())
        until(lambda: any("cancelled" in found.message for found in engine.step().diagnostics))
        assert not is_running(process)
        report = engine.step()
        assert report.nodes["count"].state is NodeState.OK
        assert report.nodes["scale"].state is NodeState.ERROR or engine.read(OUT).tolist() == [2, 4]
        hanging.unlink()
        engine.post(RunMuted())
        started(hanging)  # the same text is compiled again
        engine.post(kernels.write("scale.cu", SCALE.replace("factor;", "factor * 3;")))
        until(lambda: not engine.step().diagnostics)
        assert engine.read(OUT).tolist() == [6, 12]


def test_a_cancelled_kernel_may_be_unloaded(patch: Patch, kernels: Kernels, fails: None) -> None:
    """A kernel whose compile was cancelled, and that was unloaded since, is not tried again."""
    text, hanging = failing(SCALE)
    with Engine(patch, "host") as engine:
        engine.step()
        engine.start(rate=RATE)
        engine.post(kernels.write("scale.cu", text))
        started(hanging)
        engine.post(CancelCompiles())
        until(lambda: any("cancelled" in found.message for found in engine.step().diagnostics))
        engine.stop()
        modules = engine.core.context.services.modules
        (source,) = modules._given_up
        modules._drop(source)
        assert not modules.try_again()


@pytest.mark.parametrize(("how", "told"), [("CRASH", "SIGSEGV"), ("STARVE", "SIGKILL")])
def test_a_compiler_that_dies_is_reported_on_the_node(
    patch: Patch, kernels: Kernels, fails: None, how: str, told: str
) -> None:
    """A compiler that dies is an error at the node with the file, and the last good kernel runs on."""
    with Engine(patch, "host") as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", failing(SCALE, how)[0]))
        report = engine.step()
        (problem,) = report.diagnostics
        assert (problem.node, Path(problem.file or "").name) == ("scale", "scale.cu")
        assert f"got its end by {told}" in problem.message
        assert "its compiler can't compile this version" in problem.remedy
        assert report.nodes["count"].state is NodeState.OK
        assert engine.read(OUT).tolist() == [2, 4]
        engine.post(kernels.write("scale.cu", SCALE.replace("x[i] * factor", "x[i] - factor")))
        report = engine.step()
        assert (report.update_level, report.diagnostics) == (UpdateLevel.CODE, ())
        assert engine.read(OUT).tolist() == [-1, 0]


def test_optimising_a_kernel_stops_when_nobody_uses_it(
    patch: Patch,
    kernels: Kernels,
    optimiser: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The process that optimises the kernel is killed by the next save; the last one may finish, for the cache."""
    monkeypatch.setattr(build, "optimise", broken_compilers.optimise_for_ever)
    hanging, processes = broken_compilers.process_file("HANG_optimiser"), []
    with Engine(patch, "host") as engine:
        for _ in range(2):
            hanging.unlink(missing_ok=True)
            number = int.from_bytes(os.urandom(2), "big")
            engine.post(kernels.write("scale.cu", SCALE.replace("factor;", f"factor + {number};")))
            engine.step()
            processes.append(started(hanging))
            assert engine.read(OUT).tolist() == [2 + number, 4 + number]
        until(lambda: not is_running(processes[0]))
        assert is_running(processes[1])
    assert is_running(processes[1])
    os.kill(processes[1], signal.SIGKILL)
    until(lambda: "scale stays as it was compiled first" in caplog.text)


@pytest.mark.parametrize("is_first", [True, False])
def test_the_error_of_a_failed_build_names_the_block(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    """The first build and a rebuild both name the block; the running graph continues."""
    add = NodeMaker.kernel

    def fail(maker: NodeMaker, index: int, *more: Any) -> Any:
        if maker._operations[index].node == "culprit":
            raise ZeroDivisionError("odd")
        return add(maker, index, *more)

    patch = Patch()
    patch.add("test_run.count", node_id="count")
    with Engine(patch, device="host") as engine:
        if not is_first:
            engine.step()
        monkeypatch.setattr(NodeMaker, "kernel", fail)
        patch.add("test_run.count", node_id="culprit")
        found = engine.step().diagnostics
        assert [(item.node, item.message) for item in found if item.severity is Severity.ERROR] == [
            ("culprit", "block must be built, got ZeroDivisionError: odd")
        ]
        assert is_first or engine.read(PortRef("count", "out"))[0] == 2
        monkeypatch.undo()
        patch.set("culprit", size=4)
        assert not engine.step().diagnostics
