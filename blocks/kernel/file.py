from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.api import CudaOptions, KernelBlock, KernelSource, kernel_file, param
from engine.diagnostics import Incomplete


class KernelFile(KernelBlock, id="kernel.file", tags=("cuda", "ptx", "cu", "nvrtc", "source", "code")):
    """Run a kernel of your own from a `.cu` or `.ptx` file, or one in Python.

    The node has the ports and parameters of the kernel: pointers are inputs and outputs, numbers are sliders, and
    numbers that are called `count`, `width` or the like are sizes. Drop a file on the canvas to get such a node; save
    the file and the running patch follows. A comment behind a parameter is its help, and may begin with a range and a
    default: `// [0, 4] = 1, how much`; that of a buffer that is drawn into begins with `[inout]`. A `.py` with
    functions that Triton or numba compiles must lie in a folder of blocks that you trust, since compiling runs it.
    """

    file: Path = param("", files="open kernel", doc="The kernel file: .cu, .ptx or .py.")

    @classmethod
    def kernel_source(cls, values: Mapping[str, Any], options: CudaOptions) -> KernelSource:
        """The kernel of the file."""
        if not values["file"]:
            raise Incomplete("file", "name a kernel")
        return kernel_file(Path(values["file"]), values["entry"], options)
