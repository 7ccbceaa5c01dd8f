"""Single edits: their update levels and records; edits that fail, cancel each other, or come together."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.runtime.conftest import COUNT, SCALE, Kernels
from tests.runtime.small_blocks import array, bump
from tests.runtime.update.update_kinds import WIDER
from tests.runtime.update.update_support import (
    OwnArrays,
    check_records,
    contents,
    copy_of,
    differences,
    errors,
    outputs,
)
from warploom import Engine, Patch, ProfilingLevel, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport, NodeState, SetProfiling

NONE, HOT, WARM, RECAPTURE, CODE, COLD = UpdateLevel


@pytest.fixture
def arrays(device: Device) -> Iterator[OwnArrays]:
    """Two pairs of the user's own arrays, all of one size."""
    made = OwnArrays(device)
    for values in ((1, 2, 3), (10, 20, 30), (4, 5, 6), (40, 50, 60)):
        made.add(np.array(values, np.float32))
    yield made
    made.close()


def of_all_kinds(arrays: OwnArrays) -> Patch:
    """Return a source of each kind, a scale behind each, a loop, a composite, a delay, a copy, an op graph, a kernel
    with a constant, and a library call.
    """
    patch = Patch()
    data = patch.add("io.array", node_id="data", data=np.array([1, 2, 3], np.float32))
    made = patch.add("test_small.make", node_id="make", count=3, value=5.0)
    mine = patch.add("io.external", node_id="mine", array=arrays.lent[0])
    count = patch.add("test_run.count", node_id="count")
    patch.add("control.for", node_id="loop", count=2)
    for number, source in enumerate((data, made, mine, count)):
        scale = patch.add("test_run.scale", node_id=f"scale{number}", factor=2.0)
        patch.connect(source["out"], scale["x"])
    total = patch.add("buffer.constant", node_id="total", shape="3", value=1.0)
    bump(patch, total, "loop")
    whole = patch.add("test_small.sum3", node_id="whole")
    patch.connect(data["out"], whole["x"])
    delay = patch.add("buffer.frame_delay", node_id="delay", initial=4.0)
    patch.connect(patch["scale3"]["out"], delay["x"])
    target = patch.add("buffer.constant", node_id="target", shape="3")
    assign, formula = patch.add("buffer.assign", node_id="assign"), patch.add("kernel.expression", node_id="formula")
    pinned = patch.add("kernel.cuda", node_id="pinned", code=PINNED, constants="taps")
    patch.set(formula, expression="x * 2 + 1")
    other, dot = patch.add("io.external", node_id="other", array=arrays.lent[2]), patch.add("linalg.dot", node_id="dot")
    for source, port in (
        (mine, assign["value"]),
        (target, assign["target"]),
        (other, dot["x"]),
        (data, dot["y"]),
        (data, formula["x"]),
        (data, pinned["x"]),
    ):
        patch.connect(source["out"], port)
    return copy_of(patch)  # the copy has an empty history


