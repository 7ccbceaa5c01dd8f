from warploom.api import Block, BlockBuilder, In, Out, any_type, describe_while, param, port, u32


class While(Block, id="control.while", tags=("region", "loop", "repeat", "until"), regions=("",)):
    """Repeats the blocks inside as long as a condition holds.

    The condition is one element of a buffer from outside; every value but 0 holds. The device evaluates the condition
    before each turn, so all turns belong to one frame. Blocks inside must change the condition in place (with Assign,
    for example), or the loop runs up to its limit. Blocks inside carry values from turn to turn by changing buffers
    from outside in place.
    """

    condition: In[any_type] = port(doc="Buffer with the element that decides; numbers or booleans, of any shape.")
    turns: Out[u32] = port(
        shape="[1]", doc="Number of turns done; inside the loop, the index of this turn, counted from 0."
    )
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Index of the element that decides.")
    limit: int = param(
        10_000,
        min=0,
        max=10_000_000,
        unit="turns",
        doc="Number of turns after which the loop is stopped, with a warning.",
    )

    def describe(self, build: BlockBuilder) -> None:
        """Let one thread set the condition of a conditional node, before the first turn and at the end of each turn."""
        describe_while(build, self.condition, self.element, turns=self.turns, limit=self.limit)
