"""The gain of programmatic edges: chains of kernels, and examples, with programmatic and with plain edges.

    python -m tests.benchmarks.bench_edges --device cuda:0

A chain is launched and waited for. The bare graph has plain edges and is made by driver calls alone; torch replays its
own CUDAGraph, if torch is installed. All compute out = a * x + y of 1024 elements in each kernel. Times are medians.
Each call is made 30 times in a row, as by an engine, and the rows of different calls alternate, so that ratios hold
within one run.
"""

import argparse
import ctypes
import random
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from cuda.bindings import driver

from tests.benchmarks.bench_frame import EXAMPLES
from tests.benchmarks.first_frame import chain
from warploom import Engine, ProfilingLevel, open_device
from warploom.engine.device.cuda.errors import check
from warploom.engine.patch.files import load_patch

SETTLE_S = 0.5
#: The number of calls in a row, and how many of the first are not counted.
TURN, SKIPPED = 30, 3
LENGTHS = (3, 10, 20, 100, 1000)
NAMES = ("particles", "photo", "mandelbrot", "jacobi")
#: out = a * x + y, as in `kernels/saxpy.cu`.
_PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .u64 out, .param .f32 a, .param .u32 n) {
    .reg .b64 %x<4>; .reg .b32 %i<5>; .reg .f32 %f<3>; .reg .pred %p;
    ld.param.u32 %i4, [n];
    mov.u32 %i0, %ctaid.x; mov.u32 %i1, %ntid.x; mov.u32 %i2, %tid.x; mad.lo.u32 %i3, %i0, %i1, %i2;
    setp.ge.s32 %p, %i3, %i4; @%p ret;
    ld.param.u64 %x0, [x]; ld.param.u64 %x1, [y]; ld.param.u64 %x2, [out]; ld.param.f32 %f0, [a];
    mul.wide.s32 %x3, %i3, 4; add.u64 %x0, %x0, %x3; add.u64 %x1, %x1, %x3; add.u64 %x2, %x2, %x3;
    ld.global.nc.f32 %f1, [%x0]; ld.global.nc.f32 %f2, [%x1];
    fma.rn.f32 %f1, %f0, %f1, %f2; st.global.f32 [%x2], %f1; ret;
}
"""


def bare_chain(length: int) -> Callable[[], object]:
    """Return a function that launches `first_frame.chain` with plain edges, by driver calls alone, and waits for it."""
    module = check(driver.cuModuleLoadData(_PTX.encode() + b"\0"), "loading")
    function = check(driver.cuModuleGetFunction(module, b"saxpy"), "finding")
    source, *turns = (ctypes.c_uint64(int(check(driver.cuMemAlloc(4096), "allocating"))) for _ in range(3))
    factor, count = ctypes.c_float(1.0), ctypes.c_int(1024)
    graph, before = check(driver.cuGraphCreate(0), "making a graph"), []
    for index in range(length):
        values = (turns[index % 2 - 1] if index else source, source, turns[index % 2], factor, count)
        addresses = (ctypes.c_void_p * 5)(*map(ctypes.addressof, values))
        work = driver.CUDA_KERNEL_NODE_PARAMS()
        work.func, work.kernelParams = function, ctypes.addressof(addresses)
        work.gridDimX, work.blockDimX = 4, 256
        work.gridDimY = work.gridDimZ = work.blockDimY = work.blockDimZ = 1
        before = [check(driver.cuGraphAddKernelNode(graph, before, len(before), work), "adding")]
    executable = check(driver.cuGraphInstantiate(graph, 0), "instantiating")
    stream = check(driver.cuStreamCreate(1), "making a stream")

    def run() -> None:
        driver.cuGraphLaunch(executable, stream)
        driver.cuStreamSynchronize(stream)

    return run


def torch_chain(length: int) -> Callable[[], object] | None:
    """Return a function that replays torch's graph of the same chain and waits for it; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    source = torch.ones(1024, device="cuda")
    for _ in range(3):
        torch.add(source, source, alpha=1.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = source
        for _ in range(length):
            output = torch.add(source, output, alpha=1.0)

    def run() -> None:
        graph.replay()
        torch.cuda.synchronize()

    return run


def launch(engine: Engine) -> None:
    """Launch an engine's graph and wait for its end, without the rest of a frame."""
    compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
    assert compiled is not None
    compiled.launch(stream)
    stream.synchronize()


def medians(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median time of each call in microseconds; rows of `TURN` calls alternate in random order."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    while len(times[order[0]]) < repeats:
        random.shuffle(order)
        for name in order:
            call = calls[name]
            for number in range(TURN):
                start = time.perf_counter()
                call()
                took = time.perf_counter() - start
                if number >= SKIPPED:  # the calls before fill the caches
                    times[name].append(took)
    return {name: median(found) * 1e6 for name, found in times.items()}


def settle(calls: Iterable[Callable[[], object]]) -> None:
    """Make calls until optimised code has replaced quickly compiled code."""
    until = time.perf_counter() + SETTLE_S
    while time.perf_counter() < until or any(thread.name == "warploom-optimiser" for thread in threading.enumerate()):
        for call in calls:
            call()


def row(label: str, times: dict[str, float], base: str) -> None:
    """Print times, each with its ratio to that of `base`."""
    print(f"{label:>12}", *(f"  {name} {found:8.1f} us {found / times[base]:5.2f} x" for name, found in times.items()))


def main() -> None:
    """Print all tables for the device on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda:0")
    name = parser.parse_args().device
    print(open_device(name).info.title)
    for length in LENGTHS:
        with ExitStack() as opened:
            engines = {
                label: opened.enter_context(
                    Engine(chain(length), name, profiling=ProfilingLevel.NONE, fuse=False, plain_edges=plain)
                )
                for label, plain in (("plain edges", True), ("programmatic", False))
            }
            calls: dict[str, Callable[[], object]] = {"bare": bare_chain(length)}
            if replay := torch_chain(length):
                calls["torch"] = replay
            for label, engine in engines.items():
                engine.step()
                calls[f"frame, {label}"] = engine.step
                calls[f"launch, {label}"] = partial(launch, engine)
            row(f"{length} kernels", medians(calls, 900 if length <= 100 else 180), "bare")
    for example in NAMES:
        with ExitStack() as opened:
            calls = {}
            for label, plain in (("plain edges", True), ("programmatic", False)):
                patch = load_patch(Path(EXAMPLES) / f"{example}.loom")
                engine = opened.enter_context(Engine(patch, name, profiling=ProfilingLevel.NONE, plain_edges=plain))
                calls[label] = engine.step
            settle(calls.values())
            row(example, medians(calls, 300), "plain edges")


if __name__ == "__main__":
    main()
