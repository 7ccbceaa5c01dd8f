from collections.abc import Mapping
from typing import Any

from engine.api import CudaText, Interface, KernelBlock, Wishes, param, parse_options, source_interface

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
    entry: str = param("", doc="The entry point, if there are several; empty for the first.")
    over: str = param("", doc="The port over whose elements the threads go; empty for the first output.")
    shapes: str = param("", doc="Shapes of outputs that differ from the first input, such as out: [N, 16]; sum: [1].")
    thread_block: str = param("", doc="Size of the thread block, such as 256 or 16, 16; empty for the usual one.")
    defines: str = param("", doc="Macros, such as TAPS=9; SIGMA=1.5f: constants that are known when it is compiled.")
    fast_math: bool = param(False, structural=True, doc="Compile with faster, less accurate functions.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The ports and parameters of the kernel."""
        if not values["code"].strip():
            return Interface()
        options = parse_options(values["defines"], fast_math=values["fast_math"])
        wishes = Wishes(values["over"], values["shapes"], values["thread_block"])
        return source_interface(cls, CudaText(values["code"], options), values["entry"], wishes)
