from blocks.buffer.element_types import NUMBERS
from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port


class Convert(Block, id="buffer.convert", tags=("cast", "type", "float", "int", "dtype")):
    """Convert numbers into another element type.

    Floats are rounded to the nearest, 64-bit integers to smaller floats by way of f64. A float is truncated towards 0
    to become an integer, and clamped to the type's range. Integers that don't fit another integer type wrap around. A
    boolean says whether a number is not 0.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[any_type] = port(shape="same(x)", dtype="given", doc="The numbers, converted.")
    dtype: str = param("f32", choices=tuple(NUMBERS), doc="Element type of the output.")

    kernel = Kernel("buffers.cu", entry="convert")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        build.define(self.out, dtype=NUMBERS[self.dtype])
        arguments = (self.x, build.element_type(self.x), self.out, build.element_type(self.out), self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
