from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port, u32


class MandelbrotStep(Block, id="fractal.mandelbrot_step", tags=("mandelbrot", "iterate", "escape")):
    """Iterates z = z * z + c for every point that has not left the circle of radius 2.

    Works in place. Put it in a While and assign `active` to the While's condition at the end of each turn: the loop
    then ends when every point has escaped or has done `most` iterations.
    """

    points: In[float4] = port(doc="Points as the block Points outputs them, of any shape.")
    counts: In[u32] = port(shape="same(points)", doc="Iterations done so far.")
    points_out: Out[float4] = port(inplace="points", doc="The points after the iterations.")
    counts_out: Out[u32] = port(
        inplace="counts", doc="Iterations done after this step; the count of a point stops when it escapes."
    )
    active: Out[u32] = port(shape="[1]", doc="Number of points that have neither escaped nor done `most` iterations.")
    steps: int = param(8, min=1, max=1000, unit="iterations", doc="Largest number of iterations in one step.")
    most: int = param(256, min=1, max=100_000, unit="iterations", doc="Largest number of iterations of a point.")

    kernel = Kernel("fractal.cu", entry="mandelbrot_step")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point; each thread block counts its active points."""
        build.fill(self.active, 0)
        buffers = (self.points_out, self.counts_out, self.active)
        size = self.points.size
        build.launch(self.kernel, num_threads=size, args=(*buffers, self.steps, self.most, size))
