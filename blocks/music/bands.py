import numpy as np

from warploom.api import (
    BlockBuilder,
    In,
    Kernel,
    LiveBlock,
    Moment,
    Out,
    Value,
    c64,
    f32,
    fft,
    param,
    port,
    value_port,
)
from warploom.engine.diagnostics import PatchError

#: The frequencies between which a sound is neither low nor high, in Hz.
MIDDLE = (250.0, 4000.0)


class Bands(
    LiveBlock, id="sound.bands", tags=("music", "equalizer", "spectrum", "level", "frequency", "bass", "bars", "react")
):
    """Measures how strong a sound is at low, middle and high frequencies.

    The bands are as wide as each other on a piano: each covers the same part of an octave. A level is 1 for a sine of
    amplitude 1, and 0 below the range of `decibels`. The levels are a buffer, without delay, for pictures such as bars;
    the values are those of the previous frame, and drive any parameter. Connect Envelope, Peak or Smooth to shape them,
    Onset and Beat to find where sounds begin.
    """

    x: In[f32] = port(doc="A window of sound, shape [samples] or [channels, samples], such as that of Play Audio.")
    out: Out[f32] = port(shape="[count]", state=True, doc="The level of each band, the lowest first.")
    level: Value[float] = value_port(doc="Mean level of all bands.")
    bass: Value[float] = value_port(doc="Mean level of the bands below 250 Hz.")
    middle: Value[float] = value_port(doc="Mean level of the bands from 250 Hz to 4 kHz.")
    treble: Value[float] = value_port(doc="Mean level of the bands above 4 kHz.")
    count: int = param(32, min=1, max=1024, structural=True, doc="Number of bands.")
    low: float = param(40.0, min=1, max=20000, unit="Hz", doc="Lower edge of the first band.")
    high: float = param(16000.0, min=1, max=200000, unit="Hz", doc="Upper edge of the last band.")
    decibels: float = param(
        60.0, min=0, max=200, unit="dB", doc="Range that the levels from 0 to 1 show; 0 shows amplitudes instead."
    )
    rise: float = param(0.0, min=0, max=60, unit="s", doc="Time constant of a rising level.")
    fall: float = param(0.15, min=0, max=60, unit="s", doc="Time constant of a falling level.")
    rate: int = param(48000, min=1000, max=384000, unit="Hz", structural=True, doc="Samples a second of the sound.")

    saved = ("level",)  # with the levels that are on their way
    weigh = Kernel("music.cu", entry="weigh_newest")
    measure = Kernel("music.cu", entry="band_levels")

    def describe(self, build: BlockBuilder) -> None:
        """Weigh and transform the window, and launch one thread per band."""
        size = self.x.last(0)
        weighted = build.buffer("weighted", f32, "[x.last0]")
        spectrum = build.buffer("spectrum", c64, "captured")
        build.launch(self.weigh, num_threads=weighted.size, args=(self.x, weighted, self.x.size // size, size))
        build.capture(fft.RealFft(1, "forward").on(x=weighted, out=spectrum))
        shown = (self.low, self.high, self.decibels, self.rise, self.fall)
        arguments = (spectrum, self.out, build.frame, *shown, self.rate, size, self.out.size)
        build.launch(self.measure, num_threads=self.out.size, args=arguments)
        build.watch(self.out)

    def update(self, now: Moment) -> None:
        """Read the levels of the frame before."""
        if not 0 < self.low < self.high:
            raise PatchError(f"high must be above low, {self.low:g} Hz, got {self.high:g} Hz")
        for _, levels in self.taken("out"):
            middles = self.low * (self.high / self.low) ** ((np.arange(self.count) + 0.5) / self.count)
            places = np.searchsorted(MIDDLE, middles)
            self.level = float(levels.mean())
            self.bass, self.middle, self.treble = (
                float(levels[places == place].mean()) if (places == place).any() else 0.0 for place in range(3)
            )
