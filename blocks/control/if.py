from warploom.api import Block, BlockBuilder, In, any_type, describe_if, param, port


class If(Block, id="control.if", tags=("region", "condition", "branch"), regions=("",)):
    """Runs the blocks inside only when a condition holds.

    The condition is one element of a buffer, evaluated on the device each time the region is reached; every value but 0
    holds. When it does not hold, the outputs of the blocks inside are their defaults, mostly zeros; a block that works
    in place then outputs its unchanged input.
    """

    condition: In[any_type] = port(doc="Buffer with the element that decides; numbers or booleans, of any shape.")
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Index of the element that decides.")

    def describe(self, build: BlockBuilder) -> None:
        """Let one thread set the condition of a conditional node."""
        describe_if(build, self.condition, self.element)
