from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class FilmGrain(Block, id="image.film_grain", tags=("noise", "analog", "texture", "iso")):
    """Adds random grain to an image, other in each frame.

    A grain is a square of `size` pixels. It has the sum of three uniform random numbers, with mean 0 and deviation
    `amount`, in all three channels alike. Negative results become 0. Alpha does not change. The same seed gives the
    same grain in the same frame.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The image with grain, of the same size.")
    amount: float = param(0.05, min=0, max=2, doc="Deviation of the grain.")
    size: int = param(1, min=1, max=64, unit="px", doc="Width and height of a grain.")
    seed: int = param(0, min=0, max=1_000_000, doc="Start of the random sequence; another seed gives other grain.")

    graph = OpGraphSource.of_expression(
        "x = int(px / size)\n"
        "y = int(py / size)\n"
        "three = 3 * int(seed)\n"
        "sum = random(x, y, frame, three) + random(x, y, frame, three + 1) + random(x, y, frame, three + 2)\n"
        "c = max(image.xyz + (2 * sum - 3) * amount, 0)\n"  # the sum has a deviation of 1/2
        "vec(c.x, c.y, c.z, image.w)",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
