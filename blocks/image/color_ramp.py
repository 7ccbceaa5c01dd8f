from blocks.image.palettes import PALETTES
from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port


class ColorRamp(Block, id="image.color_ramp", tags=("colormap", "heatmap", "palette", "false color")):
    """Show numbers as colours.

    Values up to `low` are black, values from `high` on have the first colour of the palette. Use it to look at any
    field: temperatures, heights, counts converted to f32.
    """

    x: In[f32] = port(rank=2, doc="The values, shape [height, width].")
    image: Out[float4] = port(shape="same(x)", doc="The picture, linear RGBA, opaque.")
    low: float = param(0.0, min=-1000, max=1000, doc="Value that is black.")
    high: float = param(1.0, min=-1000, max=1000, doc="Value that has the first colour.")
    palette: str = param("ember", choices=PALETTES, doc="The colours.")

    kernel = Kernel("fields.cu", entry="color_values")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        look = (self.low, self.high, PALETTES.index(self.palette))
        arguments = (self.x, self.image, *look, self.image.size)
        build.launch(self.kernel, num_threads=self.image.size, args=arguments)
