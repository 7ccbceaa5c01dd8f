from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, port
from warploom.blocks.particles.particle import Particle


class PointsOf(
    Block, id="particles.points_of", title="Points of Particles", tags=("positions", "velocities", "convert")
):
    """Outputs the positions and velocities of particles as points.

    Use it to draw particles with blocks of points and meshes: Trails, Render Lines, Instances and Render Cloud. The
    fourth number of each is 1 while the particle lives, and 0 for a place without one.
    """

    particles: In[Particle] = port(doc="The particles.")
    points: Out[float4] = port(shape="[particles.size]", doc="Positions x, y, z, in metres.")
    velocities: Out[float4] = port(shape="[particles.size]", doc="Velocities x, y, z, in metres per second.")

    kernel = Kernel("select_particles.cu", entry="particle_points")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle."""
        count = self.particles.size
        build.launch(self.kernel, num_threads=count, args=(self.particles, self.points, self.velocities, count))
