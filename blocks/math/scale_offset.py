from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class ScaleOffset(Block, id="math.scale_offset", tags=("linear", "remap", "gain", "bias")):
    """Scale every element and add an offset.

    out[i] = scale * x[i] + offset. Use it to bring a signal to another range or unit.
    """

    x: In[f32] = port(doc="Operand, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="scale * x + offset.")
    scale: float = param(1.0, min=-10, max=10, doc="Factor of every element.")
    offset: float = param(0.0, min=-10, max=10, doc="Added to every element after scaling.")

    kernel = Kernel("elementwise.cu", entry="scale_offset")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        arguments = (self.x, self.out, self.scale, self.offset, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
