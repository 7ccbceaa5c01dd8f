from blocks.buffer.element_types import NUMBERS
from blocks.buffer.shape_text import shape_rule
from engine.api import Block, BlockBuilder, Kernel, Out, any_type, param, port


class Constant(Block, id="buffer.constant", tags=("fill", "value", "zeros", "ones", "number")):
    """Make a buffer in which every element has the same value, again in each frame.

    Use it as a constant operand, as the initial value of a loop, or as the condition of a While that blocks inside
    change. Integer types truncate the value towards 0 and clamp it to their range; in a float type, a value beyond its
    range is infinite.
    """

    out: Out[any_type] = port(shape="[1]", dtype="given", doc="The buffer, all elements equal to `value`.")
    value: float = param(0.0, min=-1e9, max=1e9, doc="Value of every element.")
    shape: str = param("1", doc='Sizes of the axes, the slowest first, such as "1080, 1920".')
    dtype: str = param("f32", choices=tuple(NUMBERS), doc="Element type.")

    kernel = Kernel("buffers.cu", entry="constant")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        build.define(self.out, dtype=NUMBERS[self.dtype], shape=shape_rule("shape", self.shape))
        arguments = (self.out, build.element_type(self.out), self.value, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
