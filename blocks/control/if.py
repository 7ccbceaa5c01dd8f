from engine.api import Block, BlockBuilder, In, any_type, describe_if, param, port


class If(Block, id="control.if", tags=("region", "condition", "branch"), regions=("",)):
    """Run the blocks inside only when a condition holds.

    The condition is one element of a buffer, evaluated on the device each time the region is reached; anything but 0
    holds. When it does not hold, the outputs of blocks inside have their default, mostly zeros, and an output of a
    block that works in place is its unchanged input.
    """

    condition: In[any_type] = port(doc="Its element decides; numbers or booleans, of any shape.")
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Which element of the condition decides.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread sets the condition of a conditional node."""
        describe_if(build, self.condition, self.element)
