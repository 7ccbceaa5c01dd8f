from warploom.api import Block, BlockBuilder, In, any_type, describe_if, param, port


class IfElse(Block, id="control.if_else", tags=("region", "condition", "branch", "switch"), regions=("", "else")):
    """Runs the blocks of one branch when a condition holds, and those of the other when it does not.

    The condition is one element of a buffer, evaluated on the device each time the region is reached; every value but 0
    holds. Put a Select after the region, with the same condition, to continue with the result of the branch that ran.
    """

    condition: In[any_type] = port(doc="Buffer with the element that decides; numbers or booleans, of any shape.")
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Index of the element that decides.")

    def describe(self, build: BlockBuilder) -> None:
        """Let one thread set the condition of a conditional node with two bodies."""
        describe_if(build, self.condition, self.element, otherwise=True)
