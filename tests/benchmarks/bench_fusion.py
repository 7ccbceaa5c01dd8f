"""The gain of fusion: a chain of blocks as one kernel, beside single kernels, a copy, and other compilers.

    python -m tests.benchmarks.bench_fusion --device host|cuda:0

torch, JAX and Numba take part where they are installed. Times are medians of one run.
"""

import argparse
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from statistics import median
from typing import Any

import numpy as np

from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.device import Device
from warploom.engine.ops import graph_to_json, parse_expression
from warploom.engine.patch.document import NodeRef

#: The chain: each operation uses the result of the previous one (x), and some use a second array (y).
OPERATIONS = ("x + y", "x * 1.001", "x - y", "max(x, -3.0)", "x * y")
LENGTH, SMALL_LENGTH, SMALL = 25, 20, 4096
REPEATS = 15
#: The expressions of the three blocks whose result is summed.
SUMMED = ("x * 1.5", "x - 0.25", "x * x")
#: How long other libraries may warm up.
SETTLE_S = 0.2


def texts(length: int) -> list[str]:
    """Return the operations of a chain, of which the first reads both arrays."""
    return [OPERATIONS[at % len(OPERATIONS)] for at in range(length)]


def chain(length: int, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[Patch, NodeRef]:
    """Return a patch with a block for each operation, and its last block."""
    patch = Patch()
    first = last = patch.add("io.array", data=x)
    second = patch.add("io.array", data=y)
    for text in texts(length):
        inputs = {"x": "f32", "y": "f32"} if "y" in text else {"x": "f32"}
        made = patch.add("kernel.graph", graph=graph_to_json(parse_expression(text, inputs=inputs)))
        patch.connect(last["out"], made["x"])
        if "y" in text:
            patch.connect(second["out"], made["y"])
        last = made
    assert last is not first
    return patch, last


def milliseconds(launch: Callable[[], object], wait: Callable[[], object], batch: int) -> float:
    """Return the time of a launch: the median of batches, which are each waited for once.

    Before that, it is launched until optimised code has replaced quickly compiled code.
    """
    settled, times = time.perf_counter() + SETTLE_S, []
    while time.perf_counter() < settled or any(thread.name == "warploom-optimiser" for thread in threading.enumerate()):
        launch()
        wait()
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(batch):
            launch()
        wait()
        times.append((time.perf_counter() - start) / batch)
    return median(times) * 1e3


def run_chain(device: Device, length: int, arrays: tuple[Any, Any], batch: int, *, fuse: bool) -> tuple[float, Any]:
    """Return the time of a launch of the chain, and its result."""
    patch, last = chain(length, *arrays)
    with Engine(patch, device, profiling=ProfilingLevel.NONE, fuse=fuse) as engine:
        report = engine.step()
        assert not report.diagnostics, report.diagnostics
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert isinstance(compiled, CompiledGraph)
        assert len(compiled.kernels) == (1 if fuse else length)
        return milliseconds(lambda: compiled.launch(stream), stream.synchronize, batch), engine.read(last["out"])


def sum_of_a_chain(patch: Patch, last: NodeRef) -> list[NodeRef]:
    """Sum an expression that three blocks compute of each element; return the reductions."""
    return [reduced(patch, "sum", computed(patch, last))]


def mean_and_variance(patch: Patch, last: NodeRef) -> list[NodeRef]:
    """Sum an expression that three blocks compute, and its squares."""
    made, square = computed(patch, last), patch.add("math.multiply")
    for port in "xy":
        patch.connect(made["out"], square[port])
    return [reduced(patch, "sum", made), reduced(patch, "sum", square)]


def compare_and_count(patch: Patch, last: NodeRef) -> list[NodeRef]:
    """Count the elements above 1."""
    made = patch.add("math.compare", operation="greater", value=1.0)
    patch.connect(last["out"], made["x"])
    return [reduced(patch, "count", made)]


def computed(patch: Patch, last: NodeRef) -> NodeRef:
    """Add three blocks in a row that compute one element each, and return the last one."""
    for text in SUMMED:
        made = patch.add("kernel.graph", graph=graph_to_json(parse_expression(text, inputs={"x": "f32"})))
        patch.connect(last["out"], made["x"])
        last = made
    return last


def reduced(patch: Patch, name: str, last: NodeRef) -> NodeRef:
    """Add a reduction behind a block."""
    made = patch.add(f"reduce.{name}")
    patch.connect(last["out"], made["x"])
    return made


#: Patches behind an array, and how many kernels they are when fused.
REDUCTIONS = {
    f"sum of {len(SUMMED)} operations": (sum_of_a_chain, 2),
    f"mean and variance of {len(SUMMED)} operations": (mean_and_variance, 3),
    "compare, then count": (compare_and_count, 2),
}


def run_reductions(
    device: Device, name: str, array: np.ndarray[Any, Any], batch: int, *, fuse: bool
) -> tuple[float, Any]:
    """Return the time of a launch of reductions, and their results."""
    patch = Patch()
    build, kernels = REDUCTIONS[name]
    totals = build(patch, patch.add("io.array", data=array))
    with Engine(patch, device, profiling=ProfilingLevel.NONE, fuse=fuse) as engine:
        report = engine.step()
        assert not report.diagnostics, report.diagnostics
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert isinstance(compiled, CompiledGraph)
        assert not fuse or len(compiled.kernels) == kernels
        taken = milliseconds(lambda: compiled.launch(stream), stream.synchronize, batch)
        return taken, [engine.read(total["out"]).tobytes() for total in totals]


def run_copy(device: Device, array: np.ndarray[Any, Any], batch: int) -> float:
    """Return the time of a copy of an array on the device."""
    source, target = device.allocate(array.nbytes), device.allocate(array.nbytes)
    graph, stream = device.create_graph(), device.create_stream()
    graph.add_copy(target, source, array.nbytes, ())
    executable = graph.instantiate()
    try:
        return milliseconds(lambda: executable.launch(stream), stream.synchronize, batch)
    finally:
        for used in (executable, graph, stream):
            used.destroy()
        source.free()
        target.free()


def evaluate(length: int, x: Any, y: Any, largest: Callable[[Any, Any], Any]) -> Any:
    """Evaluate the operations of a chain on arrays of another library."""
    for text in texts(length):
        x = eval(text, {"max": largest}, {"x": x, "y": y})  # the texts are this file's
    return x


def other_compilers(length: int, arrays: tuple[Any, Any], batch: int, *, on_gpu: bool) -> dict[str, float]:
    """Return the times of the same chain in each library that is installed."""
    found: dict[str, float] = {}
    if on_gpu:
        with suppress(ImportError):
            found |= _torch(length, arrays, batch)
        with suppress(ImportError):
            found |= _jax(length, arrays, batch)
    else:
        with suppress(ImportError):
            found |= _numba(length, arrays)
    return found


def _torch(length: int, arrays: tuple[Any, Any], batch: int) -> dict[str, float]:
    import torch

    x, y = (torch.from_numpy(array).cuda() for array in arrays)

    def eager() -> Any:
        return evaluate(length, x, y, lambda a, b: torch.clamp(a, min=b))

    captured, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        eager()
    torch.cuda.synchronize()
    with torch.cuda.graph(captured):
        kept = eager()
    wait = torch.cuda.synchronize
    times = {
        "torch eager": milliseconds(eager, wait, batch),
        "torch CUDA graph": milliseconds(captured.replay, wait, batch),
    }
    compiled = torch.compile(eager)
    with suppress(Exception):  # torch.compile needs Triton and a C compiler
        compiled()
        times["torch.compile"] = milliseconds(compiled, wait, batch)
    del kept
    return times


def _jax(length: int, arrays: tuple[Any, Any], batch: int) -> dict[str, float]:
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return {}
    x, y = map(jnp.asarray, arrays)
    compiled = jax.jit(lambda x, y: evaluate(length, x, y, jnp.maximum))
    results: list[Any] = []

    def launch() -> None:
        results[:] = [compiled(x, y)]

    return {"JAX jit": milliseconds(launch, lambda: results[0].block_until_ready(), batch)}


def _numba(length: int, arrays: tuple[Any, Any]) -> dict[str, float]:
    from numba import njit, prange

    # Numbers are arguments, since literals would make the chain f64.
    steps = [f"x = {text.replace('1.001', 'f').replace('-3.0', 'g')}" for text in texts(length)]
    lines = "\n".join(f"        {line}" for line in ("x, y = a[i], b[i]", *steps, "out[i] = x"))
    code = f"def run(a, b, out, f, g):\n    for i in prange(a.size):\n{lines}"
    names: dict[str, Any] = {"prange": prange, "np": np}
    exec(code, names)
    run, out = njit(parallel=True)(names["run"]), np.empty_like(arrays[0])
    numbers = np.float32(1.001), np.float32(-3.0)
    return {"numba njit(parallel)": milliseconds(lambda: run(*arrays, out, *numbers), lambda: None, 1)}


def compare(device: Device, count: int, length: int, batch: int, *, on_gpu: bool) -> None:
    """Print the times of a chain."""
    numbers = np.random.default_rng(5)
    arrays = numbers.uniform(0.5, 1.5, count).astype(np.float32), numbers.uniform(0.5, 1.5, count).astype(np.float32)
    fused, result = run_chain(device, length, arrays, batch, fuse=True)
    single, expected = run_chain(device, length, arrays, batch, fuse=False)
    same = np.array_equal(result.view(np.uint32), expected.view(np.uint32))
    print(f"\nchain of {length} over {count:,} f32: results {'equal bit for bit' if same else 'DIFFER'}")
    print(f"  fused                {fused:9.4f} ms")
    print(f"  a kernel each        {single:9.4f} ms  {single / fused:6.2f} x")
    if count > SMALL:
        least = 1.5 * run_copy(device, arrays[0], batch)
        print(f"  least (1.5 copies)   {least:9.4f} ms  fused takes {fused / least:.2f} x of it")
    for name, taken in other_compilers(length, arrays, batch, on_gpu=on_gpu).items():
        print(f"  {name:20} {taken:9.4f} ms  {taken / fused:6.2f} x")


def compare_reductions(device: Device, name: str, count: int, batch: int) -> None:
    """Print the times of reductions, both separate and fused with each other and the blocks before them."""
    array = np.random.default_rng(5).uniform(0.5, 1.5, count).astype(np.float32)
    fused, result = run_reductions(device, name, array, batch, fuse=True)
    single, expected = run_reductions(device, name, array, batch, fuse=False)
    print(f"\n{name} over {count:,} f32: {'equal bit for bit' if result == expected else 'DIFFERS'}")
    print(f"  fused                {fused:9.4f} ms  {4e-9 * count / fused:6.2f} TB/s")
    print(f"  a kernel each        {single:9.4f} ms  {single / fused:6.2f} x")


def main() -> None:
    """Print all tables for the device on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--count", type=int, default=0, help="elements of the large chain")
    options = parser.parse_args()
    with closing(open_device(options.device)) as device:
        on_gpu = device.info.name != "host"
        print(f"device: {device.info.name}")
        count, batch = options.count or (1 << 26 if on_gpu else 1 << 24), 10 if on_gpu else 1
        compare(device, count, LENGTH, batch, on_gpu=on_gpu)
        for name in REDUCTIONS:
            compare_reductions(device, name, count, batch)
        compare(device, SMALL, SMALL_LENGTH, 1, on_gpu=on_gpu)


if __name__ == "__main__":
    main()
