from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.warp.edges import sampled


class Kaleidoscope(Block, id="image.kaleidoscope", tags=("mirror", "symmetry", "mandala", "polar", "radial")):
    """Repeats a sector of an image around a point, each time mirrored.

    The sector begins at `angle`, and the circle has `segments` pairs of it and its mirror image. What the sector needs
    beyond the edges is the image mirrored there.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The pattern, of the same size.")
    segments: int = param(6, min=1, max=64, doc="Number of pairs of mirror images.")
    angle: float = param(0.0, min=-180, max=180, unit="degrees", doc="Where the sector begins; positive is clockwise.")
    center_x: float = param(0.5, min=0, max=1, doc="Middle of the pattern, in widths of the image from the left.")
    center_y: float = param(0.5, min=0, max=1, doc="Middle of the pattern, in heights of the image from the top.")

    graph = OpGraphSource.of_expression(
        "x = px + 0.5 - center_x * width\n"
        "y = py + 0.5 - center_y * height\n"
        "start = angle * pi / 180\n"
        "sector = tau / segments\n"
        "around = (atan2(y, x) - start) % sector\n"
        "folded = min(around, sector - around) + start\n"
        "radius = hypot(x, y)\n"
        "from_x = center_x * width + radius * cos(folded) - 0.5\n"
        "from_y = center_y * height + radius * sin(folded) - 0.5\n" + sampled("from_x", "from_y", "mirror"),
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
