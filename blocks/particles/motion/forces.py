from warploom.api import Block, BlockBuilder, In, Kernel, Out, param, port
from warploom.blocks.particles.particle import Particle


class Forces(Block, id="particles.forces", tags=("gravity", "wind", "turbulence", "curl", "attractor", "simulation")):
    """Accelerates particles by gravity, turbulence, an attractor, and drag towards the wind.

    Works in place, on living particles. Turbulence is a flow without sources: it stirs particles but does not gather
    them. Drag pulls each velocity towards the wind's, so wind has no effect without drag. Put the block between Emitter
    and Integrate; the forces of several blocks in a row add up.
    """

    particles: In[Particle] = port(doc="The particles to accelerate.")
    out: Out[Particle] = port(inplace="particles", doc="The same particles with new velocities.")
    gravity: float = param(-4.0, min=-20, max=20, unit="m/s²", doc="Acceleration upwards; Earth's is -9.81.")
    drag: float = param(0.25, min=0, max=10, unit="1/s", doc="How quickly particles take on the wind's velocity.")
    wind_x: float = param(0.0, min=-20, max=20, unit="m/s", doc="Velocity of the wind along x.")
    wind_z: float = param(0.0, min=-20, max=20, unit="m/s", doc="Velocity of the wind along z.")
    turbulence: float = param(0.7, min=0, max=20, unit="m/s²", doc="Strength of the turbulence.")
    turbulence_scale: float = param(3.0, min=0.1, max=20, unit="m", doc="Size of the turbulence's eddies.")
    attraction: float = param(
        0.0, min=-20, max=20, unit="m/s²", doc="Pull towards the attractor; negative values push away."
    )
    attractor_height: float = param(2.0, min=-10, max=10, unit="m", doc="Height of the attractor on the y axis.")

    kernel = Kernel("forces.cu", entry="apply_forces")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per particle."""
        air = (self.gravity, self.drag, self.wind_x, self.wind_z, self.turbulence, self.turbulence_scale)
        arguments = (self.out, build.frame, *air, self.attraction, self.attractor_height, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
