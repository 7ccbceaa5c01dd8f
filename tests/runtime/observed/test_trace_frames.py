"""A trace holds every frame and every launch in it, with its time and its track."""

import json
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiling.spans import span
from tests.runtime.conftest import Kernels
from tests.small_examples import small
from warploom import Engine, Patch
from warploom.engine.profiling.trace import TraceSlice, chrome_trace, lanes


@pytest.fixture
def patch(kernels: Kernels) -> Patch:
    """An array, scaled."""
    patch = Patch()
    data = patch.add("io.array", data=np.ones(3, np.float32))
    patch.connect(data["out"], patch.add("test_run.scale", node_id="scale")["x"])
    return patch


def test_a_trace_holds_each_frame_and_each_kernel_inside_it(patch: Patch) -> None:
    """A kernel's slice lies within its frame's, on the device's track."""
    with Engine(patch, device="host") as engine:
        slices = engine.trace(3)
    frames = [s for s in slices if s.name.startswith("frame ")]
    kernels = [s for s in slices if s.track == "host"]
    assert [s.name for s in frames] == ["frame 0", "frame 1", "frame 2"]
    assert [s.name for s in kernels] == ["scale: scale"] * 3
    for frame, kernel in zip(frames, kernels, strict=True):
        assert frame.start_ns <= kernel.start_ns
        assert kernel.start_ns + kernel.duration_ns <= frame.start_ns + frame.duration_ns
        assert kernel.details["grid"] == "(1, 1, 1)"


def test_a_trace_tells_the_phases_of_frames_and_updates(patch: Patch) -> None:
    """Phases follow each other within their frame; an update ends where the launch of its result begins."""
    with Engine(patch, device="host") as engine:
        first, second = engine.trace(1), engine.trace(1)
    frame, *phases = [s for s in first if s.track == "engine"]
    assert [s.name for s in phases] == ["update", "wait"]  # on the host, the device works during the launch
    assert frame.start_ns <= phases[0].start_ns
    for earlier, later in pairwise(phases):
        assert earlier.start_ns + earlier.duration_ns == later.start_ns
    assert phases[-1].start_ns + phases[-1].duration_ns <= frame.start_ns + frame.duration_ns
    (update,) = [s for s in first if s.track == "updates"]
    assert (update.name, update.details["cause"]) == ("COLD", "first build")
    assert update.start_ns + update.duration_ns == phases[1].start_ns
    assert not [s for s in second if s.track == "updates"]


def test_spans_of_a_loop_lie_side_by_side() -> None:
    """A repeated kernel of a loop is one slice, and slices of a track are nested or disjoint."""
    with Engine(small("nested"), device="host") as engine:
        slices = [s for s in engine.trace(2) if s.track.startswith("host")]
    assert any(s.name == "step: wave_velocity × 6" for s in slices)
    for track in {s.track for s in slices}:
        assert_nested([s for s in slices if s.track == track])


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=12))
def test_lanes_keep_apart_what_overlaps(times: list[tuple[int, int]]) -> None:
    """Spans that overlap have different lanes, and there are no more lanes than spans that run at once."""
    spans = [span(str(at), first_ns=first, busy_ns=length) for at, (first, length) in enumerate(times)]
    found = lanes(spans)
    ends = sorted({each.first_ns for each in spans})
    most = max((sum(each.first_ns <= at < each.last_ns for each in spans) for at in ends), default=0)
    assert set(found) <= set(range(max(most, 1)))
    for one, other in combinations(range(len(spans)), 2):
        if found[one] == found[other]:
            assert spans[one].last_ns <= spans[other].first_ns or spans[other].last_ns <= spans[one].first_ns


def test_a_region_shares_its_lane_with_what_is_inside() -> None:
    """Spans inside a region share its lane; another span at the same time has a lane of its own."""
    spans = [
        span("loop", first_ns=0, busy_ns=100, is_region=True),
        span("beside", first_ns=10, busy_ns=20),
        span("a", first_ns=5, busy_ns=80, region="loop"),
        span("b", first_ns=20, busy_ns=70, region="loop"),
        span("skipped", turns=0, busy_ns=0),
        span("after", first_ns=100, busy_ns=10),
    ]
    assert lanes(spans) == [0, 1, 0, 2, 0, 0]


def assert_nested(slices: list[TraceSlice]) -> None:
    """Check that any two slices are either nested or disjoint."""
    for one, other in combinations(sorted(slices, key=lambda s: (s.start_ns, -s.duration_ns)), 2):
        end_ns = one.start_ns + one.duration_ns
        assert other.start_ns >= end_ns or other.start_ns + other.duration_ns <= end_ns


def test_a_patch_with_mistakes_is_traced_as_it_runs(patch: Patch) -> None:
    """The block with the mistake keeps running unchanged, and its kernels are timed like the others."""
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.disconnect(patch["scale"]["x"])
        assert [s.name for s in engine.trace(1) if s.track == "host"] == ["scale: scale"]


def test_trace_events_are_in_microseconds_from_the_first_slice() -> None:
    """As in the Trace Event format, there is one complete event per slice and one name per track."""
    slices = [TraceSlice("gpu", "late", 5_000, 1_500, {"block": "b"}), TraceSlice("engine", "early", 2_000, 9_000)]
    events = json.loads(chrome_trace(slices))["traceEvents"]
    assert {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M"} == {"engine": 1, "gpu": 2}
    complete = [(e["name"], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert complete == [("early", 1, 0.0, 9.0), ("late", 2, 3.0, 1.5)]
    assert json.loads(chrome_trace([]))["traceEvents"] == []
