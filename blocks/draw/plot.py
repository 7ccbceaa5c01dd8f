from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, u8

#: The bytes of the kernel's struct `Scale`.
SCALE_BYTES = 188
#: Choices of the axis and of the background.
AXES, PAPERS = ("linear", "logarithmic"), ("dark", "light")


class Plot(Block, id="image.plot", tags=("graph", "chart", "curve", "line", "loss", "history", "scope")):
    """Draws numbers as a curve.

    The first number is at the left, the last at the right. The horizontal axis counts them from 0, and the vertical one
    fits them; the last number is at the upper right. NaN and infinite numbers leave gaps. In a logarithmic plot, grid
    lines are powers of 10, and numbers of 0 and below leave gaps too. A plot of less than 160 by 100 pixels has no
    axes.
    """

    x: In[f32] = port(rank=1, doc="The numbers, shape [n].")
    image: Out[float4] = port(shape="[height, width]", doc="The picture, linear RGBA, opaque.")
    width: int = param(480, min=16, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(240, min=16, max=8192, unit="px", structural=True, doc="Height of the picture.")
    axis: str = param("linear", choices=AXES, doc="Scale of the vertical axis.")
    paper: str = param("dark", choices=PAPERS, doc="Background of the curve.")

    scale = Kernel("plot.cu", entry="find_scale")
    draw = Kernel("plot.cu", entry="draw_plot")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread block for the range, then one thread per pixel."""
        found = build.buffer("scale", u8, f"[{SCALE_BYTES}]")
        is_log, is_light = self.axis == "logarithmic", self.paper == "light"
        build.launch(self.scale, num_threads=256, args=(self.x, found, is_log, self.x.size))
        size = (self.x.size, self.width, self.height)
        build.launch(
            self.draw, num_threads=(self.width, self.height), args=(self.x, found, self.image, is_log, is_light, *size)
        )
