from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.blocks.sound.windows import RATE
from warploom.engine.diagnostics import PatchError

_THREADS = 128


class Pitch(Block, id="signal.pitch", tags=("yin", "frequency", "note", "tuner", "voice", "autocorrelation", "melody")):
    """Finds the pitch of a voice or an instrument that plays one note at a time.

    The sound is compared with itself at each lag (YIN). Connect Buffer to Value to `frequency` and `confidence`, and a
    Gate to leave out frames without a clear pitch. Only the newest samples of x are used, three waves of the lowest
    pitch; of several channels, their mean.
    """

    x: In[f32] = port(doc="A window of sound, shape [samples] or [channels, samples], such as that of Audio In.")
    frequency: Out[f32] = port(shape="[1]", doc="The pitch in Hz; 0 for silence.")
    confidence: Out[f32] = port(shape="[1]", doc="1 for a sound that repeats exactly, near 0 for noise.")
    low: float = param(60.0, min=1, max=20000, unit="Hz", structural=True, doc="The lowest pitch.")
    high: float = param(2000.0, min=1, max=96000, unit="Hz", doc="The highest pitch.")
    threshold: float = param(
        0.1, min=0, max=1, doc="Difference from lag to lag that still counts as one wave; larger avoids octaves below."
    )
    rate: int = param(RATE, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second of the sound.")

    compare = Kernel("synthesis.cu", entry="compare_lags")
    find = Kernel("synthesis.cu", entry="find_pitch")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread block for each lag, and one thread that chooses a lag."""
        lags = int(self.rate / self.low) + 2
        if lags < 4:
            raise PatchError(f"low must be at most half the rate, {self.rate / 2:g} Hz, got {self.low:g} Hz")
        size, channels = self.x.last(0), self.x.size // self.x.last(0)
        needed = 2 * lags
        build.require(
            size - needed, f"x must have at least {needed} samples, two waves of the lowest pitch", port=self.x
        )
        differences = build.buffer("differences", f32, f"[{lags}]")
        args = (self.x, differences, channels, size, lags)
        build.launch(self.compare, num_threads=lags * _THREADS, thread_block=_THREADS, args=args)
        found = (differences, self.frequency, self.confidence, self.high, self.threshold, self.rate, lags)
        build.launch(self.find, num_threads=1, thread_block=1, args=found)
