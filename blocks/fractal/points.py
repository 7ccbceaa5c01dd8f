from warploom.api import Block, BlockBuilder, Kernel, Out, float4, param, port, u32


class Points(Block, id="fractal.points", tags=("mandelbrot", "complex", "plane")):
    """Outputs the points of the complex plane for which a fractal is computed.

    Each point holds z, which starts at 0, and its position c. Connect both outputs to a Mandelbrot Step inside a loop,
    which changes them in place. The defaults show the whole Mandelbrot set.
    """

    points: Out[float4] = port(shape="[height, width]", doc="(real z, imaginary z, real c, imaginary c) of each point.")
    counts: Out[u32] = port(shape="[height, width]", doc="Iterations done so far, all 0.")
    width: int = param(960, min=16, max=8192, unit="px", structural=True, doc="Number of points across.")
    height: int = param(640, min=16, max=8192, unit="px", structural=True, doc="Number of points down.")
    real: float = param(-0.7, min=-4, max=4, doc="Real part of the centre.")
    imaginary: float = param(0.0, min=-4, max=4, doc="Imaginary part of the centre.")
    span: float = param(3.3, min=1e-5, max=8, doc="Range of real parts across the width; a smaller one zooms in.")

    kernel = Kernel("fractal.cu", entry="begin_points")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point."""
        size = (self.width, self.height)
        arguments = (self.points, self.counts, self.real, self.imaginary, self.span, *size)
        build.launch(self.kernel, num_threads=size, args=arguments)
