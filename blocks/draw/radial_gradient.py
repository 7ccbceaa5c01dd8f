from warploom.api import Block, BlockBuilder, OpGraphSource, Out, float4, param, port


class RadialGradient(Block, id="image.radial_gradient", tags=("ramp", "circle", "spot", "glow", "generator", "mask")):
    """Outputs a gradient from a middle outwards.

    It goes from the first colour in the middle to the last one at the radius and beyond, in straight lines through
    linear light. Use it as a background, as a spot of light, or as a mask.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The gradient, linear RGBA, opaque.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    center_x: float = param(0.5, min=-1, max=2, doc="The middle, in widths from the left.")
    center_y: float = param(0.5, min=-1, max=2, doc="The middle, in heights from the top.")
    radius: float = param(0.5, min=0.001, max=4, doc="Distance of the last colour, in heights of the image.")
    red_from: float = param(1.00, min=0, max=1, doc="Red of the first colour, linear.")
    green_from: float = param(0.45, min=0, max=1, doc="Green of the first colour, linear.")
    blue_from: float = param(0.15, min=0, max=1, doc="Blue of the first colour, linear.")
    red_to: float = param(0.02, min=0, max=1, doc="Red of the last colour, linear.")
    green_to: float = param(0.03, min=0, max=1, doc="Green of the last colour, linear.")
    blue_to: float = param(0.10, min=0, max=1, doc="Blue of the last colour, linear.")

    graph = OpGraphSource.of_expression(
        "x = (u - center_x) * width / height\n"
        "t = saturate(hypot(x, v - center_y) / radius)\n"
        "red = red_from + (red_to - red_from) * t\n"
        "green = green_from + (green_to - green_from) * t\n"
        "blue = blue_from + (blue_to - blue_from) * t\n"
        "vec(red, green, blue, 1)"
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
