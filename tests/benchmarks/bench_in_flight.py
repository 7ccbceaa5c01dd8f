"""Frames a second of the engine's thread at full speed: with a wait for each (latency), or overlapping (throughput).

    python -m tests.benchmarks.bench_in_flight --device cuda:0

The two alternate; ratios compare medians within this one run. Reports are taken 60 times a second, as an editor does.
"""

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np

from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.device.device import Device
from warploom.engine.patch.files import load_patch
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.sampling import ObservePorts, picture_of

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
SECONDS, TURNS = 0.25, 5


def chain(length: int) -> Patch:
    """Return a patch of `length` saxpy blocks in a row that read state, so that no frame repeats the previous one."""
    patch = Patch()
    output = patch.add("buffer.state", shape="1024")["out"]
    ones = patch.add("io.array", data=np.ones(1024, np.float32))["out"]
    for _ in range(length):
        block = patch.add("math.saxpy", a=1.0)
        patch.connect(output, block["x"])
        patch.connect(ones, block["y"])
        output = block["out"]
    return patch


def frames_per_second(engine: Engine, *, overlap: bool) -> float:
    """Return the number of frames a second over some seconds."""
    engine.start(pacing=Pacing.free(overlap=overlap))
    time.sleep(0.05)
    before, start = engine.core.launcher.launches, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SECONDS:
        engine.take_report()
        engine.take_sample("viewer")
        time.sleep(1 / 60)
    rate = (engine.core.launcher.launches - before) / elapsed
    engine.stop()
    return rate


def bench(device: Device, name: str, patch: Patch, profiling: ProfilingLevel) -> None:
    """Print the frames a second of a patch with each pacing, and of steps by hand."""
    with Engine(patch, device, profiling=profiling) as engine:
        engine.step()
        engine.post(ObservePorts({"viewer": picture_of("viewer", (512, 512), 60.0)}))  # in patches that have the viewer
        steps = []
        for _ in range(200):
            start = time.perf_counter()
            engine.step()
            steps.append(time.perf_counter() - start)
        rates: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(TURNS):
            for overlap, found in rates.items():
                found.append(frames_per_second(engine, overlap=overlap))
        compiled = engine.core.updates.compiled
        assert compiled is not None
        kernels = len(compiled.kernels)
    latency, throughput = median(rates[False]), median(rates[True])
    print(
        f"{name:22} {kernels:5} kernels   by hand {1 / median(steps):8.0f} a second   latency {latency:8.0f}   "
        f"throughput {throughput:8.0f} ({throughput / latency:.2f} x, {1e6 / throughput:.1f} us a frame)",
        flush=True,
    )


def main() -> None:
    """Print all rows for the device on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("--brief", action="store_true", help="only the chains of 3 to 100, and particles")
    options = parser.parse_args()
    device = open_device(options.device)
    print(device.info.name, device.info.title)
    none, per_block = ProfilingLevel.NONE, ProfilingLevel.PER_BLOCK
    for length in (3, 10, 20, 100) if options.brief else (3, 10, 20, 100, 1000):
        bench(device, f"chain of {length}", chain(length), none)
    if not options.brief:
        bench(device, "chain of 10, profiled", chain(10), per_block)
    for name in ("particles",) if options.brief else ("particles", "feedback"):
        bench(device, name, load_patch(EXAMPLES / f"{name}.loom"), none)
    device.close()


if __name__ == "__main__":
    main()
