from functools import cache

from warploom.api import Block, BlockBuilder, DType, OpGraphBuilder, OpGraphSource, Out, any_type, param, port
from warploom.blocks.buffer.element_types import NUMBERS, convert
from warploom.blocks.buffer.shape_text import shape_rule


@cache
def constant(dtype: DType) -> OpGraphSource:
    """Return a kernel that writes elements of a type."""
    graph = OpGraphBuilder()
    value = graph.add("op.parameter", "value", type="f64")
    graph.add("op.output", "out", value=convert(graph, value["out"], dtype), type=str(dtype))
    return OpGraphSource.of(graph.graph())


class Constant(Block, id="buffer.constant", tags=("fill", "value", "zeros", "ones", "number")):
    """Outputs a buffer in which every element has the same value, and fills it again in each frame.

    Use it as a constant operand, as the initial value of a loop, or as a While's condition, which blocks inside the
    loop change. Integer types truncate the value towards 0 and clamp it to their range; in a float type, a value beyond
    the type's range becomes infinite.
    """

    out: Out[any_type] = port(shape="[1]", dtype="given", doc="The buffer, all elements equal to `value`.")
    value: float = param(0.0, min=-1e9, max=1e9, doc="Value of every element.")
    shape: str = param("1", doc='Sizes of the axes, the slowest first, such as "1080, 1920".')
    dtype: str = param("f32", choices=tuple(NUMBERS), doc="Element type.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        dtype = NUMBERS[self.dtype]
        build.define(self.out, dtype=dtype, shape=shape_rule("shape", self.shape))
        build.compute(constant(dtype), over=self.out)
