import numpy as np

from warploom.api import Block, BlockBuilder, Out, any_type, param, port


class Array(Block, id="io.array", tags=("numpy", "constant", "input", "data")):
    """Outputs a numpy array.

    The output has the array's element type and shape. Set `data` from Python, with `patch.add("io.array", data=...)`.
    The patch's file stores up to 4 KB; a larger array is in a file beside it, which goes with *Save as*. Another array
    of the same type and shape can be set while the patch runs, without a rebuild. Element types: booleans, 8- to 64-bit
    integers, 16- to 64-bit floats, and complex numbers of two 32- or 64-bit floats.
    """

    out: Out[any_type] = port(shape="data", dtype="data", doc="The array's contents.")
    data: np.ndarray = param(np.zeros(1, np.float32), doc="The array to output: any shape, numbers or booleans.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        build.provide(self.out, self.data)
