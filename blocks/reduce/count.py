from blocks.reduce.shares import describe_reduction
from engine.api import Block, BlockBuilder, In, Out, any_type, port, u32


class Count(Block, id="reduce.count", tags=("any", "true", "nonzero", "condition")):
    """Count the elements that are not 0.

    As the condition of a region it asks whether any element holds: a count of 0 does not. Put a Compare before it to
    count what is larger or smaller than something.
    """

    x: In[any_type] = port(doc="Any type and shape; -0 is 0, and an element of several numbers is 0 when all are.")
    out: Out[u32] = port(shape="[1]", doc="Number of elements that are not 0.")

    def describe(self, build: BlockBuilder) -> None:
        """Two kernels, with thread blocks that work together."""
        describe_reduction(build, "add", self.x, self.out, reads="any")
