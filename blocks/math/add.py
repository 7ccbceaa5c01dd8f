from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, port


class Add(Block, id="math.add", tags=("sum", "plus")):
    """Add `y` to `x`, element by element.

    out[i] = x[i] + y[i]. Use it to sum two signals or to shift one by another. Both must have the same shape.
    """

    x: In[f32] = port(doc="First operand, of any shape.")
    y: In[f32] = port(shape="same(x)", doc="Second operand, of the shape of x.")
    out: Out[f32] = port(shape="same(x)", doc="The sum x + y.")

    kernel = Kernel("elementwise.cu", entry="add")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.y, self.out, self.out.size))