#: A kernel with a loop over a constant.
PINNED = """extern "C" __global__ void add(const float* x, float* out, int taps, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) { out[i] = x[i]; for (int k = 0; k < taps; ++k) out[i] += k; }
}
"""
#: The kernel of `test_run.scale` with other code.
ADDING = SCALE.replace("* factor", "+ factor")
#: An edit, the levels that it may cost, and words in its cause.
Edit = tuple[Callable[[Patch, OwnArrays, Kernels, Engine], Any], tuple[UpdateLevel, ...], str]
EDITS: dict[str, Edit] = {
    "live": (lambda p, a, k, e: p.set("scale0", factor=3.0), (HOT,), ""),
    "live in a loop": (lambda p, a, k, e: p.set("bump", amount=3.0), (HOT,), ""),
    "live of a region": (lambda p, a, k, e: p.set("loop", count=3), (HOT,), ""),
    "live of a composite": (lambda p, a, k, e: p.set("whole", b=3.0), (HOT,), ""),
    "contents": (lambda p, a, k, e: p.set("data", data=np.array([4, 5, 6], np.float32)), (WARM,), "data of data"),
    "rebind": (lambda p, a, k, e: p.set("mine", array=a.lent[1]), (WARM,), "array of mine"),
    "rebind at a call": (lambda p, a, k, e: p.set("other", array=a.lent[3]), (RECAPTURE,), "array of other"),
    "options of a call": (lambda p, a, k, e: p.set("dot", conjugate=True), (RECAPTURE,), "conjugate of dot"),
    "number of an op graph": (lambda p, a, k, e: p.set("formula", expression="x * 3 + 1"), (WARM, CODE), "formula"),
    "op graph": (lambda p, a, k, e: p.set("formula", expression="x * 2 - 1"), (CODE,), "formula"),
    "constant": (lambda p, a, k, e: p.set("pinned", taps=5), (CODE,), "taps of pinned"),
    "title": (lambda p, a, k, e: p.rename("data", "Numbers"), (NONE,), ""),
    "value": (lambda p, a, k, e: p.add("value.lfo", node_id="more"), (NONE,), ""),
    "region": (lambda p, a, k, e: p.add("control.for", node_id="more"), (COLD,), "more"),
    "larger": (lambda p, a, k, e: p.set("make", count=300), (WARM, RECAPTURE, COLD), "count of make"),
    "smaller": (lambda p, a, k, e: p.set("make", count=1), (WARM, RECAPTURE, COLD), "count of make"),
    "code": (
        lambda p, a, k, e: e.post(k.write("scale.cu", ADDING)),
        (CODE,),
        "scale.cu saved",
    ),
    "signature": (lambda p, a, k, e: e.post(k.write("scale.cu", WIDER)), (COLD,), "scale.cu saved"),
    "profiling": (lambda p, a, k, e: e.post(SetProfiling(ProfilingLevel.PER_KERNEL)), (NONE,), ""),
    "added": (lambda p, a, k, e: p.add("test_small.make", node_id="more"), (COLD,), "block more"),
    "removed": (lambda p, a, k, e: p.remove("scale1"), (COLD,), "scale1"),
    "connected": (lambda p, a, k, e: p.connect(p["make"]["out"], p["scale0"]["x"]), (COLD,), "make.out -> scale0.x"),
    "moved in": (lambda p, a, k, e: p.move_into("scale1", "loop"), (COLD,), "scale1"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_single_edit_costs_its_level_and_gives_what_a_fresh_engine_gives(
    kernels: Kernels, device: Device, arrays: OwnArrays, name: str
) -> None:
    """A single edit has an allowed level, one record with a cause above HOT, and a new engine's results."""
    edit, levels, cause = EDITS[name]
    patch = of_all_kinds(arrays)
    with Engine(patch, device=device) as engine:
        assert not errors(engine.step())
        edit(patch, arrays, kernels, engine)
        report = engine.step()
        check_records(report)
        assert report.update_level in levels
        assert len(report.updates) == (report.update_level > HOT)
        assert all(cause in record.cause for record in report.updates)
        ports = outputs(patch) - {PortRef("count", "out"), PortRef("scale3", "out"), PortRef("delay", "out")}
        lived = contents(engine, ports)
        with Engine(copy_of(patch), device=device) as fresh:
            fresh.step()
            assert not differences(lived, contents(fresh, ports))
        assert engine.step().update_level is NONE
        if patch.undo():
            report = engine.step()
            check_records(report)
            assert report.update_level in levels
            patch.redo()
            assert engine.step().update_level in levels
            assert not differences(lived, contents(engine, ports))


CANCELLING: dict[str, Callable[[Patch], Any]] = {
    "live": lambda p: p.set("scale0", factor=9.0),
    "size": lambda p: p.set("make", count=100),
    "contents": lambda p: p.set("data", data=np.array([4, 5, 6], np.float32)),
    "added": lambda p: p.add("test_small.make"),
    "disconnected": lambda p: p.disconnect(p["scale1"]["x"]),
    "connected": lambda p: p.connect(p["make"]["out"], p["scale0"]["x"]),
    "moved": lambda p: p.move_into("scale1", "loop"),
    "removed": lambda p: p.remove("delay"),
    "removed state": lambda p: p.remove("count"),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_an_edit_that_is_undone_before_the_frame_builds_nothing(
    kernels: Kernels, device: Device, arrays: OwnArrays, name: str
) -> None:
    """An edit that is undone before the frame builds nothing, and the frame has the results without the edit."""
    patch = of_all_kinds(arrays)
    with Engine(patch, device=device) as engine, Engine(copy_of(patch), device=device) as other:
        for number in range(4):
            if number == 2:
                before = len(patch.history.names)
                CANCELLING[name](patch)
                while len(patch.history.names) > before:
                    patch.undo()
            report = engine.step()
            assert not errors(report)
            other.step()
            if number:
                # A block that was removed and restored gets its values again, since they may have changed.
                told = HOT if name.startswith("removed") else NONE
                assert report.update_level <= (WARM if name in ("contents", "live") else told)
            ports = outputs(patch) - {PortRef("mine", "out"), PortRef("scale2", "out")}
            assert not differences(contents(engine, ports), contents(other, ports))


def test_a_burst_of_edits_between_two_frames_is_one_update(kernels: Kernels, device: Device, arrays: OwnArrays) -> None:
    """A hundred live values make one HOT frame, and a hundred edits of all kinds one record; the last edits count."""
    patch = of_all_kinds(arrays)
    with Engine(patch, device=device) as engine:
        engine.step()
        for number in range(100):
            patch.set(f"scale{number % 4}", factor=float(number))
        report = engine.step()
        assert (report.update_level, report.updates) == (HOT, ())
        last = patch["data"]
        for number in range(100):
            patch.set(f"scale{number % 4}", factor=float(-number))
            patch.set("make", count=number + 1)
            added = patch.add("test_small.bump")
            patch.connect(last["out"], added["x"])
            patch.remove(added)
        report = engine.step()
        check_records(report)
        assert len(report.updates) == 1
        ports = {port for port in outputs(patch) if port.node in ("data", "make", "scale0", "scale1", "whole", "total")}
        with Engine(copy_of(patch), device=device) as fresh:
            fresh.step()
            assert not differences(contents(engine, ports), contents(fresh, ports))


MISTAKES: dict[str, Callable[[Patch, Kernels, Engine], Any]] = {
    "missing input": lambda p, k, e: p.disconnect(p["scale3"]["x"]),
    "other size": lambda p, k, e: p.connect(p["count"]["out"], PortRef("sum", "y")),
    "refused value": lambda p, k, e: p.set("scale0", factor=1e39),
    "broken kernel": lambda p, k, e: e.post(k.write("scale.cu", "broken")),
    "lost entry point": lambda p, k, e: e.post(k.write("scale.cu", SCALE.replace("void scale", "void other"))),
    "more parameters": lambda p, k, e: e.post(k.write("scale.cu", SCALE.replace("int n)", "int n, int more)"))),
}


@pytest.mark.parametrize("was_hot", [False, True])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_failed_edit_leaves_the_results_and_is_reported_at_once(
    kernels: Kernels, device: Device, arrays: OwnArrays, name: str, was_hot: bool
) -> None:
    """After a failed edit, outputs are those without the edit, live values apply, and a correction clears the error."""
    patch = of_all_kinds(arrays)
    total = patch.add("math.add", node_id="sum")
    for port in ("x", "y"):
        patch.connect(patch["data"]["out"], total[port])
    patch.set("count", size=4)
    patch = copy_of(patch)
    ports = outputs(patch) - {PortRef("mine", "out"), PortRef("scale2", "out")}
    good = copy_of(patch)
    with Engine(patch, device=device) as engine, Engine(good, device=device) as other:

        def step() -> FrameReport:
            report = engine.step()
            other.step()
            told = differences(contents(engine, ports), contents(other, ports))
            assert not told, told
            check_records(report)
            return report

        step()
        if was_hot:
            for value in (5.0, 6.0):
                for each in (patch, good):
                    each.set("scale0", factor=value)
                assert step().update_level is HOT
        MISTAKES[name](patch, kernels, engine)
        report = step()
        assert report.update_level in (NONE, HOT)
        assert NodeState.ERROR in {node.state for node in report.nodes.values()}
        for value in (3.0, 4.0):
            for each in (patch, good):
                each.set("scale1", factor=value)
            assert step().update_level is HOT
        engine.post(kernels.write("scale.cu", SCALE))
        if name in ("missing input", "other size", "refused value"):
            while errors(report):
                patch.undo()
                good.set("scale1", factor=patch.value("scale1", "factor"))
                report = step()
        assert not step().diagnostics


def test_the_cause_of_an_update_is_its_change(kernels: Kernels, device: Device, arrays: OwnArrays) -> None:
    """Two saved files and an edit in one frame make two records, the structure first, each with its cause."""
    patch = of_all_kinds(arrays)
    with Engine(patch, device=device) as engine:
        engine.step()
        engine.post(kernels.write("scale.cu", ADDING))
        engine.post(kernels.write("count.cu", COUNT.replace("+= step", "-= step")))
        patch.connect(array(patch, 1, 2, 3)["out"], patch["scale0"]["x"])
        report = engine.step()
        check_records(report)
        assert [record.level for record in report.updates] == [COLD, CODE]
        assert report.updates[1].cause == "count.cu, scale.cu saved"
        assert "scale0.x" in report.updates[0].cause
        assert engine.read(PortRef("scale0", "out")).tolist() == [3, 4, 5]
