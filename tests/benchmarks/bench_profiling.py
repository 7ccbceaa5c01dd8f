"""The cost of measuring: the mean frame at each level beside frames that are not measured, alternating.

The first row is an engine without a profiler. While an engine waits for its turn, no sample becomes due.

python -m tests.benchmarks.bench_profiling --device host|cuda:0
"""

import argparse
import time
from collections.abc import Mapping
from contextlib import ExitStack
from statistics import median
from typing import Any

from tests.benchmarks.first_frame import chain
from warploom import Engine, ProfilingLevel, open_device
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.frame import FrameUniforms
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import GraphNode, Stream
from warploom.engine.profiling.statistics import Average

#: How long the frames of one level run in a row, and how often.
SLICE_S, ROUNDS = 0.15, 8
LEVELS = (ProfilingLevel.NONE, ProfilingLevel.SUMMARY, ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL)


class NoProfiler:
    """A replacement for the profiler that only launches."""

    level = ProfilingLevel.NONE
    operations: Mapping[GraphNode, int] | None = None
    every_frame = False
    waiting = ()

    def __init__(self, uniforms: FrameUniforms) -> None:
        self._uniforms = uniforms
        self.launch_ns = self.measured_ns = Average()

    def launch(self, compiled: CompiledGraph, stream: Stream, frame: int, begun_ns: int, **how: Any) -> None:
        """Launch the graph."""
        compiled.launch(stream, advance=how["advance"], uniforms=self._uniforms.current)

    def graph_changed(self) -> None:
        """Do nothing."""

    def let_go(self) -> None:
        """Do nothing."""

    def cost_since(self, time_ns: int) -> int:
        """Return no cost."""
        return 0

    def close(self) -> None:
        """Do nothing."""


def without_profiler(device: Device, length: int) -> Engine:
    """Return an engine whose frames have no profiler."""
    engine: Any = Engine(chain(length), device, profiling=ProfilingLevel.NONE)
    core = engine.core
    core.profiler.close()
    core.profiler = NoProfiler(core.context.services.uniforms)
    for user in (core.recorder, core._reporter, core.launcher):
        user._profiler = core.profiler
    return engine


class Turns:
    """An engine that runs frames for some time whenever it is its turn."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        engine.core.player.running = True
        engine.step()
        assert engine.core.updates.compiled is not None
        engine.core.updates.compiled.is_still = False  # makes each frame a launch
        self._ended_ns = time.perf_counter_ns()

    def mean_frame_us(self, seconds: float) -> float:
        """Return the mean time of a frame, over the frames of some time."""
        profiler: Any = self.engine.core.profiler
        if profiler.level:
            profiler.sampler.due_ns += time.perf_counter_ns() - self._ended_ns
        frame, frames, begin = self.engine.core.frame, 0, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            for _ in range(20):
                frame(free_running=True)
            frames += 20
        mean_us = (time.perf_counter() - begin) / frames * 1e6
        self._ended_ns = time.perf_counter_ns()
        return mean_us


def bench(device: Device, length: int) -> None:
    """Print the mean frame of a chain at each level, and its ratio to the frame without measuring."""
    with ExitStack() as opened:
        bare = Turns(opened.enter_context(without_profiler(device, length)))
        rows = [Turns(opened.enter_context(Engine(chain(length), device, profiling=level))) for level in LEVELS]
        for row in (bare, *rows):
            row.mean_frame_us(2 * SLICE_S)
        rounds = [[row.mean_frame_us(SLICE_S) for row in (bare, *rows)] for _ in range(ROUNDS)]
        bare_us, *columns = zip(*rounds, strict=True)
        ratio = median(none / without for without, none in zip(bare_us, columns[0], strict=True))
        told = [f"no profiler {median(bare_us):.1f} us (none is {ratio:.3f} x)"]
        for level, row, column in zip(LEVELS, rows, columns, strict=True):
            ratio = median(time_us / none for time_us, none in zip(column, columns[0], strict=True))
            profile = row.engine.core.profiler.profile()
            every = f", every {profile.every_ns / 1e6:.1f} ms" if level >= ProfilingLevel.PER_BLOCK else ""
            told.append(f"{level.name.lower()} {median(column):.1f} us ({ratio:.3f} x{every})")
    print(f"chain of {length:5}: " + "   ".join(told))


def main() -> None:
    """Print the table for the device on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    device = open_device(parser.parse_args().device)
    print(device.info.name, device.info.title)
    for length in (3, 20, 1000):
        bench(device, length)
    device.close()


if __name__ == "__main__":
    main()
