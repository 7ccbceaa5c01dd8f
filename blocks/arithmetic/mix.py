from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, param, port


class Mix(Block, id="math.mix", title="Interpolate", tags=("lerp", "mix", "blend", "between", "crossfade", "morph")):
    """Computes numbers between those of two buffers, element by element.

    out[i] = a[i] + (b[i] - a[i]) * amount: `a` at amount 0, `b` at 1, and beyond them outside that range. Use it to
    move from one signal, set of weights or field to another; for images, use Mix.
    """

    a: In[f32] = port(doc="Elements at amount 0, of any shape.")
    b: In[f32] = port(shape="same(a)", doc="Elements at amount 1, of the shape of a.")
    out: Out[f32] = port(shape="same(a)", doc="The numbers in between.")
    amount: float = param(0.5, min=-10, max=10, doc="The way from a to b.")

    graph = OpGraphSource.of_expression("fma(amount, b, fma(-amount, a, a))", a=f32, b=f32)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(self.graph, over=self.out)
