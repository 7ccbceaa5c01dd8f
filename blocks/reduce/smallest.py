from warploom.api import Block, BlockBuilder, In, Out, any_type, f32, port
from warploom.blocks.reduce.shares import describe_reduction


class Smallest(Block, id="reduce.smallest", tags=("min", "minimum", "statistics")):
    """Finds the smallest element.

    If any element is NaN, the result is NaN, as in numpy. Use it together with Largest to scale a signal to a range.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[f32] = port(shape="[1]", doc="The smallest element.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch two kernels, with thread blocks that work together."""
        describe_reduction(build, "minimum", self.x, self.out)
