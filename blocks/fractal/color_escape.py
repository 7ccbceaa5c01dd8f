from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port, u32
from warploom.blocks.color.palettes import PALETTES, ramp

#: The distance of the last point makes the count smooth (Linas Vepstas, "Renormalizing the Mandelbrot escape"); the
#: count runs through a ramp and back. The formula needs distant points, so each point is iterated a little further.
_TURN = """
z = vec(z.x * z.x - z.y * z.y + points.z, 2 * z.x * z.y + points.w)"""
_SMOOTH = f"""
z = points.xy{_TURN * 3}
smooth = max(counts + 4 - log2(0.5 * log2(z.x * z.x + z.y * z.y)), 0)
there = 2 * fract(smooth / band + shift)
place = min(there, 2 - there)"""
#: Points that never escaped are black.
_COLOR = """
has_escaped = points.x * points.x + points.y * points.y > 4
c = ramp * saturate(smooth / band + 0.1) if has_escaped else vec(0, 0, 0)
vec(c.x, c.y, c.z, 1)"""


@cache
def _colors(palette: str) -> OpGraphSource:
    text = f"{_SMOOTH}\n{ramp(palette)}\n{_COLOR}"
    return OpGraphSource.of_expression(text, output="image", points=float4, counts=u32)


class ColorEscape(Block, id="fractal.color_escape", tags=("mandelbrot", "palette", "smooth", "image")):
    """Colours points by the number of iterations that they took to escape.

    The count is interpolated smoothly. It runs through the palette forwards and then backwards, repeatedly. Points that
    never escaped are black.
    """

    points: In[float4] = port(rank=2, doc="Points after the last iteration, shape [height, width].")
    counts: In[u32] = port(shape="same(points)", doc="Iterations of each point.")
    image: Out[float4] = port(shape="same(points)", doc="The picture, linear RGBA, opaque.")
    band: float = param(
        24.0, min=1, max=1000, unit="iterations", doc="Iterations in one round through the palette and back."
    )
    shift: float = param(0.0, min=-1, max=1, doc="Position in the round at which the colours begin.")
    palette: str = param("ember", choices=tuple(PALETTES), doc="The palette.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_colors(self.palette), over=self.image)
