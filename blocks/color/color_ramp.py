from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, float4, param, port
from warploom.blocks.color.palettes import PALETTES, ramp


@cache
def _colors(palette: str) -> OpGraphSource:
    return OpGraphSource.of_expression(
        f"t = saturate((x - low) / (high - low))\n"
        f"place = 1 - t\n"
        f"{ramp(palette)}\n"
        f"c = ramp * saturate(4 * t)\n"
        f"vec(c.x, c.y, c.z, 1)",
        output="image",
        x=f32,
    )


class ColorRamp(Block, id="image.color_ramp", tags=("colormap", "heatmap", "palette", "false color", "rainbow")):
    """Maps numbers to colours.

    Values up to `low` are black, and values of `high` and above have the first colour of the palette. Use it to view
    any field: temperatures, heights, or counts converted to f32.
    """

    x: In[f32] = port(rank=2, doc="The values, shape [height, width].")
    image: Out[float4] = port(shape="same(x)", doc="The picture, linear RGBA, opaque.")
    low: float = param(0.0, min=-1000, max=1000, doc="Value shown as black.")
    high: float = param(1.0, min=-1000, max=1000, doc="Value shown in the first colour of the palette.")
    palette: str = param("ember", choices=tuple(PALETTES), doc="The palette.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_colors(self.palette), over=self.image)
