from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Posterize(Block, id="image.posterize", tags=("quantize", "reduce colors", "bands", "poster", "toon")):
    """Rounds colours to a few steps.

    Red, green and blue get the nearest of `steps` values from 0 to 1 that are equally far from each other. Alpha does
    not change. With Dither, the mean colour is kept.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The image in few colours, of the same size.")
    steps: int = param(4, min=2, max=256, doc="Values of each channel.")

    graph = OpGraphSource.of_expression(
        "c = floor(saturate(image.xyz) * (steps - 1) + 0.5) / (steps - 1)\nvec(c.x, c.y, c.z, image.w)", image=float4
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
