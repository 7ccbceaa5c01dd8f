"""A trace holds every frame and every launch in it, where and when they were."""

import json

import numpy as np
import pytest

from engine import Engine, Patch
from engine.profiling.trace import TraceSlice, chrome_trace
from tests.runtime.conftest import Kernels


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
    frames = [s for s in slices if s.track == "engine"]
    kernels = [s for s in slices if s.track == "host"]
    assert [s.name for s in frames] == ["frame 0", "frame 1", "frame 2"]
    assert [s.name for s in kernels] == ["scale: scale"] * 3
    for frame, kernel in zip(frames, kernels, strict=True):
        assert frame.start_ns <= kernel.start_ns
        assert kernel.start_ns + kernel.duration_ns <= frame.start_ns + frame.duration_ns
        assert kernel.details["grid"] == "(1, 1, 1)"


def test_a_patch_with_mistakes_is_traced_as_it_runs(patch: Patch) -> None:
    """The block with the mistake runs on as it was, and its kernels are timed like the others."""
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.disconnect(patch["scale"]["x"])
        assert [s.name for s in engine.trace(1) if s.track == "host"] == ["scale: scale"]


def test_trace_events_are_in_microseconds_from_the_first_slice() -> None:
    """There is one complete event for each slice and one name for each track, as in the Trace Event format."""
    slices = [TraceSlice("gpu", "late", 5_000, 1_500, {"block": "b"}), TraceSlice("engine", "early", 2_000, 9_000)]
    events = json.loads(chrome_trace(slices))["traceEvents"]
    assert {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M"} == {"engine": 1, "gpu": 2}
    complete = [(e["name"], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X"]
    assert complete == [("early", 1, 0.0, 9.0), ("late", 2, 3.0, 1.5)]
    assert json.loads(chrome_trace([]))["traceEvents"] == []
