from warploom.api import Block, BlockBuilder, In, Out, any_type, f32, port
from warploom.blocks.reduce.shares import describe_reduction


class Sum(Block, id="reduce.sum", tags=("total", "add", "mean", "accumulate", "statistics", "average")):
    """Adds up all elements.

    The sum is computed in f64 and always in the same order, so equal elements give an equal sum. It is exact to the
    last bit or two of an f32. Use it for totals and, divided by the count, for means.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[f32] = port(shape="[1]", doc="The sum of all elements.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch two kernels, with thread blocks that work together."""
        describe_reduction(build, "add", self.x, self.out)
