"""Tracing: frames and their phases on the engine's track, updates, and every kernel, fill and copy of the device."""

import time
from collections.abc import Iterator

from warploom.engine.diagnostics import WarploomError
from warploom.engine.profiling.critical_path import critical_path
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import SpanProfile
from warploom.engine.profiling.trace import TraceSlice, lanes
from warploom.engine.protocol.messages import FrameReport
from warploom.engine.runtime.frame.cuda_engine import CudaEngine


def trace_frames(engine: CudaEngine, frames: int) -> list[TraceSlice]:
    """Run `frames` frames, measure each kernel in every frame, and return the times.

    Times of the device are measured from the launch, so the tracks line up to within the time of a launch. Parallel
    work is on several tracks of the device. A span in a loop has one slice for all turns. Raise WarploomError if the
    kernels can't be measured.
    """
    profiler = engine.profiler
    level = profiler.level
    engine.launcher.settle()  # the copy of the graph for the present level is dropped
    profiler.set_level(ProfilingLevel.PER_KERNEL)
    profiler.every_frame = True
    slices: list[TraceSlice] = []
    try:
        for _ in range(frames):
            start_ns = time.perf_counter_ns()
            report = engine.frame()
            if problems := engine.updates.diagnostics.measuring:
                raise WarploomError("; ".join(problem.message for problem in problems))
            slices += _engine_slices(engine, report, start_ns, time.perf_counter_ns())
            profile = profiler.profile()
            if profile.frame == report.frame:
                slices += _device_slices(engine, profile.spans)
    finally:
        profiler.every_frame = False
        profiler.set_level(level)
    return slices


def _engine_slices(engine: CudaEngine, report: FrameReport, start_ns: int, end_ns: int) -> Iterator[TraceSlice]:
    """Yield the slices of a frame, its phases, and the updates that took effect in it."""
    details: dict[str, str | int] = {"frame": report.frame, "update": report.update_level.name}
    yield TraceSlice("engine", f"frame {report.frame}", start_ns, end_ns - start_ns, details)
    row = engine.recorder.record().frames[-1]
    at_ns = int(row["began"])
    for name, column in (("update", "before"), ("launch", "launch"), ("wait", "wait")):
        duration_ns = int(row[column])
        if duration_ns:
            yield TraceSlice("engine", name, at_ns, duration_ns)
        at_ns += duration_ns
        if name == "update":
            for update in report.updates:
                said: dict[str, str | int] = {"cause": update.cause, "source": update.source}
                yield TraceSlice("updates", update.level.name, at_ns - update.cost_ns, update.cost_ns, said)


def _device_slices(engine: CudaEngine, spans: tuple[SpanProfile, ...]) -> Iterator[TraceSlice]:
    device, slack_ns = engine.device.info.name, critical_path(spans).slack_ns
    for span, lane, spare_ns in zip(spans, lanes(spans), slack_ns, strict=True):
        if not span.turns:
            continue
        start_ns = engine.profiler.launched_ns + span.first_ns
        details: dict[str, str | int] = {"block": span.node, "slack_ns": spare_ns}
        name = f"{span.node}: {span.name}" if span.node else span.name
        if span.turns > 1:
            details |= {"turns": span.turns, "busy_ns": span.busy_ns}
            name += f" × {span.turns}"
        if (kernel := span.kernel) is not None:
            details |= {"grid": str(kernel.grid), "thread_block": str(kernel.thread_block)}
            if kernel.registers is not None and kernel.occupancy is not None:
                details |= {"registers": kernel.registers, "occupancy": f"{kernel.occupancy:.0%}"}
        track = f"{device}, side by side {lane}" if lane else device
        yield TraceSlice(track, name, start_ns, span.last_ns - span.first_ns, details)
