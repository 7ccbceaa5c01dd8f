from blocks.particles.particle import Particle
from engine.api import Block, BlockBuilder, In, Kernel, Out, param, port

#: The kernel gets the index of one.
QUANTITIES = ("speed", "height", "age", "distance")


class SelectParticles(Block, id="particles.select", title="Select", tags=("filter", "append", "cull", "count", "find")):
    """Gather the particles whose speed, height, age or distance from the origin lies in a range.

    Copies the living particles in the range to the front of a buffer, in any order, and counts them. When more are
    found than the buffer has places, the rest is dropped and the count is the capacity; a warning says so.
    """

    particles: In[Particle] = port(doc="The particles to look through.")
    selected: Out[Particle] = port(shape="[capacity]", append=True, doc="The selected particles, from the front on.")
    capacity: int = param(20_000, min=1, max=4_000_000, unit="particles", structural=True, doc="Most that are found.")
    by: str = param(
        "speed", choices=QUANTITIES, doc="What is looked at: speed, height in metres, age as a share of life, distance."
    )
    low: float = param(4.0, min=-1000, max=1000, doc="Least that counts: metres, metres a second or a share.")
    high: float = param(1000.0, min=-1000, max=1000, doc="From here on it no longer counts.")

    kernel = Kernel("select_particles.cu", entry="select_particles")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a particle; each finds its place with an atomic addition."""
        target = (self.selected, self.selected.counter, self.selected.size)
        limits = (QUANTITIES.index(self.by), self.low, self.high)
        arguments = (self.particles, *target, *limits, self.particles.size)
        build.launch(self.kernel, num_threads=self.particles.size, args=arguments)
