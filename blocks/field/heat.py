from warploom.api import Block, BlockBuilder, BufferHandle, In, Kernel, Out, f32, param, port
from warploom.blocks.field.rows import ROWS, RUN

#: What is beyond the edges, in the order of their numbers in the kernel.
BORDERS = ("insulated", "torus", "cold")


class Heat(Block, id="field.heat", tags=("diffusion", "spread", "blur", "temperature", "laplace", "simulation")):
    """Lets heat spread from cell to cell, for a time step of any length.

    A spot becomes a Gaussian whose variance grows by two times `rate`. The time is cut into `steps`; each is stable and
    keeps the sum of the heat, and no cell leaves the range of the cells around it. A step spreads at most 1/4, so a
    rate above a quarter of the steps is held there. Put the block in a loop with a Frame Delay, or with a State and an
    Assign.
    """

    field: In[f32] = port(rank=2, doc="The heat of each cell, shape [height, width].")
    conductivity: In[f32] = port(
        shape="same(field)", optional=True, advised=False, doc="Share of the rate in each cell, from 0 to 1."
    )
    out: Out[f32] = port(shape="same(field)", doc="The heat after the time step.")
    rate: float = param(0.8, min=0, max=250, unit="px²", doc="Diffusivity times time step.")
    steps: int = param(4, min=1, max=1000, structural=True, doc="Parts of the time step; more spread further.")
    border: str = param("insulated", choices=BORDERS, doc="Edges that keep heat in, that meet, or that are held at 0.")

    kernel = Kernel("cells.cu", entry="spread_heat")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread for RUN cells of a column in each step; the last step writes the output."""
        width, height = self.out.dim(1), self.out.dim(0)
        other = build.buffer("between", f32, "same(field)") if self.steps > 1 else self.out
        source: BufferHandle = self.field
        for left in reversed(range(self.steps)):
            target = other if left % 2 else self.out
            flow = (self.rate, self.steps, BORDERS.index(self.border))
            args = (source, self.conductivity, target, *flow, width, height)
            threads = (width, (height + RUN - 1) // RUN)
            build.launch(self.kernel, num_threads=threads, thread_block=ROWS, args=args)
            source = target
