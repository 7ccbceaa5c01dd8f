"""The measurements of each level and how often they are made; no stale times are shown."""

import pkgutil
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.small_examples import small
from tests.waiting import until
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.executable.clocks import SLOT
from warploom.engine.device.device import Device
from warploom.engine.device.optimiser import OptimiserJob
from warploom.engine.profiling.profile import Profile
from warploom.engine.profiling.rows import row_times, rows
from warploom.engine.protocol.messages import FrameReport, NodeState, ObserveProfile, SetProfiling

NONE, SUMMARY, PER_BLOCK, PER_KERNEL, DEEP_ASYNC, DEEP_SYNC = ProfilingLevel


def nested() -> Patch:
    """Return a patch with a branch in a loop."""
    return small("nested")


#: Everything that each level records.
KERNELS = {"nodes", "operations", "graph", "kernels", "groups"}
RECORDED = {
    NONE: set[str](),
    SUMMARY: {"launch"},
    PER_BLOCK: {"launch", "nodes", "blocks"},
    PER_KERNEL: {"launch", *KERNELS},
    DEEP_ASYNC: {"launch", *KERNELS, "buffers"},
    DEEP_SYNC: {*KERNELS, "buffers", "every frame"},
}


def recorded(profile: Profile, report: FrameReport, measured: Sequence[int]) -> set[str]:
    """Return what a profile and a report contain; `measured` are the frames whose spans were reported."""
    spans = profile.spans
    found = {
        "launch": profile.launch_ns is not None,
        "nodes": any(node.time_ns is not None for node in report.nodes.values()),
        "blocks": any(span.operation < 0 for span in spans),
        "operations": any(span.operation >= 0 and span.name for span in spans),
        "graph": any(not span.node for span in spans),
        "kernels": any(span.kernel is not None for span in spans),
        "groups": bool(profile.sums_p99_ns),
        "buffers": bool(profile.buffers),
        "every frame": list(measured) == list(range(report.frame + 1)),
    }
    return {what for what, is_there in found.items() if is_there}


@pytest.mark.parametrize("level", ProfilingLevel)
def test_each_level_records_what_it_says(device: Device, level: ProfilingLevel) -> None:
    """Each level records its own facts and those of the lower levels, and results stay the same."""
    patch, measured = nested(), dict[int, None]()
    with Engine(patch, device, profiling=level) as engine, Engine(patch, device, profiling=NONE) as plain:
        for _ in range(3):
            report = engine.step()
            plain.step()
            profile = engine.core.profiler.profile()
            if profile.spans:
                measured[profile.frame] = None
        assert recorded(profile, report, list(measured)) == RECORDED[level]
        assert report.statistics.profiling is profile.level is level
        assert (report.statistics.launch_ns is None) is (level is NONE)
        assert (profile.frame >= 0) is (level > NONE)
        assert profile.overhead is None or level < DEEP_SYNC
        assert (profile.measured_ns is not None) is bool(profile.spans)
        timed = {node for node, found in report.nodes.items() if found.time_ns is not None}
        assert timed == ({span.node for span in profile.spans} - {""})
        assert {node.state for node in report.nodes.values()} == {NodeState.OK}
        for port in (patch["relief"]["image"], patch["step"]["heights"]):
            assert engine.read(port).tobytes() == plain.read(port).tobytes()


def test_loops_tell_their_turns_and_the_sum_of_them(device: Device) -> None:
    """A loop's spans have its number of turns, a skipped branch has none, and a region includes its contents."""
    with Engine(nested(), device, profiling=DEEP_SYNC) as engine:
        for _ in range(3):
            engine.step()
        spans = engine.core.profiler.profile().spans
        loop = next(span for span in spans if span.node == "turns" and not span.region and "region" in span.name)
        inside = [span for span in spans if span.region == "turns"]
        assert loop.turns == 1 and {span.turns for span in inside} == {6}
        assert all(loop.first_ns <= span.first_ns <= span.last_ns <= loop.last_ns for span in inside)
        assert all(span.turns <= 6 for span in spans if span.region == "rain")
        assert sum(span.busy_ns for span in inside) <= 1.1 * (loop.last_ns - loop.first_ns)


@pytest.mark.parametrize("level", [PER_BLOCK, PER_KERNEL])
def test_spans_tell_regions_branches_and_what_they_wait_for(device: Device, level: ProfilingLevel) -> None:
    """A region has one span, the branch that did not run has no turns, and a span begins after those it waits for."""
    patch = Patch()
    choice = patch.add("control.if_else", node_id="choice")
    patch.connect(patch.add("buffer.constant", value=1.0)["out"], choice["condition"])
    for number, region in enumerate((choice, choice.otherwise)):
        patch.add("buffer.constant", node_id=f"in{number}", shape="4", region=region)
    with Engine(patch, device, profiling=level) as engine:
        engine.step()
        spans = engine.core.profiler.profile().spans
    assert [(span.node, span.region) for span in spans if span.is_region] == [("choice", "")]
    inside = {(span.node, span.branch, span.turns) for span in spans if span.region == "choice"}
    assert inside == {("in0", "", 1), ("in1", "else", 0)}
    whole = next(span for span in spans if span.is_region)
    assert whole.after
    for span in spans:
        assert all(spans[earlier].last_ns <= span.first_ns for earlier in span.after)


