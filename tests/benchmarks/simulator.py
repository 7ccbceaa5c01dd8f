"""The ratio of times for saxpy in numba's CUDA simulator and on the host device, with the same few elements."""

import os
import sys

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
from numba import cuda  # type: ignore[import-not-found,unused-ignore]

from tests.benchmarks.bench_host import best
from tests.benchmarks.host_kernels.cases import compile_ptx
from warploom.engine.device.host.device import HostDevice

ELEMENTS = 4096


@cuda.jit  # type: ignore[untyped-decorator,unused-ignore]
def _saxpy(x, y, out, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def main() -> None:
    """Time both and print the ratio."""
    x, y = np.ones(ELEMENTS, np.float32), np.ones(ELEMENTS, np.float32)
    device = HostDevice()
    kernel = device.load_module(compile_ptx()).kernel("saxpy")
    given = [device.upload(x), device.upload(y), device.upload(x), 3.0, ELEMENTS]
    simulated, host = best(
        lambda: _saxpy[ELEMENTS // 256, 256](x, y, x, np.float32(3)),
        lambda: device.launch(kernel, (ELEMENTS // 256,), (256,), given),
        repeats=3,
    )
    device.close()
    sys.stdout.write(f"saxpy of {ELEMENTS}: numba's CUDA simulator / host = {simulated / host:.0f}\n")


if __name__ == "__main__":
    main()
