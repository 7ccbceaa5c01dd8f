from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Grayscale(Block, id="image.grayscale", tags=("gray", "grey", "luminance", "desaturate", "monochrome")):
    """Removes the colour of an image.

    Red, green and blue are mixed with the luminance (0.2126 R + 0.7152 G + 0.0722 B, in linear light) by `amount`.
    Alpha does not change.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to change, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The grey image, of the same size.")
    amount: float = param(1.0, min=0, max=1, doc="Strength of the effect: 0 none, 1 full.")

    graph = OpGraphSource.of_expression(
        "grey = 0.2126 * image.x + 0.7152 * image.y + 0.0722 * image.z\n"
        "c = mix(image.xyz, vec(grey, grey, grey), amount)\n"
        "vec(c.x, c.y, c.z, image.w)",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
