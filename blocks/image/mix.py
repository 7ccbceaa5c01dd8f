from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port

#: The blend of each mode; only the first mode changes alpha. From "darken" on, as "Compositing and Blending" of the W3C
#: defines them.
MODES = {
    "normal": "above",
    "add": "a + above",
    "subtract": "a - above",
    "multiply": "a * above",
    "divide": "a / max(above, 1e-6)",
    "screen": "a + above - a * above",
    "difference": "abs(a - above)",
    "darken": "min(a, above)",
    "lighten": "max(a, above)",
    "exclusion": "a + above - 2 * a * above",
    "overlay": "2 * a * above if a <= 0.5 else 1 - 2 * (1 - a) * (1 - above)",
    "hard light": "2 * a * above if above <= 0.5 else 1 - 2 * (1 - a) * (1 - above)",
    "soft light": "a - (1 - 2 * above) * a * (1 - a) if above <= 0.5 else a + (2 * above - 1) * (bend - a)",
    "color dodge": "0 * a if a <= 0 else min(a / max(1 - above, 1e-6), 1)",
    "color burn": "0 * a + 1 if a >= 1 else 1 - min((1 - a) / max(above, 1e-6), 1)",
}
_BEND = "bend = ((16 * a - 12) * a + 4) * a if a <= 0.25 else sqrt(max(a, 0))\n"

#: Both images have straight alpha.
_OVER = """\
above = b[px, py]
cover = above.w * amount
under = a.w * (1 - cover)
alpha = cover + under
c = (above * cover + a * under) / max(alpha, 1e-9)
vec(c.x, c.y, c.z, alpha)"""


@cache
def _blend(mode: str) -> OpGraphSource:
    if mode == "over":
        return OpGraphSource.of_expression(_OVER, a=float4, b=float4)
    moved = "c" if mode == "normal" else "vec(c.x, c.y, c.z, a.w)"
    bend = _BEND if "bend" in MODES[mode] else ""
    text = f"above = b[px, py]\n{bend}mixed = {MODES[mode]}\nc = a + (mixed - a) * amount\n{moved}"
    return OpGraphSource.of_expression(text, a=float4, b=float4)


class Mix(
    Block,
    id="image.mix",
    tags=(
        "blend",
        "composite",
        "combine",
        "layer",
        "overlay",
        "compare",
        "subtract",
        "difference",
        "dissolve",
        "transition",
    ),
):
    """Blends two images.

    The result is `a`, mixed with the blend of both images by `amount`. The blend is b (normal), a + b (add), a * b
    (multiply), a + b - a * b (screen), |a - b| (difference) or that of the other names in painting programs, in linear
    light; only "normal" mixes alpha as well. "over" lays b on a by b's alpha, as for text. If `b` has another size, its
    top left corner lies on that of `a`, and its border pixels are repeated beyond its border.
    """

    a: In[float4] = port(dtype="picture", rank=2, doc="The lower image, linear RGBA, which decides the size.")
    b: In[float4] = port(dtype="picture", rank=2, doc="The upper image, linear RGBA, of any size.")
    out: Out[float4] = port(dtype="same(a)", shape="same(a)", doc="The blend, of the size of a.")
    amount: float = param(0.5, min=0, max=1, doc="Share of the blend: 0 is only a, 1 only the blend.")
    mode: str = param("normal", choices=(*MODES, "over"), doc="How the two images are blended.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel of a."""
        build.compute(_blend(self.mode), over=self.out)
