from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, float2, port

_DIVERGENCE = """\
right = velocity[px + 1, py].x if px + 1 < width else 0
below = velocity[px, py + 1].y if py + 1 < height else 0
left = velocity[px, py].x if px > 0 else 0
above = velocity[px, py].y if py > 0 else 0
right - left + below - above"""


class Divergence(Block, id="field.divergence", tags=("fluid", "flow", "sources", "navier", "stokes")):
    """Outputs how much more flows out of each cell than into it.

    Pressure Step and Subtract Gradient make it 0, as in water and slow air. There are walls on all four sides.
    """

    velocity: In[float2] = port(rank=2, doc="Flow through the left and the upper side of each cell, cells/s.")
    out: Out[f32] = port(shape="same(velocity)", doc="Net outflow of each cell, 1/s.")

    graph = OpGraphSource.of_expression(_DIVERGENCE, velocity=float2)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per cell."""
        build.compute(self.graph, over=self.out)
