from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port


class Select(Block, id="control.select", tags=("choose", "switch", "condition", "join", "where")):
    """Outputs one of two buffers, depending on a condition.

    The output is a copy of `a` if the condition's element is not 0, otherwise of `b`. Use it after an If Else to join
    the branches, or to switch between two sources on the device.
    """

    condition: In[any_type] = port(doc="Buffer with the element that decides; numbers or booleans, of any shape.")
    a: In[any_type] = port(doc="Output when the condition holds: any element type, any shape.")
    b: In[any_type] = port(
        shape="same(a)", dtype="same(a)", doc="Output when the condition does not hold; type and shape of a."
    )
    out: Out[any_type] = port(shape="same(a)", dtype="same(a)", doc="A copy of a or of b.")
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Index of the element that decides.")

    kernel = Kernel("buffers.cu", entry="choose")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for every four elements of the output."""
        build.require(
            self.condition.size - 1 - self.element,
            f"element must be less than the size of the condition, got {self.element}",
            port=self.condition,
        )
        build.keep_columns(self.out, self.a, self.b)
        condition = (self.condition, build.element_type(self.condition), self.element, 0)
        sources = (self.a, self.b, self.out, build.element_type(self.a))
        build.launch(self.kernel, num_threads=(self.out.size + 3) // 4, args=(*condition, *sources, self.out.size))
