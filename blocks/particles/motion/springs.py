from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port, s32, u64
from warploom.blocks.particles.particle import Particle

FILE = "particle_springs.cu"


class Springs(
    Block, id="particles.springs", tags=("elastic", "soft body", "mass-spring", "net", "jelly", "constraint")
):
    """Pulls particles together and apart by springs between them.

    A spring is a pair of particles, or a side of a triangle: connect the faces of a mesh on whose points the particles
    were scattered, and the mesh is elastic. Springs are as long at rest as in the first frame. Works in place, on
    living particles, before Integrate; all particles have the same mass. The stiffness is held at what is stable for
    eight springs at a particle.
    """

    particles: In[Particle] = port(doc="The particles.")
    edges: In[s32] = port(rank=2, doc="Indices of particles, shape [springs, 2] for pairs or [triangles, 3].")
    out: Out[Particle] = port(inplace="particles", doc="The same particles with new velocities.")
    stiffness: float = param(400.0, min=0, max=1e6, unit="1/s²", doc="Acceleration for each metre of stretch.")
    damping: float = param(2.0, min=0, max=1000, unit="1/s", doc="How quickly a spring stops swinging.")
    stretch: float = param(1.0, min=0, max=10, doc="Factor of the length at rest.")
    reset: bool = param(False, restarts=True, doc="Takes the present lengths for those at rest when it becomes true.")

    pull = Kernel(FILE, entry="pull_springs")
    take = Kernel(FILE, entry="take_changes")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per spring, which adds to both of its ends, then one per particle."""
        corners, count = self.edges.dim(1), self.out.size
        for rest in (corners - 2, 3 - corners):
            build.require(rest, "edges must have rows of two or three particles", port=self.edges)
        lengths = build.buffer("lengths", f32, "[edges.size]", state=True)
        changes = build.buffer("changes", u64, "[particles.size, 3]")
        build.fill(changes, 0)
        springs = (self.out, self.edges, lengths, changes, build.frame, self.stiffness, self.damping, self.stretch)
        build.launch(self.pull, num_threads=self.edges.size, args=(*springs, corners, count, self.edges.size))
        build.launch(self.take, num_threads=count, args=(self.out, changes, count))
