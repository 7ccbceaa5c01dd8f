"""The cost that a patch adds to library calls: one large call beside the bare call, 100 small ones beside CuPy.

    python -m tests.benchmarks.bench_libraries --device host|cuda:0

CuPy takes part where it is installed. Times are medians of one run.
"""

import argparse
from collections.abc import Callable
from contextlib import closing, suppress

import numpy as np

from tests.benchmarks.bench_fusion import milliseconds
from warploom import Engine, Patch, ProfilingLevel, open_device
from warploom.engine.device.device import Device
from warploom.engine.libraries.backend import open_libraries
from warploom.engine.libraries.blas import Gemm
from warploom.engine.libraries.call import BoundCall, LibraryCall, OperandMemory
from warploom.engine.libraries.fft import Fft
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array, dtype_of
from warploom.engine.types.layout import Layout

#: The number of small calls in a row, and the sizes of their matrices.
CALLS, SMALL = 100, 64


def in_a_patch(device: Device, patch: Patch, batch: int) -> float:
    """Return the time of a patch's frame, of which only the launch is timed."""
    with Engine(patch, device, profiling=ProfilingLevel.NONE) as engine:
        report = engine.step()
        assert not report.diagnostics, report.diagnostics
        compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
        assert compiled is not None
        return milliseconds(lambda: compiled.launch(stream), stream.synchronize, batch)


def alone(device: Device, call: LibraryCall, inputs: dict[str, Array], batch: int) -> float:
    """Return the time of a bare library call on a stream."""
    layouts = {slot: Layout(dtype_of(array), array.shape) for slot, array in inputs.items()}
    operands = {slot: OperandMemory(device.upload(array).memory, layouts[slot]) for slot, array in inputs.items()}
    for slot, layout in call.results(layouts).items():
        operands[slot] = OperandMemory(device.allocate(layout.size_bytes), layout)
    with closing(open_libraries(device)) as libraries:
        bound = BoundCall(call, operands, dict(call.numbers))
        workspace = device.allocate(max(libraries.workspace_bytes(call, bound.layouts), 1))
        issue, stream = libraries.bind([bound], workspace), device.create_stream()
        time = milliseconds(lambda: issue(stream), stream.synchronize, batch)
    for used in (*(operand.memory for operand in operands.values()), workspace):
        used.free()
    return time


def product_patch(a: Array, b: Array, count: int) -> Patch:
    """Return a patch that multiplies `a` by `b`, the result by `b` again, and so on."""
    patch = Patch()
    last: NodeRef = patch.add("io.array", data=a)
    factor = patch.add("io.array", data=b)
    for _ in range(count):
        made = patch.add("linalg.multiply")
        patch.connect(last["out"], made["a"])
        patch.connect(factor["out"], made["b"])
        last = made
    return patch


def transform_patch(x: Array) -> Patch:
    """Return a patch with one FFT."""
    patch = Patch()
    patch.connect(patch.add("io.array", data=x)["out"], patch.add("signal.fft")["x"])
    return patch


def with_cupy(a: Array, b: Array) -> float:
    """Return the time of the small products as single calls of CuPy."""
    import cupy

    x, y = cupy.asarray(a), cupy.asarray(b)
    out = [cupy.empty_like(x) for _ in range(2)]

    def run() -> None:
        last = x
        for index in range(CALLS):
            cupy.matmul(last, y, out=out[index % 2])
            last = out[index % 2]

    return milliseconds(run, cupy.cuda.Device().synchronize, 1)


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    rng = np.random.default_rng(0)
    with closing(open_device(parser.parse_args().device)) as device:
        on_gpu = device.info.name != "host"
        print(device.info.title)
        products = (("float32", 4096), ("float16", 8192)) if on_gpu else (("float32", 512),)
        batch = 10 if on_gpu else 1
        for dtype, size in products:
            a, b = (rng.standard_normal((size, size)).astype(dtype) / 64 for _ in range(2))
            inside, bare = (
                in_a_patch(device, product_patch(a, b, 1), batch),
                alone(device, Gemm(), {"a": a, "b": b}, batch),
            )
            print(f"{dtype} product of {size}: {inside:.3f} ms in a patch, {bare:.3f} bare: {inside / bare:.3f}")
        count = 1 << (24 if on_gpu else 18)
        x = (rng.standard_normal(count) + 1j * rng.standard_normal(count)).astype(np.complex64)
        inside, bare = in_a_patch(device, transform_patch(x), batch), alone(device, Fft(), {"x": x}, batch)
        print(f"FFT of {count}: {inside:.3f} ms in a patch, {bare:.3f} bare: {inside / bare:.3f}")
        a, b = (rng.standard_normal((SMALL, SMALL)).astype(np.float32) / 8 for _ in range(2))
        small = in_a_patch(device, product_patch(a, b, CALLS), 1)
        print(f"{CALLS} products of {SMALL}: {small:.3f} ms in a patch")
        others: dict[str, Callable[[Array, Array], float]] = {"CuPy": with_cupy} if on_gpu else {}
        for name, run in others.items():
            with suppress(ImportError):
                time = run(a, b)
                print(f"    {name} one by one: {time:.3f} ms, {time / small:.2f} times as long")


if __name__ == "__main__":
    main()
