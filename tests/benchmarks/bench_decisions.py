"""The figures of the pages in design/: `python -m tests.benchmarks.bench_decisions [--device host|cuda:0]`.

Each table compares a decision with its alternatives in one run.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import msgspec
import numpy as np
from scipy import ndimage

from tests.benchmarks.bench_host import best
from tests.benchmarks.host_kernels.cases import cases, compile_ptx
from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.patch.changes import ParameterChanged


def numpy_twins() -> None:
    """Print the time of kernels on the host device beside numpy's (or scipy's) for the same work."""
    twins: dict[str, Callable[..., Any]] = {
        "saxpy": lambda x, y, out, a, n: np.add(np.multiply(x, a, out=out), y, out=out),
        "nbody": _nbody,
        "conv5": lambda x, k, out, w, h: ndimage.correlate(x, k, out, mode="nearest"),
        "histogram": lambda x, bins, n: np.bincount(x, minlength=256),
        "reduce": lambda x, out, n: np.add.reduce(x.reshape(-1, 256), axis=1, out=out),
    }
    device = open_device("host")
    module = device.load_module(compile_ptx())
    for name, case in cases().items():
        if name not in twins:
            continue
        kernel, grid, thread_block, values = module.kernel(case.kernel), case.grid, case.thread_block, case.values
        given = [device.upload(item) if isinstance(item, np.ndarray) else item for item in values]
        for _ in range(20):  # until optimised code has replaced quick code
            device.launch(kernel, grid=grid, thread_block=thread_block, args=given)
            time.sleep(0.05)
        host, twin = best(
            lambda k=kernel, g=grid, t=thread_block, a=given: device.launch(k, grid=g, thread_block=t, args=a),  # type: ignore[misc]
            lambda f=twins[name], v=values: f(*v),  # type: ignore[misc]
        )
        print(f"{name:10} host {host:8.3f} ms   numpy {twin:8.3f} ms   numpy / host {twin / host:6.2f}")
    device.close()


def _nbody(points: np.ndarray[Any, Any], out: np.ndarray[Any, Any], count: int) -> None:
    for row in range(0, count, 256):
        away = points[None, :, :3] - points[row : row + 256, None, :3]
        inverse = 1 / np.sqrt((away * away).sum(-1) + np.float32(1e-3))
        out[row : row + 256, :3] = (away * (points[None, :, 3] * inverse**3)[..., None]).sum(1)


def parallel_chains(device: str, chains: int = 8, length: int = 12) -> None:
    """Print the memory and time of parallel chains, and of the same kernels in one chain, which share all memory."""
    for name, shape in (("parallel", (chains, length)), ("in a row", (1, chains * length))):
        patch = Patch()
        for _ in range(shape[0]):
            output = patch.add("buffer.constant", shape="65536", value=1.0)["out"]
            for _ in range(shape[1]):
                block = patch.add("math.scale_offset", scale=0.5)
                patch.connect(output, block["x"])
                output = block["out"]
        with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
            times = []
            for _ in range(200):
                start = time.perf_counter_ns()
                engine.step()
                times.append(time.perf_counter_ns() - start)
            used = engine.step().statistics.pool_used_bytes
            print(f"{name:10} {median(times) / 1e3:8.1f} us a frame   {used / 2**20:6.2f} MB")


def messages() -> None:
    """Print the cost of encoding and decoding one slider's message."""
    change = ParameterChanged("forces", "gravity", -4.0, -9.81)
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(ParameterChanged)
    data = encoder.encode(change)
    start = time.perf_counter_ns()
    for _ in range(10_000):
        decoder.decode(encoder.encode(change))
    print(f"encode and decode a slider's message: {(time.perf_counter_ns() - start) / 1e7:.2f} us, {len(data)} bytes")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="host")
    device = parser.parse_args().device
    for part in (numpy_twins, lambda: parallel_chains(device), messages):
        part()


if __name__ == "__main__":
    main()
