"""A block in which the device fails is left out until it may run again; all others go on, with their state."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch
from warploom.engine.diagnostics import DeviceError, KernelFault, Mend, Source, error
from warploom.engine.protocol.messages import FrameReport, Mute, NodeState, RunMuted, SetKernelTimeLimit

#: Writes far out of its memory if the factor is over 100.
WILD = SCALE.replace("out[i] =", "out[factor > 100 ? i + (1 << 28) : i] =")


def fed() -> Patch:
    """Return two counters; one feeds a scale and a second scale after it."""
    patch = Patch()
    count, scale = patch.add("test_run.count", node_id="count"), patch.add("test_run.scale", node_id="scale", factor=2)
    after = patch.add("test_run.scale", node_id="after", factor=3.0)
    patch.add("test_run.count", node_id="other")
    patch.connect(count["out"], scale["x"])
    patch.connect(scale["out"], after["x"])
    return patch


def play(engine: Engine, until: Callable[[FrameReport], bool]) -> FrameReport:
    """Run the frames of an engine that plays, as its thread does, until a report is as wanted."""
    for _ in range(3000):
        try:
            engine.core.frame(free_running=True)
        except DeviceError:
            assert engine.core.fault is None, "the engine has stopped"
        if engine.core.updates.preparing:
            time.sleep(0.005)
        report = engine.take_report()
        if report is not None and until(report):
            return report
    raise AssertionError("the report did not come")


def states(report: FrameReport) -> dict[str, NodeState]:
    """Return the states of all nodes."""
    return {node: each.state for node, each in report.nodes.items()}


OK, ERROR, IDLE = NodeState.OK, NodeState.ERROR, NodeState.IDLE
ALL_RUN = {"count": OK, "scale": OK, "after": OK, "other": OK}
MUTED = {"count": OK, "scale": ERROR, "after": IDLE, "other": OK}


@pytest.mark.parametrize("fuse", [True, False])
def test_frames_go_on_without_the_block_that_failed(kernels: Kernels, fuse: bool) -> None:
    """The block and those after it are left out, the others keep counting, and a good value puts all back."""
    kernels.write("scale.cu", WILD)
    patch = fed()
    with Engine(patch, "host", fuse=fuse) as engine:
        play(engine, lambda report: report.frame >= 2 and states(report) == ALL_RUN)
        patch.set("scale", factor=1000.0)
        fault = play(engine, lambda report: bool(report.diagnostics))
        assert not fault.failed
        report = play(engine, lambda report: report.frame >= fault.frame + 5)
        assert states(report) == MUTED
        assert [(item.node, item.mend) for item in report.diagnostics] == [("scale", Mend.TRY_AGAIN)]
        assert "scale" in report.nodes["after"].message
        steps = engine.read(patch["count"]["out"]).tolist()
        assert steps == [report.frame + 2] * 3, "the frame that failed counts, and is run once more"
        patch.set("scale", factor=4.0)
        report = play(engine, lambda report: states(report) == ALL_RUN and not report.preparing)
        assert not report.diagnostics
        count, other = (engine.read(patch[node]["out"])[0] for node in ("count", "other"))
        assert count == report.frame + 2 and other in (count, count - 1)
        assert engine.read(patch["after"]["out"]).tolist() == [12 * count] * 3


def test_a_frame_by_hand_raises_the_fault_until_the_block_changes(kernels: Kernels) -> None:
    """Its results would lack those of the block, so nothing is computed; then the frame is run once more."""
    kernels.write("scale.cu", WILD)
    patch = fed()
    with Engine(patch, "host") as engine:
        engine.step()
        patch.set("scale", factor=1000.0)
        with pytest.raises(KernelFault) as first:
            engine.step()
        for edit in (lambda: None, lambda: patch.set("other", step=2.0), lambda: patch.add("test_run.count")):
            edit()
            with pytest.raises(KernelFault) as again:
                engine.step()
            assert again.value is first.value
        patch.set("scale", factor=2.0)
        assert not engine.step().diagnostics
        assert engine.read(patch["after"]["out"]).tolist() == [3 * 2 * 3] * 3


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_saved_kernel_resumes(kernels: Kernels, by_hand: bool) -> None:
    """The corrected kernel runs as soon as it is saved; a save that doesn't compile changes nothing."""
    kernels.write("scale.cu", WILD)
    patch = fed()
    patch.set("scale", factor=1000.0)
    with Engine(patch, "host") as engine:
        if by_hand:
            with pytest.raises(KernelFault):
                engine.step()
        else:
            play(engine, lambda report: states(report) == MUTED)
        engine.post(kernels.write("scale.cu", SCALE.replace("* factor", "* fact")))
        if by_hand:
            with pytest.raises(KernelFault):
                engine.step()
        else:
            play(engine, lambda report: any("fact" in item.message for item in report.diagnostics))
            assert states(play(engine, lambda report: not report.preparing)) == {**MUTED, "after": ERROR}
        engine.post(kernels.write("scale.cu", SCALE))
        if by_hand:
            assert not engine.step().diagnostics
        else:
            play(engine, lambda report: states(report) == ALL_RUN)
        product = engine.read(patch["scale"]["out"])
        assert np.array_equal(product, 1000 * engine.read(patch["count"]["out"]))


