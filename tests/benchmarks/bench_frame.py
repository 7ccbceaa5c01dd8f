"""The cost of a frame: the engine's frame beside bare launches of the same graph, and each update level.

    python -m tests.benchmarks.bench_frame --device host|cuda:0 [--first-frame]

Times are medians; ratios compare within this one run. With --first-frame, only the first frame of 1000 blocks is
measured, phase by phase, in separate processes.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.benchmarks.first_frame import chain, print_first_frames
from warploom import Engine, ProfilingLevel, open_device
from warploom.engine.device.device import Device
from warploom.engine.patch.files import load_patch

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"


def milliseconds(call: Callable[[], object], repeats: int) -> float:
    """Return the median time of `call` in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times) * 1e3


def bench_chain(device: Device, length: int) -> None:
    """Print the frame time of a chain, that of its bare launch and of a moved slider, and the time of its build."""
    patch = chain(length)
    start = time.perf_counter()
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        engine.step()
        first = (time.perf_counter() - start) * 1e3
        compiled = engine.core.updates.compiled
        stream = engine.core.launcher.stream
        assert compiled is not None

        def bare() -> None:
            compiled.launch(stream)
            stream.synchronize()

        def slider() -> None:
            slider.value += 1e-3  # type: ignore[attr-defined]
            patch.set("saxpy", gesture="drag", a=slider.value)  # type: ignore[attr-defined]
            engine.step()

        slider.value = 1.0  # type: ignore[attr-defined]
        repeats = 300 if length <= 100 else 50
        launch, frame, moved = (milliseconds(call, repeats) for call in (bare, engine.step, slider))
    print(
        f"chain of {length:5}: first frame {first:9.1f} ms   bare launch {launch:8.4f} ms   frame {frame:8.4f} ms "
        f"({frame / launch:.2f} x)   with a slider {moved:8.4f} ms"
    )


def bench_example(device: Device, name: str, frames: int) -> None:
    """Print an example's frame time and its frames a second."""
    patch = load_patch(EXAMPLES / f"{name}.loom")
    for level in (ProfilingLevel.NONE, ProfilingLevel.PER_BLOCK):
        with Engine(patch, device, profiling=level) as engine:
            for _ in range(10):
                report = engine.step()
            frame = milliseconds(engine.step, frames)
            report = engine.step()
        nodes = ", ".join(f"{k} {v.time_ns / 1e6:.3f}" for k, v in report.nodes.items() if v.time_ns is not None)
        print(f"{name:10} {level.name.lower():10} {frame:8.3f} ms a frame = {1e3 / frame:7.1f} a second   {nodes}")


def main() -> None:
    """Run every benchmark on the device named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--first-frame", action="store_true", help="tell what the first frame of 1000 blocks costs")
    parser.add_argument("--processes", type=int, default=5, help="how many fresh processes measure the first frame")
    asked = parser.parse_args()
    if asked.first_frame:
        print_first_frames(asked.device, asked.processes)
        return
    device = open_device(asked.device)
    print(device.info.name, device.info.title)
    for length in (3, 10, 20, 100, 1000):
        bench_chain(device, length)
    for name in ("particles", "photo"):
        bench_example(device, name, 100)
    device.close()


if __name__ == "__main__":
    main()
