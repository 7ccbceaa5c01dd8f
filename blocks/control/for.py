from engine.api import Block, BlockBuilder, In, Out, any_type, describe_for, param, port, u32


class For(Block, id="control.for", tags=("region", "loop", "repeat", "times"), regions=("",)):
    """Run the blocks inside a number of times in each frame.

    Blocks inside carry values from turn to turn by changing outside buffers in place. When `counts` is connected, its
    first element gives the number of turns instead of `count`, such as a number of particles that only the device
    knows.
    """

    counts: In[any_type] = port(
        dtype="number",
        optional=True,
        advised=False,
        doc="Its first element is the number of turns; below 0 means none.",
    )
    index: Out[u32] = port(shape="[1]", doc="The number of this turn from 0; after the loop, how many there were.")
    count: int = param(8, min=0, max=1_000_000, unit="turns", doc="Number of turns, unless counts is connected.")
    limit: int = param(
        1_000_000, min=0, max=10_000_000, unit="turns", doc="Turns after which the loop is stopped, with a warning."
    )

    def describe(self, build: BlockBuilder) -> None:
        """One thread sets the condition of a conditional node, before the first turn and at the end of each."""
        describe_for(build, self.count, self.counts, index=self.index, limit=self.limit)