def test_measured_frames_never_follow_each_other(device: Device) -> None:
    """Measured frames follow each other only at the deepest level, where each frame is measured."""
    with Engine(nested(), device, profiling=PER_KERNEL) as engine:
        profiler = engine.core.profiler
        for level, is_each in ((PER_KERNEL, False), (DEEP_SYNC, True)):
            engine.post(SetProfiling(level))
            profiler.sampler.share = 1e9  # as if measuring cost nothing
            measured = []
            for _ in range(8):
                frame = engine.step().frame
                measured.append(profiler.profile().frame == frame)
            assert measured == ([True] * 8 if is_each else [True, False] * 4)


def test_no_times_are_told_after_a_level_is_left(device: Device) -> None:
    """After a level is left, reports have no times, even if a new problem renews the report in that frame."""
    patch = nested()
    with Engine(patch, device) as engine:
        engine.post(ObserveProfile(True))
        assert engine.step().nodes["step"].time_ns
        engine.post(SetProfiling(NONE))
        patch.add("buffer.copy")
        report = engine.step()
        assert report.diagnostics and all(found.time_ns is None for found in report.nodes.values())
        assert engine.core.profiler.profile().frame == -1
        assert engine.take_profile().frame == 0  # the profile of the previous frame
        assert engine.take_profile() is None


