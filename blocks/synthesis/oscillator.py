from warploom.api import BlockBuilder, Kernel, Out, f32, f64, param, port
from warploom.blocks.sound.windows import SIZE
from warploom.blocks.synthesis.live import Live

#: In the order of their numbers in `kernels/synthesis.cu`.
WAVES = ("sine", "saw", "square", "triangle")


class Oscillator(
    Live,
    id="signal.oscillator",
    tags=("synthesizer", "vco", "tone", "wave", "generator", "sawtooth", "pulse", "sound", "note", "beep"),
):
    """Makes a tone: a sine, saw, square or triangle wave.

    The output is a window of the newest samples, which moves on with each frame, for Sound Filter, ADSR and Audio Out.
    The phase goes on without a jump, and the frequency, level and width glide from frame to frame, so value blocks can
    drive them. Corners are smoothed by polyBLEP: in saws and squares of 2 kHz at 48 kHz, mirrored frequencies stay
    54 dB below the tone up to 10 kHz, and 31 dB above; in triangles 86 and 54 dB.
    """

    out: Out[f32] = port(shape="[size]", doc="The newest samples, from -level to level.")
    wave: str = param("saw", choices=WAVES, doc="The shape of the wave; all but the sine have overtones.")
    frequency: float = param(220.0, min=0, max=96000, unit="Hz", doc="Waves a second; at most half the rate.")
    level: float = param(0.5, min=0, max=10, doc="Height of the wave.")
    width: float = param(0.5, min=0, max=1, doc="Part of the time that a square wave is high.")
    size: int = param(
        SIZE, min=16, max=1 << 20, structural=True, doc="Samples in the buffer; at least those of the longest frame."
    )

    oscillate = Kernel("synthesis.cu", entry="oscillate")
    advance = Kernel("synthesis.cu", entry="advance_phase")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per sample, and one that moves the phase on."""
        added, size = self.added(build), self.out.size
        glide = self.glide(build, added, self.frequency, self.level, self.width)
        phase = build.buffer("phase", f64, "[1]", state=True)
        args = (self.out, phase, glide, added, WAVES.index(self.wave), self.rate, size)
        build.launch(self.oscillate, num_threads=size, args=args)
        build.launch(self.advance, num_threads=1, thread_block=1, args=(phase, glide, added, self.rate, size))
        self.keep(build, self.out, added)
