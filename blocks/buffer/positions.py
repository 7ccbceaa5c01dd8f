import math

from warploom.api import Block, BlockBuilder, OpGraphSource, Out, param, port, u32
from warploom.blocks.buffer.shape_text import shape_rule, whole_numbers
from warploom.engine.diagnostics import PatchError


class Positions(Block, id="buffer.positions", tags=("index", "iota", "range", "arange", "grid")):
    """Outputs the position of each element along an axis.

    In a list the positions are 0, 1, 2 and so on. In two dimensions they are the row (axis 0) or the column (axis 1).
    Convert them to f32 to compute patterns and gradients.
    """

    out: Out[u32] = port(shape="[1]", doc="The positions, counted from 0.")
    shape: str = param("256", doc='Sizes of the axes, the slowest first, such as "1080, 1920".')
    axis: int = param(0, min=0, max=7, structural=True, doc="The axis along which positions are counted.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        sizes = whole_numbers("shape", self.shape)
        if self.axis >= len(sizes):
            raise PatchError(f"parameter axis must be one of the {len(sizes)} axes of the shape, got {self.axis}")
        build.define(self.out, shape=shape_rule("shape", self.shape))
        inner = math.prod(sizes[self.axis + 1 :])
        graph = OpGraphSource.of_expression(f"uint(i) // {inner} % {sizes[self.axis]}")
        build.compute(graph, over=self.out)
