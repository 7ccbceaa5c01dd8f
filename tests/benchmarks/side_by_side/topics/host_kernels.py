"""Kernels as people write them, on the host device and in C with OpenMP, on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np

from tests.benchmarks.bench_host import c_work, host_work
from tests.benchmarks.host_kernels.cases import Case, cases, compile_c, compile_ptx
from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from warploom.engine.device.device import Device
from warploom.engine.device.host.device import HostDevice

#: Of the kernels in `host_kernels`, those that need no cache to be fair.
NAMES = (
    "saxpy", "nbody", "sha256", "mandelbrot", "bvh", "conv5", "life", "stencil", "smith_waterman", "dither", "matmul",
    "cholesky", "reduce", "histogram", "scan_rows", "scan_all", "radix_pass",
)  # fmt: skip


def contests(device: Device) -> Iterator[Contest]:
    """Yield the contests on the host device."""
    if not isinstance(device, HostDevice):
        return
    ptx = compile_ptx()
    for name, case in cases().items():
        if name in NAMES:
            yield Contest(
                f"kernel {name}",
                {OURS: partial(our_kernel, device, ptx, case), "C": partial(c_kernel, case, device.info.cores)},
                wanted=3.0, against="C", tolerance=max(case.tolerance, 1e-5),
            )  # fmt: skip


def our_kernel(device: HostDevice, ptx: str, case: Case, _: ExitStack) -> Program:
    """Launch the kernel."""
    work, result = host_work(device, device.load_module(ptx).kernel(case.kernel), case)
    return Program(work, result=None if case.strays else result)


def c_kernel(case: Case, threads: int, opened: ExitStack) -> Program:
    """Call the function."""
    library = compile_c(opened.enter_context(TemporaryDirectory()))
    if library is None:
        raise Missing("gcc is not installed")
    output = case.values[case.output]
    return Program(c_work(library, case, threads), result=None if case.strays else lambda: np.asarray(output))
