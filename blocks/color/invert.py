from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Invert(Block, id="image.invert", tags=("negative",)):
    """Outputs the negative of an image.

    Red, green and blue c are mixed with 1 - c by `amount`. Alpha does not change. Use it after Sobel for dark lines on
    white.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to change, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The negative, of the same size.")
    amount: float = param(1.0, min=0, max=1, doc="Strength of the effect: 0 none, 1 full.")

    graph = OpGraphSource.of_expression(
        "c = mix(image.xyz, 1 - image.xyz, amount)\nvec(c.x, c.y, c.z, image.w)", image=float4
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
