from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle
from warploom.blocks.particles.select import QUANTITIES


class Kill(Block, id="particles.kill", tags=("die", "remove", "delete", "end", "age", "bounds")):
    """Ends the lives of particles whose speed, height, age or distance from the origin is in a range.

    Works in place. A particle in the range is dead from then on: nothing draws or moves it, and an Emitter may use its
    place again. Put the block after Integrate, to end what falls below the ground or flies too far.
    """

    particles: In[Particle] = port(doc="The particles.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles, some of them dead.")
    by: str = param(
        "height",
        choices=QUANTITIES,
        doc="Property to test: speed in m/s, height in m, age as a share of the lifetime, or distance in m.",
    )
    low: float = param(-1000.0, min=-1000, max=1000, doc="Lower end of the range, included, in the property's unit.")
    high: float = param(0.0, min=-1000, max=1000, doc="Upper end of the range, not included, in the property's unit.")

    kernel = Kernel("select_particles.cu", entry="kill_particles")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle."""
        limits = (QUANTITIES.index(self.by), self.low, self.high)
        build.launch(self.kernel, num_threads=self.out.size, args=(self.out, *limits, self.out.size))
