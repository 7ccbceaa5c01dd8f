"""The host device beside C: `python -m tests.benchmarks.bench_host` prints one table of ratios.

Each kernel of bench_host.cu runs on the host device, and the same work runs as C (`gcc -O3 -march=native -fopenmp`,
reference.c) with as many threads, turn about in one process; the shortest time of each counts. A ratio is host over C:
1 is as fast as C, 2 takes twice as long. A gain is how much faster all cores are than one. Kernels are optimised
before they are timed; what they cost before is in the second table. Without gcc only the host's own times are printed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import nvrtc

from engine.device.arguments import pack_arguments
from engine.device.host import HostDevice
from engine.device.host.modules import cache, native
from engine.device.host.translate.module import translate_module
from engine.device.protocol import GraphNode, LaunchConfig
from engine.ptx import parse

HERE = Path(__file__).parent
Array = np.ndarray[Any, Any]


def compile_ptx(source: str, *options: str) -> str:
    """Return the PTX of CUDA C++ for the host."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"bench.cu", 0, [], [])
    flags = [b"--gpu-architecture=compute_75", *(item.encode() for item in options)]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    assert int(error) == 0
    return str(text.decode().rstrip("\0"))


def compile_c(folder: str) -> ctypes.CDLL | None:
    """Return reference.c as a library; None when there is no gcc."""
    library = Path(folder) / "reference.so"
    command = ["gcc", "-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-o", str(library)]
    try:
        subprocess.run([*command, str(HERE / "reference.c"), "-lm"], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ctypes.CDLL(str(library))


def best(*works: Callable[[], object], repeats: int = 15) -> list[float]:
    """Return the shortest of several times of each, taken in turns, in milliseconds."""
    times: list[list[int]] = [[] for _ in works]
    for _ in range(repeats):
        for index, work in enumerate(works):
            start = time.perf_counter_ns()
            work()
            times[index].append(time.perf_counter_ns() - start)
    return [min(item) / 1e6 for item in times]


def cases() -> dict[str, tuple[tuple[int, ...], tuple[int, ...], list[Any], int, float]]:
    """Return grid, thread block, arguments, the output's index and the relative tolerance of each kernel."""
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> Array:
        return rng.random(shape, np.float32)

    n, w, h, m, q = 1 << 22, 1920, 1080, 512, 4096
    return {
        "saxpy": ((n // 256,), (256,), [floats(n), floats(n), floats(n), np.float32(3), n], 2, 1e-6),
        "nbody": ((q // 256,), (256,), [floats(q, 4), floats(q, 4), q], 1, 1e-3),
        "conv5": ((w // 16, -(-h // 16)), (16, 16), [floats(h, w), floats(5, 5), floats(h, w), w, h], 2, 1e-4),
        "histogram": ((64,), (256,), [(floats(n) * 256).astype(np.uint8), np.zeros(256, np.uint32), n], 1, 0),
        "matmul": ((m // 16, m // 16), (16, 16), [floats(m, m), floats(m, m), floats(m, m), m], 2, 1e-4),
        "reduce": ((n // 256,), (256,), [floats(n), floats(n // 256), n], 1, 1e-4),
    }


def compare(library: ctypes.CDLL | None, ptx: str, write: Callable[[str], object]) -> None:
    """Print the ratios of every kernel, on one core and on all."""
    devices = [HostDevice(cores=1, quick_first=False), HostDevice(quick_first=False)]
    write(f"{devices[1].info.title}, {devices[1].info.cores} cores; times in ms\n")
    one, every = f"{'host 1':>9}{'C 1':>9}{'ratio':>7}", f"{'host all':>10}{'C all':>9}{'ratio':>7}"
    write(f"{'kernel':12}{one}{every}{'gain':>7}{'C gain':>8}\n")
    for name, (grid, block, values, output, tolerance) in cases().items():
        works: list[Callable[[], object]] = []
        results: list[Callable[[], Array]] = []
        for device in devices:
            kernel = device.load_module(ptx).kernel(name)
            given = [device.upload(item) if isinstance(item, np.ndarray) else item for item in values]
            works.append(lambda d=device, k=kernel, g=given, s=(grid, block): d.launch(k, *s, g))  # type: ignore[misc]
            results.append(given[output].download)
            if library is not None:
                works.append(_c_work(library, name, values, device.info.cores))
        if library is not None:
            values[output].fill(0)
            works[1]()
            if name == "histogram":  # each run adds to what is there
                np.testing.assert_array_equal(values[output], np.bincount(values[0], minlength=256))
            works[0]()
            np.testing.assert_allclose(results[0](), values[output], rtol=tolerance)
        times = best(*works)
        host = times[:: 2 if library else 1]
        ratio = [a / b for a, b in zip(host, times[1::2], strict=True)] if library else [float("nan")] * 2
        c = times[1::2] if library else [float("nan")] * 2
        write(f"{name:12}{host[0]:9.3f}{c[0]:9.3f}{ratio[0]:7.2f}{host[1]:10.3f}{c[1]:9.3f}{ratio[1]:7.2f}")
        write(f"{host[0] / host[1]:7.2f}{c[0] / c[1]:8.2f}\n")
    for device in devices:
        device.close()


def _c_work(library: ctypes.CDLL, name: str, values: list[Any], threads: int) -> Callable[[], object]:
    function = getattr(library, name)
    given = [
        item.ctypes.data_as(ctypes.c_void_p)
        if isinstance(item, np.ndarray)
        else (ctypes.c_float(float(item)) if isinstance(item, np.float32) else ctypes.c_int(item))
        for item in values
    ]

    def work() -> None:
        library.set_threads(threads)
        function(*given)

    return work


def compile_times(source: str, write: Callable[[str], object]) -> None:
    """Print what the first load of each kernel costs, step by step, a load from the cache, and the optimised code.

    A kernel runs after the first load; it is optimised while it runs.
    """
    head = f"{'parse':>8}{'translate':>11}{'LLVM':>8}{'all':>8}{'cached':>8}{'optimise':>10}"
    write(f"\n{'first load, ms':16}{head}\n")
    device = HostDevice(quick_first=False)
    parts = source.split('extern "C"')
    for part in parts[1:]:
        ptx = compile_ptx(parts[0] + 'extern "C"' + part)
        steps = []
        for _ in range(5):
            start = time.perf_counter_ns()
            module = parse(ptx)
            parsed = time.perf_counter_ns()
            text = translate_module(module, native.triple(), *native.cpu())
            translated = time.perf_counter_ns()
            native.quick_object(text.text)
            compiled = time.perf_counter_ns()
            (kernel,) = text.kernels.values()
            native.compile_object(kernel)
            optimised = time.perf_counter_ns() - compiled
            steps.append((parsed - start, translated - parsed, compiled - translated, optimised))
        with tempfile.TemporaryDirectory() as folder:
            kept, cache.folder = cache.folder, lambda f=folder: Path(f)  # type: ignore[misc]
            device.load_module(ptx)
            (cached,) = best(lambda p=ptx: device.load_module(p), repeats=5)  # type: ignore[misc]
            cache.folder = kept
        least = [min(item) / 1e6 for item in zip(*steps, strict=True)]
        name = part.split("void ")[1].split("(")[0]
        write(f"{name:16}{least[0]:8.1f}{least[1]:11.1f}{least[2]:8.1f}{sum(least[:3]):8.1f}{cached:8.1f}")
        write(f"{least[3]:10.1f}\n")
    device.close()


def overhead(ptx: str, write: Callable[[str], object]) -> None:
    """Print what a kernel node costs that does next to nothing."""
    device = HostDevice()
    kernel = device.load_module(ptx).kernel("saxpy")
    buffer = device.upload(np.zeros(32, np.float32))
    graph = device.create_graph()
    after: list[GraphNode] = []
    arguments = pack_arguments(kernel.parameters, [buffer, buffer, buffer, 1.0, 32])
    for _ in range(100):
        after = [graph.add_kernel(kernel, LaunchConfig((1, 1, 1), (32, 1, 1)), arguments, after)]
    executable, stream = graph.instantiate(), device.create_stream()
    write(f"\nsmall kernel node {10 * best(lambda: executable.launch(stream))[0]:.2f} us\n")
    device.close()


def simulator(write: Callable[[str], object]) -> None:
    """Print how many times faster than numba's CUDA simulator the host device runs saxpy."""
    if importlib.util.find_spec("numba") is None:
        write("numba's CUDA simulator: skipped, numba is not installed\n")
        return
    subprocess.run([sys.executable, "-m", "tests.benchmarks.simulator"], check=False, cwd=HERE.parents[1])


def main() -> None:
    """Print every table."""
    write = sys.stdout.write
    source = (HERE / "bench_host.cu").read_text()
    ptx = compile_ptx(source)
    with tempfile.TemporaryDirectory() as folder:
        library = compile_c(folder)
        if library is None:
            write("gcc was not found or failed: no ratios to C\n")
        compare(library, ptx, write)
    compile_times(source, write)
    overhead(ptx, write)
    simulator(write)


if __name__ == "__main__":
    main()
