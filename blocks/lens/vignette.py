from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Vignette(Block, id="image.vignette", tags=("lens", "corners", "darken", "film", "spot")):
    """Darkens an image towards its corners.

    Red, green and blue are multiplied by 1 inside the radius, and by 1 - amount beyond radius + softness, with a smooth
    way in between. A distance of 1 is that of the corners from the middle. Alpha does not change.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The darkened image, of the same size.")
    amount: float = param(0.5, min=-1, max=1, doc="Share of light that is lost; below 0, corners get lighter.")
    radius: float = param(0.4, min=0, max=2, doc="Distance from the middle where it begins.")
    softness: float = param(0.6, min=0.001, max=2, doc="Distance over which it grows.")

    graph = OpGraphSource.of_expression(
        "distance = hypot(u - 0.5, v - 0.5) * sqrt(2)\n"
        "t = saturate((distance - radius) / softness)\n"
        "c = image.xyz * (1 - amount * t * t * (3 - 2 * t))\n"
        "vec(c.x, c.y, c.z, image.w)",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
