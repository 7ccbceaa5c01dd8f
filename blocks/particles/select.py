from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle

#: Properties, in the order of their numbers in the kernel.
QUANTITIES = ("speed", "height", "age", "distance")


class SelectParticles(
    Block, id="particles.select", title="Select Particles", tags=("filter", "append", "cull", "count", "find")
):
    """Selects the particles whose speed, height, age or distance from the origin is in a range.

    Copies the living particles in the range to the front of a buffer, in any order, and counts them. If more particles
    match than `capacity`, the rest are dropped, the count is `capacity`, and a warning is shown.
    """

    particles: In[Particle] = port(doc="The particles to look through.")
    selected: Out[Particle] = port(shape="[capacity]", append=True, doc="The selected particles, from the front on.")
    capacity: int = param(
        20_000, min=1, max=10_000_000, unit="particles", structural=True, doc="Largest number of particles to select."
    )
    by: str = param(
        "speed",
        choices=QUANTITIES,
        doc="Property to test: speed in m/s, height in m, age as a share of the lifetime, or distance in m.",
    )
    low: float = param(4.0, min=-1000, max=1000, doc="Lower end of the range, included, in the unit of the property.")
    high: float = param(
        1000.0, min=-1000, max=1000, doc="Upper end of the range, not included, in the unit of the property."
    )

    kernel = Kernel("select_particles.cu", entry="select_particles")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle; each finds its place with an atomic addition."""
        target = (self.selected, self.selected.counter, self.selected.size)
        limits = (QUANTITIES.index(self.by), self.low, self.high)
        arguments = (self.particles, *target, *limits, self.particles.size)
        build.launch(self.kernel, num_threads=self.particles.size, args=arguments)
