from warploom.api import Block, BlockBuilder, In, Out, any_type, port, u32
from warploom.blocks.reduce.shares import describe_reduction


class Count(Block, id="reduce.count", tags=("any", "true", "nonzero", "condition", "statistics")):
    """Counts the elements that are not 0.

    As the condition of a region, a count holds if any element is not 0. Put a Compare before it to count the elements
    above or below a value.
    """

    x: In[any_type] = port(
        doc="Any type and shape; -0 counts as 0, and so does an element of several numbers that are all 0."
    )
    out: Out[u32] = port(shape="[1]", doc="Number of elements that are not 0.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch two kernels, with thread blocks that work together."""
        describe_reduction(build, "add", self.x, self.out, reads="any")
