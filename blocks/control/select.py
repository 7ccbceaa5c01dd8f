from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port


class Select(Block, id="control.select", tags=("choose", "switch", "condition", "join", "where")):
    """Pass on one of two buffers, depending on a condition.

    The output is a copy of `a` when the condition's element is anything but 0, otherwise of `b`. Use it after an If
    Else to join its branches, or to switch between two sources on the device.
    """

    condition: In[any_type] = port(doc="Its element decides; numbers or booleans, of any shape.")
    a: In[any_type] = port(doc="What comes out when the condition holds: any element type, any shape.")
    b: In[any_type] = port(shape="same(a)", dtype="same(a)", doc="What comes out when it does not; like a.")
    out: Out[any_type] = port(shape="same(a)", dtype="same(a)", doc="A copy of a or of b.")
    element: int = param(0, min=0, max=1 << 30, structural=True, doc="Which element of the condition decides.")

    kernel = Kernel("buffers.cu", entry="select")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element of the output."""
        build.require(
            self.condition.size - 1 - self.element,
            f"element must be less than the size of the condition, got {self.element}",
            port=self.condition,
        )
        condition = (self.condition, build.element_type(self.condition), self.element)
        sources = (self.a, self.b, self.out, build.element_type(self.a))
        build.launch(self.kernel, num_threads=self.out.size, args=(*condition, *sources, self.out.size))
