from engine.api import Block, BlockBuilder, In, Out, any_type, describe_while, param, port, u32


class While(Block, id="control.while", tags=("region", "loop", "repeat", "until"), regions=("",)):
    """Repeat the blocks inside as long as a condition holds.

    The condition is one element of an outside buffer; anything but 0 holds. It is evaluated before each turn, on the
    device, so all turns belong to one frame. Blocks inside must change the condition in place (with Assign, for
    example), or the loop runs up to its limit. They carry values from turn to turn by changing outside buffers in
    place.
    """

    condition: In[any_type] = port(doc="Its element decides; numbers or booleans, of any shape.")
    turns: Out[u32] = port(shape="[1]", doc="How many turns are done; inside the loop, the number of this one from 0.")
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Which element of the condition decides.")
    limit: int = param(
        10_000, min=0, max=10_000_000, unit="turns", doc="Turns after which the loop is stopped, with a warning."
    )

    def describe(self, build: BlockBuilder) -> None:
        """One thread sets the condition of a conditional node, before the first turn and at the end of each."""
        describe_while(build, self.condition, self.element, turns=self.turns, limit=self.limit)
