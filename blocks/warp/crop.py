from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Crop(Block, id="image.crop", tags=("cut", "trim", "region", "pad", "canvas", "window")):
    """Cuts a rectangle out of an image.

    The corner can move while the patch runs. What lies outside of the image is transparent black, so this block also
    adds a margin: with a negative corner and a larger size.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="[height, width]", doc="The rectangle.")
    left: int = param(0, min=-16384, max=16384, unit="px", doc="Column of the image at the left edge.")
    top: int = param(0, min=-16384, max=16384, unit="px", doc="Row of the image at the top edge.")
    width: int = param(512, min=1, max=16384, unit="px", structural=True, doc="Width of the rectangle.")
    height: int = param(512, min=1, max=16384, unit="px", structural=True, doc="Height of the rectangle.")

    graph = OpGraphSource.of_expression(
        'sample(image, px + left, py + top, coordinates="elements", filter="nearest", boundary="zero")', image=float4
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel of the rectangle."""
        build.compute(self.graph, over=self.out)
