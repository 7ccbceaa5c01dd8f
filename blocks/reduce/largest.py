from blocks.reduce.shares import describe_reduction
from engine.api import Block, BlockBuilder, In, Out, any_type, f32, port


class Largest(Block, id="reduce.largest", tags=("max", "maximum", "peak")):
    """Find the largest element.

    NaN counts as larger than everything, as in numpy. Use it to bring a signal to a range, or, compared with a
    tolerance, to end a loop that has converged.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[f32] = port(shape="[1]", doc="The largest element.")

    def describe(self, build: BlockBuilder) -> None:
        """Two kernels, with thread blocks that work together."""
        describe_reduction(build, "maximum", self.x, self.out)
