from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port
from warploom.blocks.particles.particle import Particle

#: Shapes, in the order of their numbers in the kernel.
SHAPES = ("ball", "disc", "box")


class ScatterParticles(
    Block,
    id="particles.scatter",
    title="Scatter Particles",
    tags=("source", "spawn", "fill", "galaxy", "swarm", "from points", "simulation"),
):
    """Places particles once, in a shape or on given points; they stay for good.

    Points can come from Load Points, Load Mesh or Surface; if there are more particles than points, several begin at
    the same place. The buffer keeps its contents from frame to frame. Connect forces and Integrate, which change it in
    place, to make the particles move, and colour them by speed.
    """

    points: In[float4] = port(
        rank=1, optional=True, advised=False, doc="Places x, y, z, which are scaled by `size` instead of a shape."
    )
    particles: Out[Particle] = port(shape="[count]", state=True, doc="The particles.")
    count: int = param(20_000, min=1, max=10_000_000, unit="particles", structural=True, doc="Number of particles.")
    shape: str = param("ball", choices=SHAPES, doc="Shape that is filled evenly.")
    size: float = param(1.5, min=0, max=100, unit="m", doc="Radius of the shape, or half an edge of the box.")
    height: float = param(1.7, min=-100, max=100, unit="m", doc="Height of the shape's centre.")
    speed: float = param(0.5, min=0, max=30, unit="m/s", doc="Speed at the beginning, in random directions.")
    swirl: float = param(
        0.0, min=-30, max=30, unit="m/s", doc="Speed around the vertical axis at the rim, less towards the axis."
    )
    seed: int = param(1, min=0, max=1000, fresh=True, doc="Start of the random sequence.")

    on_points = Kernel("crowd.cu", entry="scatter_on_points")
    in_shape = Kernel("crowd.cu", entry="scatter_in_shape")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle; points that are connected come before the shape."""
        look, count = (self.size, self.height, self.speed, self.swirl, self.seed), self.particles.size
        given = (self.particles, self.points, build.frame, *look, self.points.size, count)
        build.launch(self.on_points, num_threads=count, args=given, needs=self.points)
        shaped = (self.particles, build.frame, SHAPES.index(self.shape), *look, count)
        build.launch(self.in_shape, num_threads=count, args=shaped)
