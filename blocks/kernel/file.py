from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from warploom.api import CudaOptions, Interface, KernelBlock, KernelSource, kernel_file, param
from warploom.engine.diagnostics import Incomplete


class KernelFile(KernelBlock, id="kernel.file", tags=("cuda", "ptx", "cu", "nvrtc", "source", "code")):
    """Runs a kernel from a `.cu`, `.ptx` or `.py` file.

    The node has the kernel's ports and parameters: pointers become inputs and outputs, and numbers become sliders;
    numbers with a name such as `count` or `width` are sizes. Drop a file on the canvas to add such a node; when you
    save the file, the running patch uses the new code. A comment after a parameter is its help and can begin with a
    range and a default: `// [0, 4] = 1, how much`. Begin the comment of a buffer that the kernel changes in place with
    `[inout]`. A `.py` file has functions for Triton or numba; compiling runs the file, so it must lie in a folder of
    blocks that you trust.
    """

    file: Path = param("", files="open kernel", doc="The kernel file: .cu, .ptx or .py.")

    @classmethod
    def kernel_source(cls, values: Mapping[str, Any], options: CudaOptions) -> KernelSource:
        """Return the kernel of the file."""
        if not values["file"]:
            raise Incomplete("file", "name a kernel")
        return kernel_file(Path(values["file"]), values["entry"], options)

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The kernel's ports and parameters; a new node is called as the entry point is."""
        made = super().interface(values)
        return replace(made, stem=made.content.kernel.entry)
