from engine.api import Block, BlockBuilder, Kernel, Out, float4, param, port, u32


class Points(Block, id="fractal.points", tags=("mandelbrot", "complex", "plane")):
    """Lay out the points of the complex plane that a fractal is computed for.

    Each point holds z, which begins with 0, and its place c. Connect both outputs to a Mandelbrot Step inside a loop,
    which changes them in place. The default shows the whole Mandelbrot set.
    """

    points: Out[float4] = port(shape="[height, width]", doc="(z real, z imaginary, c real, c imaginary).")
    counts: Out[u32] = port(shape="[height, width]", doc="Iterations done so far: all 0.")
    width: int = param(960, min=16, max=8192, unit="px", structural=True, doc="Points across.")
    height: int = param(640, min=16, max=8192, unit="px", structural=True, doc="Points down.")
    real: float = param(-0.7, min=-4, max=4, doc="Real part of the middle.")
    imaginary: float = param(0.0, min=-4, max=4, doc="Imaginary part of the middle.")
    span: float = param(3.3, min=1e-5, max=8, doc="Real parts that the width takes in; smaller is nearer.")

    kernel = Kernel("fractal.cu", entry="begin_points")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a point."""
        size = (self.width, self.height)
        arguments = (self.points, self.counts, self.real, self.imaginary, self.span, *size)
        build.launch(self.kernel, num_threads=size, args=arguments)
