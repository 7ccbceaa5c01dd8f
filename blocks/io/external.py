from engine.api import Block, BlockBuilder, Out, UserArray, any_type, param, port
from engine.diagnostics import Incomplete


class External(Block, id="io.external", tags=("zero copy", "torch", "cupy", "dlpack", "numpy", "memory")):
    """Use an array of another library where it lies, without a copy.

    Set `array` from Python: an array of numpy for the host, of CuPy, PyTorch or any library with
    `__cuda_array_interface__` or DLPack for a GPU, or what `engine.device.upload` returns. What the library writes
    there, the next frame reads; blocks that work in place change it for the library too. It is not saved with the
    patch, so set it again after loading. An array of the same type and shape can take its place while the patch runs,
    without a rebuild.
    """

    out: Out[any_type] = port(shape="data", dtype="data", doc="The array's memory, with its type and shape.")
    array: UserArray = param(UserArray(), doc="The array: writable, with elements; it may have gaps.")

    def describe(self, build: BlockBuilder) -> None:
        """Nothing runs and nothing is allocated."""
        if self.array.array is None:
            raise Incomplete("array", "be set from Python, by patch.set(node, array=...)")
        build.adopt(self.out, self.array.array)
