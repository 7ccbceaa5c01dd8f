from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port

#: The kernel gets the index of one.
MODES = ("normal", "add", "multiply", "screen", "difference")


class Mix(Block, id="image.mix", tags=("blend", "composite", "combine", "layer")):
    """Blend two images.

    The result moves from `a` to the blend of both by `amount`. The blend is b (normal), a + b (add), a * b (multiply),
    a + b - a * b (screen) or |a - b| (difference), in linear light; only "normal" mixes alpha as well. When `b` has
    another size, it lies at the top left, and its border pixels extend beyond it.
    """

    a: In[float4] = port(rank=2, doc="The image below, linear RGBA; it gives the size.")
    b: In[float4] = port(rank=2, doc="The image above, linear RGBA, of any size.")
    out: Out[float4] = port(shape="same(a)", doc="The blend, of the size of a.")
    amount: float = param(0.5, min=0, max=1, doc="How much of the blend: 0 is only a.")
    mode: str = param("normal", choices=MODES, doc="How the two are put together.")

    kernel = Kernel("mix.cu", entry="mix")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel of a."""
        size = (self.a.dim(1), self.a.dim(0))
        blend = (self.amount, MODES.index(self.mode))
        arguments = (self.a, self.b, self.out, *blend, *size, self.b.dim(1), self.b.dim(0))
        build.launch(self.kernel, num_threads=size, args=arguments)
