from warploom.api import Block, BlockBuilder, In, Out, any_type, describe_for, param, port, u32


class For(Block, id="control.for", tags=("region", "loop", "repeat", "times"), regions=("",)):
    """Runs the blocks inside a given number of times in each frame.

    Blocks inside carry values from turn to turn by changing buffers from outside in place. When `counts` is connected,
    its first element is the number of turns and `count` is ignored. Use that for numbers that only the device knows,
    such as a number of particles.
    """

    counts: In[any_type] = port(
        dtype="number",
        optional=True,
        advised=False,
        doc="Buffer whose first element is the number of turns; below 0 means none.",
    )
    index: Out[u32] = port(shape="[1]", doc="Index of this turn, counted from 0; after the loop, the number of turns.")
    count: int = param(8, min=0, max=1_000_000, unit="turns", doc="Number of turns, unless counts is connected.")
    limit: int = param(
        1_000_000,
        min=0,
        max=10_000_000,
        unit="turns",
        doc="Number of turns after which the loop is stopped, with a warning.",
    )

    def describe(self, build: BlockBuilder) -> None:
        """Let one thread set the condition of a conditional node, before the first turn and at the end of each turn."""
        describe_for(build, self.count, self.counts, index=self.index, limit=self.limit)
