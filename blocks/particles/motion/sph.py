from warploom.api import Block, BlockBuilder, In, Kernel, Out, algorithms, f32, float4, param, port, u32
from warploom.blocks.particles.particle import Particle

FILE = "sph.cu"
#: Lists of particles by cell; equals BUCKETS in sph.cu.
BUCKETS = 65536


class Sph(
    Block, id="particles.sph", title="SPH", tags=("fluid", "water", "liquid", "dam break", "smoothed", "simulation")
):
    """Lets particles flow as water in a box.

    Smoothed particle hydrodynamics: each particle pushes its neighbours off where it is too dense, and takes on their
    velocity as the viscosity says. Works in place and moves the particles, so no Integrate follows; other forces go
    before it. The time step is cut into `steps`; the speed of sound and the viscosity are held at what a step allows.
    Place the particles by Scatter Particles, about `spacing` apart.
    """

    particles: In[Particle] = port(doc="The particles.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles, one time step later.")
    density: Out[f32] = port(
        shape="[particles.size]", doc="Density of each particle, 1 at rest, before its last step; 0 for a dead one."
    )
    spacing: float = param(
        0.05, min=0.001, max=10, unit="m", doc="Distance of particles at rest; each sees others up to twice of it."
    )
    sound: float = param(
        15.0,
        min=0.1,
        max=1000,
        unit="m/s",
        doc="Speed of sound: ten times the fastest flow keeps water from shrinking.",
    )
    viscosity: float = param(0.02, min=0, max=10, unit="m²/s", doc="How thick the water is.")
    gravity: float = param(9.8, min=-50, max=50, unit="m/s²", doc="Acceleration downwards.")
    half_width: float = param(1.0, min=0.01, max=1000, unit="m", doc="Distance of the walls from the middle along x.")
    half_depth: float = param(0.4, min=0.01, max=1000, unit="m", doc="Distance of the walls from the middle along z.")
    floor: float = param(0.0, min=-1000, max=1000, unit="m", doc="Height of the floor.")
    bounce: float = param(0.1, min=0, max=1, doc="Share of the speed that a wall throws back.")
    steps: int = param(6, min=1, max=100, structural=True, doc="Parts of the time step; more allow stiffer water.")

    key = Kernel(FILE, entry="key_particles")
    sort = Kernel(FILE, entry="sort_particles")
    weigh = Kernel(FILE, entry="weigh_particles")
    push = Kernel(FILE, entry="push_particles")

    def describe(self, build: BlockBuilder) -> None:
        """In each step, sort the particles by cell, then launch one thread per particle for densities, then forces."""
        count = self.out.size
        keys, order = build.buffer("keys", u32, "[particles.size]"), build.buffer("order", u32, "captured")
        places, ways = (build.buffer(name, float4, "[particles.size]") for name in ("places", "ways"))
        starts, ends = (build.buffer(name, u32, f"[{BUCKETS}]") for name in ("starts", "ends"))
        lists, cells = (keys, order, starts, ends), (keys, order, places, ways, starts, ends)
        walls = (self.half_width, self.half_depth, self.floor, self.bounce)
        for _ in range(self.steps):
            build.launch(self.key, num_threads=count, args=(self.out, keys, self.spacing, count))
            build.capture(algorithms.Order().on(x=keys, out=order))
            build.fill(starts, 255)
            build.launch(self.sort, num_threads=count, args=(self.out, *cells, count))
            sound = (self.density, build.frame, self.spacing, self.sound, self.steps, count)
            build.launch(self.weigh, num_threads=count, args=(places, ways, *lists, *sound))
            forces = (build.frame, self.spacing, self.viscosity, self.gravity, *walls, self.steps, count)
            build.launch(self.push, num_threads=count, args=(self.out, places, ways, *lists, *forces))
