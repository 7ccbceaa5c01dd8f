from blocks.image.palettes import PALETTES
from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port, u32


class ColorEscape(Block, id="fractal.color_escape", tags=("mandelbrot", "palette", "smooth", "image")):
    """Colour points by how many iterations they took to escape.

    The count is made smooth, and runs through the colours there and back. Points that never escaped are black.
    """

    points: In[float4] = port(rank=2, doc="Points after the last iteration, shape [height, width].")
    counts: In[u32] = port(shape="same(points)", doc="Their iterations.")
    image: Out[float4] = port(shape="same(points)", doc="The picture, linear RGBA, opaque.")
    band: float = param(24.0, min=1, max=1000, unit="iterations", doc="Iterations from one colour round to the next.")
    shift: float = param(0.0, min=-1, max=1, doc="Where in the round the colours begin.")
    palette: str = param("ember", choices=PALETTES, doc="The colours.")

    kernel = Kernel("fractal.cu", entry="color_escape")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        look = (self.band, self.shift, PALETTES.index(self.palette))
        arguments = (self.points, self.counts, self.image, *look, self.image.size)
        build.launch(self.kernel, num_threads=self.image.size, args=arguments)
