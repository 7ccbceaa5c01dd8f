"""What measuring costs: the mean frame at each level, against frames that are not measured, in turns.

python -m tests.benchmarks.bench_profiling --device host|cuda:0
"""

import argparse
import time
from contextlib import ExitStack
from statistics import median

from engine import Engine, ProfilingLevel, open_device
from engine.device.device import Device
from tests.benchmarks.first_frame import chain

#: How long the frames of one level run at a time, and how often.
SLICE_S, ROUNDS = 0.15, 8
LEVELS = (ProfilingLevel.NONE, ProfilingLevel.SUMMARY, ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL)


def mean_frame_us(engine: Engine, seconds: float) -> float:
    """Return the mean time of a frame, over frames that run for so long."""
    frame, frames, begin = engine.core.frame, 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for _ in range(20):
            frame(free_running=True)
        frames += 20
    return (time.perf_counter() - begin) / frames * 1e6


def bench(device: Device, length: int) -> None:
    """Print the mean frame of a chain at each level, and its ratio to that without measuring."""
    with ExitStack() as opened:
        engines = [opened.enter_context(Engine(chain(length), device, profiling=level)) for level in LEVELS]
        for engine in engines:
            engine.core.running = True
            engine.step()
            assert engine.core.updates.compiled is not None
            engine.core.updates.compiled.is_still = False  # so that each frame is launched
            mean_frame_us(engine, 2 * SLICE_S)
        rounds = [[mean_frame_us(engine, SLICE_S) for engine in engines] for _ in range(ROUNDS)]
        told = []
        for level, engine, column in zip(LEVELS, engines, zip(*rounds, strict=True), strict=True):
            ratio = median(time_us / row[0] for time_us, row in zip(column, rounds, strict=True))
            profile = engine.core.profiler.profile()
            every = f", every {profile.every_ns / 1e6:.1f} ms" if level >= ProfilingLevel.PER_BLOCK else ""
            told.append(f"{level.name.lower()} {median(column):.1f} us ({ratio:.3f} x{every})")
    print(f"chain of {length:5}: " + "   ".join(told))


def main() -> None:
    """Run it on the device named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    device = open_device(parser.parse_args().device)
    print(device.info.name, device.info.title)
    for length in (3, 20, 1000):
        bench(device, length)
    device.close()


if __name__ == "__main__":
    main()