def burning(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that uses 20 ms more of its thread's time."""

    def burn(*args: Any, **kwargs: Any) -> Any:
        end_ns = time.thread_time_ns() + 20_000_000
        while time.thread_time_ns() < end_ns:
            pass
        return call(*args, **kwargs)

    return burn


@pytest.mark.parametrize(
    ("place", "calls"),
    [
        ("warploom.engine.runtime.report.node_reports.node_times", 2),
        ("warploom.engine.runtime.measure.profiler.FrameProfiler.profile", 1),
        ("warploom.engine.runtime.measure.instrumented_graph.Instrumented", 1),
        ("warploom.engine.compiler.executable.instrument.Instrumented.launch", 1),
        ("warploom.engine.compiler.executable.instrument.Instrumented.read", 1),
    ],
)
def test_whatever_measuring_takes_is_paid_for(
    device: Device, monkeypatch: pytest.MonkeyPatch, place: str, calls: int
) -> None:
    """Reports of times, profiles, and building, launching and reading a copy each delay the next sample."""
    monkeypatch.setattr(place, burning(pkgutil.resolve_name(place)))
    spent = []
    with Engine(nested(), device, profiling=PER_BLOCK) as engine:
        spend = engine.core.profiler.sampler.spend
        engine.core.profiler.sampler.spend = lambda now_ns, cost_ns: (spent.append(cost_ns), spend(now_ns, cost_ns))
        engine.post(ObserveProfile(True))
        if place.endswith(".Instrumented"):  # the copy is built beside free frames
            engine.core.player.running = True
            until(lambda: engine.core.frame(free_running=True).frame and engine.core.profiler.frame >= 0)
        engine.step()
        engine.step()
        plain_ns = engine.core.profiler.launch_ns.median or 0  # the time of a plain launch does not count as a cost
    assert sum(spent) + plain_ns >= calls * 10_000_000


def test_frames_by_hand_are_measured_at_once_after_a_change_whatever_was_spent(device: Device) -> None:
    """A frame by hand after a change is measured at once; other samples wait until earlier ones are paid for."""
    patch = nested()
    with Engine(patch, device, profiling=PER_BLOCK) as engine:
        profiler = engine.core.profiler
        engine.step()
        profiler.sampler.spend(time.perf_counter_ns(), 10**12)
        engine.step()
        assert profiler.frame == 0
        patch.add("buffer.constant")
        frame = engine.step().frame
        assert profiler.frame == frame
        engine.step()
        assert profiler.frame == frame
        assert profiler.sampler.due_ns > time.perf_counter_ns()


def test_profiles_are_told_while_somebody_looks(device: Device) -> None:
    """While somebody observes profiles, each is returned once; afterwards none is returned."""
    with Engine(nested(), device, profiling=DEEP_SYNC) as engine:
        engine.step()
        assert engine.take_profile() is None
        engine.post(ObserveProfile(True))
        report = engine.step()
        profile = engine.take_profile()
        assert profile is not None and profile.frame == report.frame
        assert engine.take_profile() is None
        engine.post(ObserveProfile(False))
        engine.step()
        assert engine.take_profile() is None


def test_whole_frames_are_told_at_the_summary_level(device: Device) -> None:
    """At the summary level, a profile has the time of the launch and no spans."""
    with Engine(nested(), device, profiling=SUMMARY) as engine:
        engine.post(ObserveProfile(True))
        report = engine.step()
        profile = engine.take_profile()
        assert profile is not None and (profile.frame, profile.spans) == (report.frame, ())
        assert (profile.launch_ns or 0) > 0


def test_a_trace_measures_kernels_in_each_frame_and_goes_back_to_the_level_before(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace measures the kernels of each frame without examining buffers, and then restores the level."""
    monkeypatch.setattr("warploom.engine.runtime.measure.instrumented_graph.SurveyKernel", None)
    with Engine(nested(), device, profiling=SUMMARY) as engine:
        for _ in range(2):
            slices = engine.trace(3)
            assert [piece.name.split()[0] for piece in slices].count("frame") == 3
            assert sum("wave_height" in piece.name for piece in slices) == 3
            profiler = engine.core.profiler
            assert (profiler.level, profiler.every_frame) == (SUMMARY, False)


@pytest.mark.parametrize("name", ["nested", "jacobi"])
def test_regions_leave_out_what_looks_into_the_buffers_inside_of_them(device: Device, name: str) -> None:
    """At the deepest level, a region's time lacks the surveys inside it, but is at least that of each span inside."""
    with Engine(small(name), device, profiling=DEEP_SYNC) as engine:
        for _ in range(3):
            engine.step()
        core, profile = engine.core, engine.core.profiler.profile()
        assert core.updates.compiled is not None
        copied = core.profiler._graph._copies[core.updates.compiled.phase]
        said = copied._results.array[: copied._clocked * SLOT.itemsize].view(SLOT)["busy_ns"]
        looks = 0
        for region, inside, surveys in copied._inside:
            looks += len(surveys)
            busy_ns = profile.spans[region].busy_ns
            assert busy_ns <= max(int(said[region]) - int(said[list(surveys)].sum()), 1) or busy_ns in [
                profile.spans[number].busy_ns for number in inside
            ]
            assert all(profile.spans[number].busy_ns <= busy_ns for number in inside)
        assert looks


def test_a_run_is_told_by_the_frames_that_stand_for_it(device: Device) -> None:
    """The first frame of a graph, which does some work only once, counts only until another frame is measured."""
    with Engine(small("jacobi"), device, profiling=PER_BLOCK) as engine:
        engine.step()
        first = engine.core.profiler.profile()
        assert (first.measured_frames, first.first_frame, first.frame) == (1, 0, 0)
        for _ in range(4):
            engine.core.profiler.sampler.due_ns = 0  # the cost of the first sample is paid for
            engine.step()
        engine.core.launcher.settle()
        profile = engine.core.profiler.profile()
    assert 0 < profile.first_frame <= profile.frame and profile.measured_frames >= 1 and profile.launches >= 1
    found = rows(profile.spans)
    times = row_times(found, profile)
    assert sum(time.share or 0 for row, time in zip(found, times, strict=True) if row.parent < 0) == pytest.approx(1)


def test_code_that_is_optimised_begins_the_times_anew(device: Device) -> None:
    """Times of the previous code no longer count once other code runs."""
    with Engine(small("particles"), device, profiling=PER_BLOCK) as engine:
        profiler = engine.core.profiler
        profiler.every_frame = True
        for _ in range(6):
            engine.step()
        engine.core.launcher.settle()
        before = profiler.profile()
        assert before.measured_frames > 1
        OptimiserJob(lambda: None).run()
        engine.step()
        engine.core.launcher.settle()
        after = profiler.profile()
        assert (after.measured_frames, after.first_frame) == (1, after.frame) and after.frame > before.frame


def test_a_report_tells_which_blocks_were_skipped(device: Device) -> None:
    """The blocks of the branch that did not run are skipped, and no others; when they run, they are not."""
    patch = Patch()
    choice = patch.add("control.if_else", node_id="choice")
    condition = patch.add("buffer.constant", node_id="condition", value=1.0)
    patch.connect(condition["out"], choice["condition"])
    always = patch.add("buffer.constant", node_id="always", value=1.0)
    data = patch.add("buffer.constant", node_id="data", shape="5")
    for number, region in enumerate((choice, choice.otherwise)):
        inner = patch.add("control.if", node_id=f"if{number}", region=region)
        patch.connect(always["out"], inner["condition"])
        first = patch.add("math.scale_offset", node_id=f"a{number}", region=inner)
        last = patch.add("math.scale_offset", node_id=f"b{number}", region=inner)  # the two are fused
        patch.connect(data["out"], first["x"])
        patch.connect(first["out"], last["x"])
        after = patch.add("math.scale_offset", node_id=f"after{number}")
        patch.connect(last["out"], after["x"])
    with Engine(patch, device, profiling=DEEP_SYNC) as engine:
        for value, number in ((1.0, 1), (0.0, 0), (1.0, 1)):
            patch.set(condition, value=value)
            engine.step()
            nodes = engine.step().nodes
            assert nodes["a0"].fused_into == ("b0",)
            skipped = {f"{name}{number}" for name in ("if", "a", "b")}
            assert {node for node, found in nodes.items() if found.is_skipped} == skipped
