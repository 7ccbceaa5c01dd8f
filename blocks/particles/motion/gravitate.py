from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle


class Gravitate(Block, id="particles.gravitate", tags=("gravity", "n-body", "nbody", "galaxy", "stars", "attract")):
    """Accelerates particles towards each other, as stars are.

    Works in place, on living particles, which all have the same mass. Each looks at every other one, so the work grows
    with the square of their number: some ten thousand are a good number on a GPU. Momentum is kept.
    """

    particles: In[Particle] = port(doc="The particles to accelerate.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles with new velocities.")
    strength: float = param(
        0.001, min=-10, max=10, unit="m³/s²", doc="Mass of a particle, times the gravitational constant."
    )
    softening: float = param(
        0.05, min=0, max=10, unit="m", doc="Distance below which the pull grows no more, so that none is thrown out."
    )

    kernel = Kernel("crowd.cu", entry="gravitate")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle, over a copy of all of them."""
        before = build.buffer("before", Particle, "[particles.size]")
        build.copy(before, self.out)
        args = (self.out, before, build.frame, self.strength, self.softening, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=args)
