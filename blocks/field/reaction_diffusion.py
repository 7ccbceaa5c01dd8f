from warploom.api import Block, BlockBuilder, BufferHandle, In, Kernel, Out, float2, param, port
from warploom.blocks.field.rows import ROWS


class ReactionDiffusion(
    Block,
    id="field.reaction_diffusion",
    title="Reaction-Diffusion",
    tags=("gray", "scott", "turing", "pattern", "coral", "spots", "stripes", "simulation"),
):
    """Lets two substances spread and react, which grows into spots, stripes or coral.

    The second substance turns the first into itself; the first is fed, and the second dies (Gray and Scott). The field
    is a torus. Put the block in a loop with a Frame Delay, or with a State and an Assign; begin with the first
    substance at 1 everywhere, and some of the second in places.
    """

    field: In[float2] = port(rank=2, doc="Both substances of each cell, from 0 to 1, shape [height, width].")
    out: Out[float2] = port(shape="same(field)", doc="The substances after the steps.")
    feed: float = param(0.0545, min=0, max=0.2, doc="Share of the first substance that is fed in a step.")
    kill: float = param(0.062, min=0, max=0.2, doc="Share of the second substance that dies in a step.")
    spread_a: float = param(1.0, min=0, max=1, doc="How well the first substance spreads.")
    spread_b: float = param(0.5, min=0, max=1, doc="How well the second substance spreads.")
    steps: int = param(8, min=1, max=200, structural=True, doc="Steps in a frame.")

    kernel = Kernel("cells.cu", entry="react_substances")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per cell in each step, from one buffer to another, such that the last one is the output."""
        size = (self.out.dim(1), self.out.dim(0))
        other = build.buffer("between", float2, "same(field)") if self.steps > 1 else self.out
        source: BufferHandle = self.field
        for left in reversed(range(self.steps)):
            target = other if left % 2 else self.out
            rates = (self.feed, self.kill, self.spread_a, self.spread_b)
            build.launch(self.kernel, num_threads=size, thread_block=ROWS, args=(source, target, *rates, *size))
            source = target
