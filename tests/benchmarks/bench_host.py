"""The host device beside C: `python -m tests.benchmarks.bench_host [NAME]...` prints ratios.

The kernels in host_kernels run on the host device and as C (`gcc -O3 -march=native -fopenmp`) with as many threads,
alternating in one process; the shortest time of each counts. A ratio is host over C: 1 is as fast as C, 2 takes twice
as long. A gain is how much faster all cores are than one. Kernels are optimised before they are timed; the second table
has their times before that. Without gcc, only the host's own times are printed. `taskset -c 0` before the command
compares one core with one. With NAMEs, only those cases are timed. `--loads` times the first loads alone, also of long
kernels: products of matrices and sorts by shuffles, as long as those that Triton writes.
"""

import argparse
import ctypes
import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.host_kernels.cases import Case, cases, compile_c, compile_ptx
from tests.benchmarks.host_kernels.long_kernels import products, sort
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache, native
from warploom.engine.device.protocol import GraphNode, LaunchConfig
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.ptx import parse
from warploom.engine.types import Array


def best(*works: Callable[[], object], repeats: int = 15) -> list[float]:
    """Return the shortest of several times of each call in milliseconds; the calls alternate."""
    times: list[list[int]] = [[] for _ in works]
    for _ in range(repeats):
        for index, work in enumerate(works):
            start = time.perf_counter_ns()
            work()
            times[index].append(time.perf_counter_ns() - start)
    return [min(item) / 1e6 for item in times]


def compare(library: ctypes.CDLL | None, ptx: str, names: Sequence[str], write: Callable[[str], object]) -> None:
    """Print the ratios of every kernel, on one core and on all."""
    devices = [HostDevice(cores=1, quick_first=False), HostDevice(quick_first=False)]
    if devices[1].info.cores == 1:
        devices.pop().close()
    write(f"{devices[-1].info.title}, {devices[-1].info.cores} cores; times in ms\n")
    one, every = f"{'host 1':>9}{'C 1':>9}{'ratio':>7}", f"{'host all':>10}{'C all':>9}{'ratio':>7}"
    write(f"{'kernel':16}{one}" + (f"{every}{'gain':>7}{'C gain':>8}\n" if len(devices) > 1 else "\n"))
    modules = [device.load_module(ptx) for device in devices]
    for name, case in cases().items():
        if names and name not in names:
            continue
        works: list[Callable[[], object]] = []
        for device, module in zip(devices, modules, strict=True):
            work, result = host_work(device, module.kernel(case.kernel), case)
            works.append(work)
            if library is not None:
                works.append(c_work(library, case, device.info.cores))
                _check(name, case, works, result)
        times = [item / case.turns for item in best(*works)]
        if library is None:
            write(f"{name:16}{times[0]:9.3f}\n")
            continue
        write(f"{name:16}{times[0]:9.3f}{times[1]:9.3f}{times[0] / times[1]:7.2f}")
        if len(devices) > 1:
            write(f"{times[2]:10.3f}{times[3]:9.3f}{times[2] / times[3]:7.2f}")
            write(f"{times[0] / times[2]:7.2f}{times[1] / times[3]:8.2f}")
        write("\n")
    for device in devices:
        device.close()


def host_work(device: HostDevice, kernel: Any, case: Case) -> tuple[Callable[[], object], Callable[[], Array]]:
    """Return a function that runs a case on the host device, and one that returns the result."""
    given = [device.upload(item) if isinstance(item, np.ndarray) else item for item in case.values]

    def launch() -> None:
        for index in case.zeroed:
            device.fill(given[index].memory, 0)
        device.launch(kernel, case.grid, case.thread_block, given)

    if case.turns == 1:
        return launch, given[case.output].download
    grid, thread_block = ((*item, 1, 1)[:3] for item in (case.grid, case.thread_block))
    graph, after = device.create_graph(), list[GraphNode]()
    arguments = pack_arguments(kernel.parameters, given)
    for _ in range(case.turns):
        after = [graph.add_kernel(kernel, LaunchConfig(grid, thread_block), arguments, after)]
    executable, stream = graph.instantiate(), device.create_stream()
    return lambda: executable.launch(stream), given[case.output].download


def c_work(library: ctypes.CDLL, case: Case, threads: int) -> Callable[[], object]:
    function = getattr(library, case.kernel)
    given = [
        item.ctypes.data_as(ctypes.c_void_p)
        if isinstance(item, np.ndarray)
        else (ctypes.c_float(float(item)) if isinstance(item, np.float32) else ctypes.c_int(item))
        for item in (*case.values, *case.counts)
    ]

    def work() -> None:
        library.omp_set_num_threads(threads)
        for _ in range(case.turns):
            for index in case.zeroed:
                case.values[index].fill(0)
            function(*given)

    return work


