from warploom.api import Block, BlockBuilder, In, Out, any_type, f32, port
from warploom.blocks.reduce.shares import describe_reduction


class Largest(Block, id="reduce.largest", tags=("max", "maximum", "peak", "statistics")):
    """Finds the largest element.

    If any element is NaN, the result is NaN, as in numpy. Use it to scale a signal to a range, or to end a loop when a
    solver's error is below a tolerance.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[f32] = port(shape="[1]", doc="The largest element.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch two kernels, with thread blocks that work together."""
        describe_reduction(build, "maximum", self.x, self.out)
