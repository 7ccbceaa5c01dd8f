from engine.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port

#: What is put in the place of a; the modes after the first one leave alpha as it is.
MODES = {
    "normal": "above",
    "add": "a + above",
    "multiply": "a * above",
    "screen": "a + above - a * above",
    "difference": "abs(a - above)",
}


def _blend(mode: str) -> OpGraphSource:
    moved = "c" if mode == "normal" else "vec(c.x, c.y, c.z, a.w)"
    text = f"above = b[px, py]\nc = a + ({MODES[mode]} - a) * amount\n{moved}"
    return OpGraphSource.of_expression(text, a=float4, b=float4)


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
    mode: str = param("normal", choices=tuple(MODES), doc="How the two are put together.")

    graphs = {mode: _blend(mode) for mode in MODES}  # noqa: RUF012 - never changed

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel of a."""
        build.compute(self.graphs[self.mode], over=self.out)