def _check(name: str, case: Case, works: Sequence[Callable[[], object]], result: Callable[[], Array]) -> None:
    """Compare the results of the last two runs: the host device's and C's."""
    wanted = case.values[case.output]
    wanted.fill(0)
    works[-1]()
    works[-2]()
    found = result()
    if not case.tolerance and not case.strays:
        np.testing.assert_array_equal(found, wanted, err_msg=name)
    near = np.isclose(found, wanted, rtol=case.tolerance, atol=case.tolerance * float(np.abs(wanted).mean()))
    assert (~near).mean() <= case.strays, f"{name}: {(~near).mean():.2%} of the values differ from those of C"


def compile_times(ptx: str, names: Sequence[str], write: Callable[[str], object]) -> None:
    """Print the processor time of each kernel's first load step by step, and of optimised code; and of cached loads.

    A kernel is launched after its first load, and is optimised meanwhile.
    """
    head = f"{'lines':>7}{'parse':>8}{'translate':>11}{'LLVM':>8}{'all':>8}{'cached':>8}{'optimise':>10}"
    write(f"\n{'first load, ms':18}{head}\n")
    device = HostDevice(quick_first=False)
    head_of_all, *parts = re.split(r"(?m)^\.visible \.entry (?=\w)", ptx)
    kernels = {part.split("(")[0]: (f"{head_of_all}.visible .entry {part}", 3) for part in parts}
    kernels |= {f"products {n} x {m}": (products(n, m), 1) for n, m in ((16, 16), (64, 64), (256, 96))}
    kernels |= {f"sort {count}": (sort(count), 1) for count in (8, 32)}
    for title, (alone, repeats) in kernels.items():
        name = title.split()[0]
        if names and name not in names:
            continue
        steps = []
        for _ in range(repeats):
            start = time.process_time_ns()
            module = parse(alone)
            parsed = time.process_time_ns()
            translated = translate_module(module, native.triple(), *native.cpu(), quickly=True)
            written = time.process_time_ns()
            native.quick_object(translated.text)
            compiled = time.process_time_ns()
            build.optimise(alone, name, native.cpu())
            optimised = time.process_time_ns() - compiled
            steps.append((parsed - start, written - parsed, compiled - written, optimised))
        with tempfile.TemporaryDirectory() as folder:
            kept, cache.folder = cache.folder, lambda f=folder: Path(f)  # type: ignore[misc]
            device.load_module(alone)
            (cached,) = best(lambda p=alone, n=name: device.load_module(p).kernel(n), repeats=5)  # type: ignore[misc]
            cache.folder = kept
        least = [min(item) / 1e6 for item in zip(*steps, strict=True)]
        write(
            f"{title:18}{len(alone.splitlines()):7}{least[0]:8.1f}{least[1]:11.1f}{least[2]:8.1f}{sum(least[:3]):8.1f}{cached:8.1f}"
        )
        write(f"{least[3]:10.1f}\n")
    device.close()


def overhead(ptx: str, write: Callable[[str], object]) -> None:
    """Print the cost of a kernel node that does almost nothing."""
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
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-m", "tests.benchmarks.simulator"], check=False, cwd=root)


def main() -> None:
    """Print every table; with names, only their rows."""
    parser = argparse.ArgumentParser(description="Compare kernels on the host device with C.")
    parser.add_argument("names", nargs="*", help="cases to time, by default all")
    text = "NVRTC's target: compute_100 or later writes other PTX"
    parser.add_argument("--dialect", default=HOST_ARCHITECTURE, help=text)
    parser.add_argument("--no-loads", action="store_true", help="leave out what loading costs")
    parser.add_argument("--loads", action="store_true", help="only time what loading costs")
    chosen = parser.parse_args()
    write = sys.stdout.write
    ptx = compile_ptx(chosen.dialect)
    if not chosen.loads:
        with tempfile.TemporaryDirectory() as folder:
            library = compile_c(folder)
            if library is None:
                write("gcc was not found or failed: no ratios to C\n")
            compare(library, ptx, chosen.names, write)
    if not chosen.no_loads:
        compile_times(ptx, chosen.names, write)
    if not chosen.names and not chosen.loads:
        overhead(ptx, write)
        simulator(write)


if __name__ == "__main__":
    main()
