from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, port


class Add(Block, id="math.add", tags=("sum", "plus")):
    """Adds `x` and `y`, element by element.

    out[i] = x[i] + y[i]. Use it to sum two signals or to shift one by another. Both must have the same shape.
    """

    x: In[f32] = port(doc="First operand, of any shape.")
    y: In[f32] = port(shape="same(x)", doc="Second operand, of the shape of x.")
    out: Out[f32] = port(shape="same(x)", doc="The sum x + y.")

    graph = OpGraphSource.of_expression("x + y", x=f32, y=f32)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(self.graph, over=self.out)
