from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle


class Attract(Block, id="particles.attract", tags=("attractor", "vortex", "swirl", "tornado", "magnet", "repel")):
    """Pulls particles towards a point, and swirls them around it.

    Works in place, on living particles. The force is full at the point and falls evenly to 0 at `reach`. With a swirl
    the point becomes a vortex with an upright axis. The forces of several blocks in a row add up; drive the place with
    Mouse to lead particles by hand.
    """

    particles: In[Particle] = port(doc="The particles to accelerate.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles with new velocities.")
    x: float = param(0.0, min=-100, max=100, unit="m", doc="Place of the point, to the right.")
    y: float = param(2.0, min=-100, max=100, unit="m", doc="Place of the point, upwards.")
    z: float = param(0.0, min=-100, max=100, unit="m", doc="Place of the point, to the front.")
    pull: float = param(10.0, min=-200, max=200, unit="m/s²", doc="Pull towards it; negative values push away.")
    swirl: float = param(0.0, min=-200, max=200, unit="m/s²", doc="Push around the upright axis through it.")
    reach: float = param(3.0, min=0.01, max=1000, unit="m", doc="Distance at which the force ends.")

    kernel = Kernel("forces.cu", entry="attract")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle."""
        force = (self.x, self.y, self.z, self.pull, self.swirl, self.reach)
        args = (self.out, build.frame, *force, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=args)
