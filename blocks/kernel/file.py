from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.api import Interface, KernelBlock, Wishes, file_interface, param


class KernelFile(
    KernelBlock, id="kernel.file", title="Kernel File", tags=("cuda", "ptx", "cu", "nvrtc", "source", "code")
):
    """Run a kernel of your own from a `.cu` or `.ptx` file.

    The node has the ports and parameters of the kernel: pointers are inputs and outputs, numbers are sliders, and
    numbers that are called `count`, `width` or the like are sizes. Drop a file on the canvas to get such a node; save
    the file and the running patch follows. A comment behind a parameter is its help, and may begin with a range and a
    default: `// [0, 4] = 1, how much`.
    """

    file: Path = param("", files="open kernel", doc="The kernel file, .cu or .ptx.")
    entry: str = param("", doc="The entry point, if the file has several; empty for the first.")
    over: str = param("", doc="The port over whose elements the threads go; empty for the first output.")
    shapes: str = param("", doc="Shapes of outputs that differ from the first input, such as out: [N, 16]; sum: [1].")
    thread_block: str = param("", doc="Size of the thread block, such as 256 or 16, 16; empty for the usual one.")

    @classmethod
    def interface(cls, values: Mapping[str, Any]) -> Interface:
        """The ports and parameters of the kernel."""
        if not values["file"]:
            return Interface()
        wishes = Wishes(values["over"], values["shapes"], values["thread_block"])
        return file_interface(cls, Path(values["file"]), values["entry"], wishes)
