from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle


class Integrate(Block, id="particles.integrate", tags=("move", "step", "bounce", "floor", "simulation")):
    """Moves particles by one time step.

    Works in place, on living particles: position += velocity * time step, age += time step. With Forces before it, this
    is the semi-implicit Euler method. Particles bounce off the floor.
    """

    particles: In[Particle] = port(doc="The particles to move.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles, one time step later.")
    floor: float = param(0.0, min=-10, max=10, unit="m", doc="Height of the floor.")
    bounce: float = param(0.45, min=0, max=1, doc="Share of the vertical speed kept in a bounce.")
    friction: float = param(0.25, min=0, max=1, doc="Share of the horizontal speed lost in a bounce.")

    kernel = Kernel("integrate.cu", entry="integrate_particles")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle."""
        arguments = (self.out, build.frame, self.floor, self.bounce, self.friction, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
