from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.io.pixels import PIXELS


class ConvertPixels(
    Block, id="image.convert_pixels", tags=("half", "8 bit", "float", "format", "depth", "uchar4", "half4", "bandwidth")
):
    """Stores an image in pixels of another size.

    Blocks after it compute with the same numbers, and their results have these pixels too: smaller ones take less time
    and memory on a GPU. "float4" holds every number in 16 bytes. "half4" holds light with 11 bits of precision up to
    65504 in 8 bytes. "uchar4" has sRGB's codes and linear alpha, from 0 to 1, in 4 bytes. Each block then rounds to 256
    steps, and filters decode each pixel for all its neighbours: use it where pictures move, change colour or are shown.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="given", shape="same(image)", doc="The image with these pixels, of the same size.")
    pixels: str = param("half4", choices=tuple(PIXELS), doc="Type of the pixels.")

    graph = OpGraphSource.of_expression("image", image=float4)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.define(self.out, dtype=PIXELS[self.pixels])
        build.compute(self.graph, over=self.out)
