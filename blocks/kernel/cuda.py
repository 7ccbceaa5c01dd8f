from collections.abc import Mapping
from typing import Any

from engine.api import CudaOptions, CudaText, KernelBlock, KernelSource, param
from engine.diagnostics import Incomplete

_START = """extern "C" __global__ void scale(
    const float* x,  // what is scaled
    float* out,      // gain * x
    float gain,      // [0, 4] = 1, how much
    int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = gain * x[i];
}
"""


class CudaKernel(KernelBlock, id="kernel.cuda", title="CUDA Kernel", tags=("nvrtc", "c++", "source", "code", "shader")):
    """Run a kernel that you write here, in CUDA C++.

    Pointers are inputs and outputs, numbers are sliders, and numbers that are called `count`, `width` or the like are
    sizes. A comment behind a parameter is its help, and may begin with a range and a default. Use a Kernel File for
    code that you edit elsewhere.
    """

    code: str = param(
        _START, language="cuda", doc='The source, with a kernel that is declared `extern "C" __global__`.'
    )

    @classmethod
    def kernel_source(cls, values: Mapping[str, Any], options: CudaOptions) -> KernelSource:
        """The text."""
        if not values["code"].strip():
            raise Incomplete("code", "have a kernel")
        return CudaText(values["code"], options)
