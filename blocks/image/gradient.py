from engine.api import Block, BlockBuilder, OpGraphSource, Out, float4, param, port


class Gradient(Block, id="image.gradient", tags=("ramp", "generator", "background")):
    """Make a linear gradient from one colour to another.

    At angle 0 it runs from left to right, at 90 from top to bottom; it spans the image in every direction. Use it as a
    background, as a mask, or to see what a tone change does.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The gradient, linear RGBA, opaque.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    angle: float = param(0.0, min=-180, max=180, unit="degrees", doc="Direction, clockwise from left-to-right.")
    red_from: float = param(0.02, min=0, max=1, doc="Linear red where it begins.")
    green_from: float = param(0.03, min=0, max=1, doc="Linear green where it begins.")
    blue_from: float = param(0.10, min=0, max=1, doc="Linear blue where it begins.")
    red_to: float = param(1.00, min=0, max=1, doc="Linear red where it ends.")
    green_to: float = param(0.45, min=0, max=1, doc="Linear green where it ends.")
    blue_to: float = param(0.15, min=0, max=1, doc="Linear blue where it ends.")

    # 0 and 1 lie on the two corners, or edges, that are farthest apart in this direction.
    graph = OpGraphSource.of_expression(
        "along_x = cos(angle * pi / 180)\n"
        "along_y = sin(angle * pi / 180)\n"
        "span = abs(along_x) + abs(along_y)\n"
        "t = saturate(((u - 0.5) * along_x + (v - 0.5) * along_y) / span + 0.5)\n"
        "red = red_from + (red_to - red_from) * t\n"
        "green = green_from + (green_to - green_from) * t\n"
        "blue = blue_from + (blue_to - blue_from) * t\n"
        "vec(red, green, blue, 1)"
    )

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        build.compute(self.graph, over=self.out)
