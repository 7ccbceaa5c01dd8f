"""The figures of the pages in design/: `python -m tests.benchmarks.bench_decisions [--device host|cuda:0]`.

Each table compares a decision with its alternatives in one run.
"""

import argparse
import gc
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

import msgspec
import numpy as np
from scipy import ndimage

from engine import Engine, Patch, ProfilingLevel, open_device
from engine.api import Moment, Value, ValueBlock, value_port
from engine.patch.changes import ParameterChanged
from engine.runtime.frame import gc_scheduler
from tests.benchmarks.bench_host import best
from tests.benchmarks.host_kernels.cases import cases, compile_ptx

RATE_HZ = 240
GC_SECONDS = 10


def numpy_twins() -> None:
    """Print the time of kernels on the host device against numpy's (scipy's) for the same work."""
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
        for _ in range(20):  # until the optimised code has taken over
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
    """Print memory and time of parallel chains, and of the same kernels in a row, where every buffer is shared."""
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


BEGUN_NS: list[int] = []


class FrameTimes(ValueBlock, id="bench.frame_times", category="Benchmarks"):
    """Record when each frame began."""

    out: Value[float] = value_port(doc="The number of frames.")

    def update(self, now: Moment) -> None:
        BEGUN_NS.append(time.perf_counter_ns())
        self.out = float(len(BEGUN_NS))


def garbage(live_objects: int = 200_000) -> None:
    """Print how late frames begin while another thread makes garbage, with each way of collecting it."""
    live = [[number] for number in range(live_objects)]
    for rate, name in itertools.product((2_000, 20_000, 100_000), ("automatic", "between frames")):
        held = gc_scheduler.COLLECTOR.hold
        if name == "automatic":
            gc_scheduler.COLLECTOR.hold = lambda gap: None  # type: ignore[method-assign]
        late = _lateness_ms(rate)
        gc_scheduler.COLLECTOR.hold = held  # type: ignore[method-assign]
        late.sort()
        missed = sum(item > 1e3 / RATE_HZ for item in late)
        missed_part, p99 = f"{missed} of {len(late)} frames a period late", late[int(len(late) * 0.99)]
        print(f"{rate:7} cycles a second   {name:15} {missed_part}, p99 {p99:.2f} ms, worst {late[-1]:.2f} ms")
    assert len(live) == live_objects


def _lateness_ms(rate: int) -> list[float]:
    patch = Patch()
    source = patch.add("buffer.constant", shape="1024")
    block = patch.add("math.scale_offset")
    patch.connect(source["out"], block["x"])
    times = patch.add("bench.frame_times")
    patch.connect(times["out"], block["scale"])
    BEGUN_NS.clear()
    stop = threading.Event()

    def make_garbage() -> None:
        recent: deque[list[Any]] = deque(maxlen=100_000)  # objects that live for a while make Python collect everything
        while not stop.is_set():
            for _ in range(rate // 1000):
                cycle: list[Any] = [{}]
                cycle[0]["self"] = cycle
                recent.append(cycle)
            time.sleep(0.001)

    with Engine(patch, "host", profiling=ProfilingLevel.NONE) as engine:
        engine.start(rate=RATE_HZ)
        maker = threading.Thread(target=make_garbage)
        maker.start()
        time.sleep(GC_SECONDS)
        stop.set()
        maker.join()
        engine.stop()
    gc.collect()
    period = 1e9 / RATE_HZ
    steady = BEGUN_NS[RATE_HZ:]
    return [(b - a - period) / 1e6 for a, b in itertools.pairwise(steady)]


def messages() -> None:
    """Print what it costs to encode and decode one slider's message."""
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
    for part in (numpy_twins, lambda: parallel_chains(device), garbage, messages):
        part()


if __name__ == "__main__":
    main()
