from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, u8

#: Bytes of `Scale` in the kernel.
SCALE_BYTES = 36
#: How numbers are placed, and on what they are drawn.
AXES, PAPERS = ("linear", "logarithmic"), ("dark", "light")


class Plot(Block, id="image.plot", tags=("graph", "chart", "curve", "line", "loss", "history", "scope")):
    """Draw numbers as a curve.

    The first number is at the left, the last at the right. The range follows the numbers: the largest is written at the
    upper left, the smallest at the lower left, the last at the upper right. Numbers that are infinite or not a number
    leave gaps; so do those of 0 and below in a logarithmic plot, whose lines are powers of 10.
    """

    x: In[f32] = port(rank=1, doc="The numbers, shape [n].")
    image: Out[float4] = port(shape="[height, width]", doc="The picture, linear RGBA, opaque.")
    width: int = param(480, min=16, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(240, min=16, max=8192, unit="px", structural=True, doc="Height of the picture.")
    axis: str = param("linear", choices=AXES, doc="How numbers are placed along the height.")
    paper: str = param("dark", choices=PAPERS, doc="What the curve is drawn on.")

    scale = Kernel("plot.cu", entry="find_scale")
    draw = Kernel("plot.cu", entry="draw_plot")

    def describe(self, build: BlockBuilder) -> None:
        """One thread block for the range, then one thread a pixel."""
        found = build.buffer("scale", u8, f"[{SCALE_BYTES}]")
        is_log, is_light = self.axis == "logarithmic", self.paper == "light"
        build.launch(self.scale, num_threads=256, args=(self.x, found, is_log, self.x.size))
        size = (self.x.size, self.width, self.height)
        build.launch(
            self.draw, num_threads=(self.width, self.height), args=(self.x, found, self.image, is_log, is_light, *size)
        )
