from warploom.api import Block, BlockBuilder, OpGraphSource, Out, float4, param, port


class Gradient(Block, id="image.gradient", tags=("ramp", "generator", "background")):
    """Outputs a linear gradient from one colour to another.

    At an angle of 0 degrees the gradient runs from left to right, at 90 from top to bottom. At every angle it spans the
    whole image. Use it as a background, as a mask, or to see what a tone change does.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The gradient, linear RGBA, opaque.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    angle: float = param(
        0.0, min=-180, max=180, unit="degrees", doc="Direction: 0 is left to right, positive is clockwise."
    )
    red_from: float = param(0.02, min=0, max=1, doc="Red of the first colour, linear.")
    green_from: float = param(0.03, min=0, max=1, doc="Green of the first colour, linear.")
    blue_from: float = param(0.10, min=0, max=1, doc="Blue of the first colour, linear.")
    red_to: float = param(1.00, min=0, max=1, doc="Red of the last colour, linear.")
    green_to: float = param(0.45, min=0, max=1, doc="Green of the last colour, linear.")
    blue_to: float = param(0.15, min=0, max=1, doc="Blue of the last colour, linear.")

    # t is 0 and 1 at the two corners, or edges, that are farthest apart in the gradient's direction.
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
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
