from collections.abc import Mapping
from typing import Any

from warploom.api import CudaOptions, CudaText, KernelBlock, KernelSource, param
from warploom.engine.diagnostics import Incomplete

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


class CudaKernel(
    KernelBlock, id="kernel.cuda", title="CUDA Kernel", tags=("nvrtc", "c++", "source", "code", "shader", "glsl")
):
    """Runs a CUDA C++ kernel that you write in the inspector.

    Pointer parameters become inputs and outputs, and number parameters become sliders; numbers with a name such as
    `count` or `width` are sizes. A comment after a parameter is its help and can begin with a range and a default: `//
    [0, 4] = 1, how much`. For code that you edit in another program, use Kernel File.
    """

    code: str = param(
        _START, language="cuda", doc='The source, with a kernel that is declared `extern "C" __global__`.'
    )

    @classmethod
    def kernel_source(cls, values: Mapping[str, Any], options: CudaOptions) -> KernelSource:
        """Return the text as a source."""
        if not values["code"].strip():
            raise Incomplete("code", "have a kernel")
        return CudaText(values["code"], options)
