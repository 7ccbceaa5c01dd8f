from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Pixelate(Block, id="image.pixelate", tags=("mosaic", "blocks", "censor", "low resolution", "retro")):
    """Shows an image in large squares.

    Each square has the colour of the pixel in its middle. For the mean colour, put a Mean Filter before it, with half
    the size of a square as its radii.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The squares, of the size of the image.")
    size: int = param(16, min=1, max=1024, unit="px", doc="Width and height of a square.")

    graph = OpGraphSource.of_expression(
        "column = int(px / size) * int(size) + int(size / 2)\n"
        "row = int(py / size) * int(size) + int(size / 2)\n"
        "image[column, row]",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
