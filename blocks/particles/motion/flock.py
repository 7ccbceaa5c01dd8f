from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port, u32
from warploom.blocks.particles.particle import Particle

FILE = "crowd.cu"
#: Lists of particles by cell; equals BUCKETS in crowd.cu.
BUCKETS = 65536


class Flock(Block, id="particles.flock", tags=("boids", "swarm", "birds", "fish", "steer", "school", "neighbours")):
    """Lets particles steer like birds in a flock.

    Works in place, on living particles. Each one looks at its neighbours within its reach: it flies where they fly,
    stays with them, and keeps a distance. Beyond its space it turns home. Put the block between Scatter Particles and
    Integrate.
    """

    particles: In[Particle] = port(doc="The particles to steer.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles with new velocities.")
    reach: float = param(0.3, min=0.01, max=100, unit="m", doc="Distance up to which a particle sees others.")
    align: float = param(2.0, min=0, max=50, unit="1/s", doc="How quickly it takes on its neighbours' velocity.")
    gather: float = param(3.0, min=0, max=50, unit="1/s²", doc="Pull towards the middle of its neighbours.")
    avoid: float = param(3.0, min=0, max=200, unit="m/s²", doc="Push away from each neighbour that is too near.")
    distance: float = param(0.12, min=0.001, max=100, unit="m", doc="Distance that it keeps from others.")
    cruise: float = param(1.5, min=0, max=50, unit="m/s", doc="Speed that it returns to.")
    space: float = param(2.0, min=0, max=1000, unit="m", doc="Distance from home beyond which it turns back.")
    home: float = param(1.7, min=-100, max=100, unit="m", doc="Height of home on the y axis.")

    collect = Kernel(FILE, entry="list_cells")
    steer = Kernel(FILE, entry="steer_flock")

    def describe(self, build: BlockBuilder) -> None:
        """List the particles by cell, then launch one thread per particle, over a copy of all of them."""
        count = self.out.size
        before = build.buffer("before", Particle, "[particles.size]")
        first, after = build.buffer("first", u32, f"[{BUCKETS}]"), build.buffer("next", u32, "[particles.size]")
        build.copy(before, self.out)
        build.fill(first, 0)
        build.launch(self.collect, num_threads=count, args=(before, first, after, self.reach, count))
        wishes = (self.reach, self.align, self.gather, self.avoid, self.distance, self.cruise, self.space, self.home)
        args = (self.out, before, first, after, build.frame, *wishes, count)
        build.launch(self.steer, num_threads=count, args=args)
