from warploom.api import Block, BlockBuilder, Kernel, Out, f64, param, port
from warploom.blocks.particles.particle import Particle


class Emitter(Block, id="particles.emitter", tags=("source", "fountain", "spawn", "simulation", "sparks", "fireworks")):
    """Emits particles in each frame.

    Particles leave a horizontal disc in jets that can rotate about its vertical axis; one jet without lean is a simple
    fountain. The output is a ring buffer: when all `count` places are taken, new particles replace the oldest, so rate
    times life should not be much more than count. The buffer keeps its contents from frame to frame. Connect Forces and
    Integrate, which change the buffer in place, to make the particles move.
    """

    particles: Out[Particle] = port(
        shape="[count]", state=True, doc="All places of the ring buffer; unused ones are zero."
    )
    count: int = param(
        100_000, min=1, max=10_000_000, unit="particles", structural=True, doc="Number of places in the ring buffer."
    )
    rate: float = param(25_000.0, min=0, max=10_000_000, unit="1/s", doc="New particles per second.")
    life: float = param(
        4.5, min=0.1, max=30, unit="s", doc="Longest lifetime; each particle lives for 60 to 100 % of it."
    )
    radius: float = param(0.12, min=0, max=5, unit="m", doc="Radius of the disc that particles leave.")
    height: float = param(0.0, min=-5, max=5, unit="m", doc="Height of the disc.")
    jets: int = param(5, min=1, max=24, doc="Number of jets, evenly spaced around the axis.")
    turn: float = param(75.0, min=-720, max=720, unit="degrees/s", doc="How fast the jets rotate about the axis.")
    lean: float = param(20.0, min=0, max=90, unit="degrees", doc="Angle between the jets and the axis.")
    spread: float = param(
        2.5, min=0, max=180, unit="degrees", doc="Half angle of a jet's cone; 180 emits in all directions."
    )
    speed: float = param(
        6.0, min=0, max=30, unit="m/s", doc="Speed along the jet; each particle differs by up to 10 %."
    )
    swirl: float = param(
        0.0, min=-20, max=20, unit="m/s", doc="Speed around the axis for a particle at the disc's rim."
    )
    seed: int = param(1, min=0, max=1000, fresh=True, doc="Start of the random sequence.")

    emit = Kernel("emitter.cu", entry="emit_particles")
    end = Kernel("emitter.cu", entry="end_emission")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per place, of which some write a new particle, and one that goes on."""
        emission = build.buffer("emission", f64, "[2]", state=True)
        births = (self.rate, self.life, self.radius, self.height)
        jets = (self.jets, self.turn, self.lean, self.spread, self.speed, self.swirl, self.seed)
        arguments = (self.particles, emission, build.frame, *births, *jets, self.particles.size)
        build.launch(self.emit, num_threads=self.particles.size, args=arguments)
        build.launch(self.end, num_threads=1, thread_block=1, args=(emission, build.frame, self.rate, self.turn))
