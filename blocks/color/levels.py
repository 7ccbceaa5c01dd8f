from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Levels(Block, id="image.levels", tags=("black point", "white point", "range", "normalise", "gamma", "contrast")):
    """Spreads a range of brightness over another one.

    Each of red, green and blue becomes t^(1 / gamma) * (high_out - low_out) + low_out, where t = (c - low) / (high -
    low), kept between 0 and 1. Alpha does not change. A lower `high_out` than `low_out` inverts the image.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="The image with other levels, of the same size."
    )
    low: float = param(0.0, min=-1, max=10, doc="What becomes `low_out`: the black point.")
    high: float = param(1.0, min=-1, max=10, doc="What becomes `high_out`: the white point.")
    gamma: float = param(1.0, min=0.1, max=10, doc="Brightness of what lies between; above 1 is lighter.")
    low_out: float = param(0.0, min=-1, max=10, doc="The new value of what is `low` or less.")
    high_out: float = param(1.0, min=-1, max=10, doc="The new value of what is `high` or more.")

    graph = OpGraphSource.of_expression(
        "span = high - low\n"
        "t = saturate((image.xyz - low) / (span if abs(span) > 1e-6 else 1e-6))\n"
        "c = (t if gamma == 1 else exp2(log2(t) * (1 / gamma))) * (high_out - low_out) + low_out\n"
        "vec(c.x, c.y, c.z, image.w)",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
