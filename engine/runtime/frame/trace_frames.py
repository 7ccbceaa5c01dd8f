"""Tracing: frames on the engine's track, and every kernel, fill and copy on the device's."""

import time

from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.profiling.levels import ProfilingLevel
from engine.profiling.profile import SpanProfile
from engine.profiling.trace import TraceSlice
from engine.runtime.frame.cuda_engine import CudaEngine


def trace_frames(engine: CudaEngine, frames: int) -> list[TraceSlice]:
    """Run `frames` frames, measure each kernel in every one of them, and return what took time in each.

    Times of the device are measured from the launch, so both tracks line up to within the time of a launch. What is in
    a loop has one slice for all its turns.
    """
    profiler = engine.profiler
    level = profiler.level
    engine.settle()  # the present level's copy of the graph goes
    profiler.set_level(ProfilingLevel.PER_KERNEL)
    profiler.every_frame = True
    slices: list[TraceSlice] = []
    try:
        for _ in range(frames):
            start_ns = time.perf_counter_ns()
            report = engine.frame()
            duration_ns = time.perf_counter_ns() - start_ns
            details: dict[str, str | int] = {"frame": report.frame, "update": report.update_level.name}
            slices.append(TraceSlice("engine", f"frame {report.frame}", start_ns, duration_ns, details))
            profile, compiled = profiler.profile(), engine.updates.compiled
            if compiled is not None and profile.frame == report.frame:
                slices += _device_slices(engine, compiled, profile.spans)
    finally:
        profiler.every_frame = False
        profiler.set_level(level)
    return slices


def _device_slices(engine: CudaEngine, compiled: CompiledGraph, spans: tuple[SpanProfile, ...]) -> list[TraceSlice]:
    slices = []
    launches = {kernel.operation: kernel.kernel.kernel.fit(kernel.config) for kernel in compiled.kernels}
    for span in spans:
        if not span.turns:
            continue
        start_ns = engine.profiler.launched_ns + span.first_ns
        details: dict[str, str | int] = {"block": span.node}
        if span.turns > 1:
            details |= {"turns": span.turns, "busy_ns": span.busy_ns}
        launch = launches.get(span.operation)
        if launch is not None:
            details |= {"grid": str(launch.grid), "thread_block": str(launch.thread_block)}
        name = f"{span.node}: {span.name}" if span.node else span.name
        duration_ns = span.last_ns - span.first_ns
        slices.append(TraceSlice(engine.device.info.name, name, start_ns, duration_ns, details))
    return slices
