from warploom.api import Block, BlockBuilder, Out, UserArray, any_type, param, port
from warploom.engine.diagnostics import Incomplete


class External(Block, id="io.external", tags=("zero copy", "torch", "cupy", "dlpack", "numpy", "memory")):
    """Outputs the memory of another library's array, without a copy.

    Set `array` from Python: for the host, a numpy array; for a GPU, an array of CuPy, PyTorch or another library with
    `__cuda_array_interface__` or DLPack; or the result of `engine.device.upload`. The next frame reads what the library
    has written to the array; blocks that work in place change the library's array too. The patch file does not store
    the array, so set it again after loading. Another array of the same type and shape can be set while the patch runs,
    without a rebuild.
    """

    out: Out[any_type] = port(shape="data", dtype="data", doc="The array's memory, with its type and shape.")
    array: UserArray = param(UserArray(), doc="The array: writable and not empty; it may have gaps between elements.")

    def describe(self, build: BlockBuilder) -> None:
        """Adopt the array's memory, which needs no work and no allocation."""
        if self.array.array is None:
            raise Incomplete("array", "be set from Python, by patch.set(node, array=...)")
        build.adopt(self.out, self.array.array)
