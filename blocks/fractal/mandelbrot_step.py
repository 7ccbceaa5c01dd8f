from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port, u32


class MandelbrotStep(Block, id="fractal.mandelbrot_step", tags=("mandelbrot", "iterate", "escape")):
    """Iterate z = z * z + c for every point that has not left the circle of radius 2.

    Works in place. Put it in a While whose condition is assigned `active` at the end of each turn: the loop then ends
    when every point has escaped or has done `most` iterations.
    """

    points: In[float4] = port(doc="Points as Points lays them out, of any shape.")
    counts: In[u32] = port(shape="same(points)", doc="Iterations done so far.")
    points_out: Out[float4] = port(inplace="points", doc="The points, some iterations later.")
    counts_out: Out[u32] = port(inplace="counts", doc="The iterations done now; they stop when a point escapes.")
    active: Out[u32] = port(shape="[1]", doc="How many points are not finished.")
    steps: int = param(8, min=1, max=1000, unit="iterations", doc="Most iterations in one step.")
    most: int = param(256, min=1, max=100_000, unit="iterations", doc="Iterations after which a point is left alone.")

    kernel = Kernel("fractal.cu", entry="mandelbrot_step")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a point; a thread block counts its active points at once."""
        build.fill(self.active, 0)
        buffers = (self.points_out, self.counts_out, self.active)
        size = self.points.size
        build.launch(self.kernel, num_threads=size, args=(*buffers, self.steps, self.most, size))
