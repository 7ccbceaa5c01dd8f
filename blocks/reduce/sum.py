from blocks.reduce.shares import describe_reduction
from engine.api import Block, BlockBuilder, In, Out, any_type, f32, port


class Sum(Block, id="reduce.sum", tags=("total", "add", "mean", "accumulate")):
    """Add up all elements.

    The sum is worked out in f64, always in the same order, so that it is the same in every frame and good to the last
    bit or two of an f32. Use it for totals, and with a division for means.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[f32] = port(shape="[1]", doc="The sum of all elements.")

    def describe(self, build: BlockBuilder) -> None:
        """Two kernels, with thread blocks that work together."""
        describe_reduction(build, "add", self.x, self.out)
