from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, float2, port

_REST = """\
here = pressure[px, py]
x = velocity[px, py].x - (here - pressure[px - 1, py])
y = velocity[px, py].y - (here - pressure[px, py - 1])
vec(x if px > 0 else 0, y if py > 0 else 0)"""


class SubtractGradient(Block, id="field.subtract_gradient", tags=("fluid", "flow", "project", "navier", "stokes")):
    """Takes the slope of a pressure out of a velocity.

    With the pressure of a converged Pressure Step, as much flows into each cell as out of it. The flow through the
    walls on all four sides becomes 0.
    """

    velocity: In[float2] = port(rank=2, doc="Flow through the left and the upper side of each cell, cells/s.")
    pressure: In[f32] = port(shape="same(velocity)", doc="The pressure of each cell, from Pressure Step.")
    out: Out[float2] = port(shape="same(velocity)", doc="The velocity without the slope.")

    graph = OpGraphSource.of_expression(_REST, velocity=float2, pressure=f32)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per cell."""
        build.compute(self.graph, over=self.out)