def test_a_loop_comes_back_when_its_condition_changes() -> None:
    """A While that the time limit has stopped runs again after a change of its condition."""
    patch = Patch()
    loop = patch.add("control.while", limit=10_000_000)
    condition = patch.add("io.array", node_id="condition", data=np.ones(1, np.float32))
    patch.connect(condition["out"], loop["condition"])
    inside = patch.add("buffer.constant", region=loop)
    with Engine(patch, "host") as engine:
        engine.post(SetKernelTimeLimit(0.1))
        for _ in range(2):
            with pytest.raises(DeviceError, match="loop must end by itself"):
                engine.step()
        patch.set("condition", data=np.zeros(1, np.float32))
        assert states(engine.step())[inside.id] is OK


@pytest.mark.parametrize("source", [Source.LAUNCH, Source.VALIDATION])
def test_a_new_engine_can_be_told_what_failed(kernels: Kernels, source: Source) -> None:
    """A muted block doesn't run in a new engine either, until it changes or someone asks for it."""
    kernels.write("scale.cu", WILD)
    patch = fed()
    with Engine(patch, "host") as engine:
        why = error("it failed before", mend=Mend.TRY_AGAIN, source=source)
        patch.add("value.counter", node_id="number")
        engine.post(Mute({"scale": why, "gone": why, "number": why}))
        report = play(engine, lambda report: report.frame >= 3)
        assert states(report) == {**MUTED, "number": OK}
        assert [item.message for item in report.diagnostics] == ["it failed before"]
        engine.post(RunMuted())
        assert states(play(engine, lambda report: not report.diagnostics)) == {**ALL_RUN, "number": OK}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(
        st.tuples(st.sampled_from(["scale", "after"]), st.sampled_from([1.0, 2.0, 1000.0, 2000.0])), max_size=8
    )
)
def test_an_engine_after_faults_is_as_a_new_one(kernels: Kernels, values: list[tuple[str, float]]) -> None:
    """After any values, the blocks run that would run in a new engine, and compute the same from the same state."""
    kernels.write("scale.cu", WILD)
    patch = fed()
    with Engine(patch, "host") as engine:
        for node, value in values:
            patch.set(node, factor=value)
            play(engine, lambda report: not (report.preparing or engine.core.inbox or engine.core.updates.pending))
        factors = {node: patch.value(node, "factor") for node in ("scale", "after")}
        wild = [node for node, factor in factors.items() if factor > 100]
        expected = {**ALL_RUN, **({"after": IDLE} if wild else {}), **dict.fromkeys(wild[:1], ERROR)}
        report = play(engine, lambda report: not (report.preparing or engine.core.updates.pending))
        found = states(report)
        if len(wild) == 2 and found["after"] is ERROR:  # it had failed before the one that feeds it
            expected["after"] = ERROR
        assert found == expected
        if not wild:
            count = engine.read(patch["count"]["out"])
            product = count * np.float32(factors["scale"]) * np.float32(factors["after"])
            assert np.array_equal(engine.read(patch["after"]["out"]), product)
