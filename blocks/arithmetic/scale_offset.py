from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, param, port


class ScaleOffset(Block, id="math.scale_offset", tags=("linear", "remap", "gain", "bias")):
    """Scales every element and adds an offset.

    out[i] = scale * x[i] + offset. Use it to bring a signal to another range or unit.
    """

    x: In[f32] = port(doc="Operand, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="scale * x + offset.")
    scale: float = param(1.0, min=-10, max=10, doc="Factor of every element.")
    offset: float = param(0.0, min=-10, max=10, doc="Added to every element after scaling.")

    graph = OpGraphSource.of_expression("fma(scale, x, offset)", x=f32)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(self.graph, over=self.out)
