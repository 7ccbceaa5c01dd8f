from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle

#: Shapes, in the order of their numbers in the kernel.
SHAPES = ("ball", "box", "ground")


class Collide(Block, id="particles.collide", tags=("bounce", "obstacle", "sphere", "box", "wall", "container")):
    """Lets particles bounce off a ball, a box or the ground, or keeps them inside.

    Works in place, on living particles. A particle that the next Integrate would move into the solid bounces off its
    surface: Integrate moves it where the bounce leads. A particle that crosses a thin solid within a frame is not
    noticed. Put the block between the forces and Integrate.
    """

    particles: In[Particle] = port(doc="The particles.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles, outside of the solid.")
    shape: str = param("ball", choices=SHAPES, doc="Ball, box, or all that is below a height.")
    hollow: bool = param(False, doc="Keep particles inside instead of outside.")
    x: float = param(0.0, min=-100, max=100, unit="m", doc="Place of its centre, to the right.")
    y: float = param(1.0, min=-100, max=100, unit="m", doc="Place of its centre, upwards, or height of the ground.")
    z: float = param(0.0, min=-100, max=100, unit="m", doc="Place of its centre, to the front.")
    size: float = param(0.7, min=0, max=100, unit="m", doc="Radius of the ball, or half an edge of the box.")
    bounce: float = param(0.5, min=0, max=1, doc="Share of the speed towards the surface that is kept.")
    friction: float = param(0.1, min=0, max=1, doc="Share of the speed along the surface that is lost.")

    kernel = Kernel("forces.cu", entry="collide")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle."""
        solid = (SHAPES.index(self.shape), self.hollow, self.x, self.y, self.z, self.size)
        args = (self.out, build.frame, *solid, self.bounce, self.friction, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=args)
