from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, boolean, param, port

#: The kernel gets the index of one.
OPERATIONS = ("less", "less or equal", "equal", "not equal", "greater or equal", "greater")


class Compare(Block, id="math.compare", tags=("less", "greater", "equal", "condition")):
    """Compare two buffers, or a buffer with a value, element by element.

    out[i] says whether x[i] stands to y[i] as `operation` tells; with nothing connected to `y`, `value` takes its
    place. Numbers are compared as f64, whatever their types. Use it to make the condition of a region, or a mask.
    """

    x: In[any_type] = port(dtype="number", doc="Left operand: single real numbers or booleans, of any shape.")
    y: In[any_type] = port(
        dtype="number", shape="same(x)", optional=True, advised=False, doc="Right operand, of the shape of x."
    )
    out: Out[boolean] = port(shape="same(x)", doc="Whether the comparison holds, for each element.")
    operation: str = param("less", choices=OPERATIONS, doc="What x must be, compared with y or value.")
    value: float = param(0.0, min=-1e9, max=1e9, doc="Right operand when y is not connected.")

    kernel = Kernel("buffers.cu", entry="compare")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        operands = (self.x, build.element_type(self.x), self.y, build.element_type(self.y))
        arguments = (*operands, self.out, self.value, OPERATIONS.index(self.operation), self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
