from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.api import Interface, KernelBlock, Wishes, kernel_file, param, parse_options, source_interface


class KernelFile(KernelBlock, id="kernel.file", tags=("cuda", "ptx", "cu", "nvrtc", "source", "code")):
    """Run a kernel of your own from a `.cu` or `.ptx` file, or one in Python.

    The node has the ports and parameters of the kernel: pointers are inputs and outputs, numbers are sliders, and
    numbers that are called `count`, `width` or the like are sizes. Drop a file on the canvas to get such a node; save
    the file and the running patch follows. A comment behind a parameter is its help, and may begin with a range and a
    default: `// [0, 4] = 1, how much`. A `.py` with functions that Triton or numba compiles must lie in a folder of
    blocks that you trust, since compiling runs it.
    """

    file: Path = param("", files="open kernel", doc="The kernel file: .cu, .ptx or .py.")
    entry: str = param("", doc="The entry point, if the file has several; empty for the first.")
    over: str = param("", doc="The port over whose elements the threads go; empty for the first output.")
    shapes: str = param("", doc="Shapes of outputs that differ from the first input, such as out: [N, 16]; sum: [1].")
    thread_block: str = param("", doc="Size of the thread block, such as 256 or 16, 16; empty for the usual one.")
    defines: str = param("", doc="Macros, such as TAPS=9; SIGMA=1.5f: constants that are known when it is compiled.")
    fast_math: bool = param(False, structural=True, doc="Compile with faster, less accurate functions.")
    standard: str = param("c++17", choices=("c++14", "c++17", "c++20"), doc="The dialect of C++.")
    include_folders: str = param("", doc="More folders for includes, separated by semicolons.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The ports and parameters of the kernel."""
        if not values["file"]:
            return Interface()
        options = parse_options(
            values["defines"],
            fast_math=values["fast_math"],
            standard=values["standard"],
            include_folders=values["include_folders"],
        )
        source = kernel_file(Path(values["file"]).resolve(), values["entry"], options)
        return source_interface(
            cls, source, values["entry"], Wishes(values["over"], values["shapes"], values["thread_block"])
        )
