"""Tracing: frames on the engine's track, and every kernel, fill and copy on the device's."""

import time

from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.descriptions.entries import KernelEntry
from engine.profiling.levels import ProfilingLevel
from engine.profiling.trace import TraceSlice
from engine.runtime.frame.cuda_engine import CudaEngine


def trace_frames(engine: CudaEngine, frames: int) -> list[TraceSlice]:
    """Run `frames` frames at the per-kernel level and return what took time in each.

    Times of the device are measured from the launch, so both tracks line up to within the time of a launch.
    """
    engine.updates.set_profiling(ProfilingLevel.PER_KERNEL)
    slices: list[TraceSlice] = []
    for _ in range(frames):
        start_ns = time.perf_counter_ns()
        report = engine.frame()
        duration_ns = time.perf_counter_ns() - start_ns
        details: dict[str, str | int] = {"frame": report.frame, "update": report.update_level.name}
        slices.append(TraceSlice("engine", f"frame {report.frame}", start_ns, duration_ns, details))
        if engine.updates.compiled is not None:
            slices += _device_slices(engine, engine.updates.compiled)
    return slices


def _device_slices(engine: CudaEngine, compiled: CompiledGraph) -> list[TraceSlice]:
    slices = []
    launches = {kernel.operation: kernel.kernel.kernel.fit(kernel.config) for kernel in compiled.kernels}
    for label, (offset_ns, duration_ns) in compiled.span_intervals(engine.graph_start).items():
        node, _, index = label.partition("#")
        start_ns = engine.launched_ns + offset_ns
        if not index:  # a patch with errors runs on as it was built, with whole blocks timed
            slices.append(TraceSlice(engine.device.info.name, node, start_ns, duration_ns, {"block": node}))
            continue
        operation = compiled.plan.operations[int(index)]
        entry = operation.entry
        name = entry.kernel.entry if isinstance(entry, KernelEntry) else type(entry).__name__.removesuffix("Entry")
        details: dict[str, str | int] = {"block": node}
        launch = launches.get(int(index))
        if launch is not None:
            details |= {"grid": str(launch.grid), "thread_block": str(launch.thread_block)}
        slices.append(TraceSlice(engine.device.info.name, f"{node}: {name}", start_ns, duration_ns, details))
    return slices
