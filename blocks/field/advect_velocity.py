from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float2, param, port

#: x lies on the left sides of cells, and y on the upper sides, so each is moved by the flow there.
_MOVED = """\
left = velocity[px - 1, py]
above = velocity[px, py - 1]
here = velocity[px, py]
across = (left.y + here.y + velocity[px - 1, py + 1].y + velocity[px, py + 1].y) / 4
along = (above.x + here.x + velocity[px + 1, py - 1].x + velocity[px + 1, py].x) / 4
x = sample(velocity, px - time_step * here.x, py - time_step * across, coordinates="elements").x
y = sample(velocity, px - time_step * along, py - time_step * here.y, coordinates="elements").y
kept = exp(-drag * time_step)
vec(x * kept if px > 0 else 0, y * kept if py > 0 else 0)"""


class AdvectVelocity(Block, id="field.advect_velocity", tags=("fluid", "flow", "navier", "stokes", "simulation")):
    """Moves the velocity of a fluid with its own flow.

    The first step of a stable fluid (Stam). Then add forces, and take the divergence out: Divergence, Pressure Step and
    Subtract Gradient. There are walls on all four sides.
    """

    velocity: In[float2] = port(rank=2, doc="Flow through the left and the upper side of each cell, cells/s.")
    out: Out[float2] = port(shape="same(velocity)", doc="The velocity, `time_step` later.")
    time_step: float = param(1 / 60, min=-1, max=1, unit="s", doc="Time between two steps.")
    drag: float = param(0.0, min=0, max=60, unit="1/s", doc="How quickly the fluid slows down.")

    graph = OpGraphSource.of_expression(_MOVED, velocity=float2)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per cell."""
        build.compute(self.graph, over=self.out)
