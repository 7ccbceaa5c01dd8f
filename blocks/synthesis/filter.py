from warploom.api import BlockBuilder, In, Kernel, Out, f32, f64, param, port
from warploom.blocks.synthesis.live import Live

#: In the order of their numbers in `kernels/filter.cu`.
KINDS = ("low pass", "high pass", "band pass", "notch", "all pass", "peak", "low shelf", "high shelf")
#: Samples of a tile, in the kernel.
_TILE, _THREADS = 4096, 32


class Filter(
    Live,
    id="signal.filter",
    title="Sound Filter",
    tags=("biquad", "low-pass", "high-pass", "equalizer", "eq", "resonance", "cutoff", "iir", "wah", "sweep"),
):
    """Filters a sound: keeps low, high or middle frequencies, or makes some of them louder.

    The filters are those of the audio cookbook by R. Bristow-Johnson, with two poles: a pass falls by 12 dB an octave.
    Connect several for steeper ones. With `live`, x is a window of the newest samples, as Play Audio, Audio In and
    Oscillator output it: the sound is filtered without a seam between frames, and the frequency, resonance and gain
    glide from frame to frame. Otherwise x is a whole sound, which begins after silence.
    """

    x: In[f32] = port(doc="The sound, shape [samples] or [channels, samples].")
    out: Out[f32] = port(shape="same(x)", doc="The filtered sound.")
    kind: str = param("low pass", choices=KINDS, doc="What the filter does; a band has 0 dB in its middle.")
    frequency: float = param(
        1000.0, min=1, max=192000, unit="Hz", doc="Corner, or middle of the band; at most 0.49 of the rate."
    )
    resonance: float = param(
        0.7071, min=0.05, max=100, doc="Q: 0.7071 is flat; a larger one rings, and makes bands narrow."
    )
    gain: float = param(6.0, min=-48, max=48, unit="dB", doc="Gain of a peak or shelf.")
    live: bool = param(False, structural=True, doc="x is a window of live sound, which goes on from frame to frame.")

    map_tiles = Kernel("filter.cu", entry="map_tiles")
    scan_maps = Kernel("filter.cu", entry="scan_maps")
    filter_tiles = Kernel("filter.cu", entry="filter_tiles")

    @property
    def goes_on_live(self) -> bool:
        """True for live sound."""
        return self.live

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread block for each tile, one for each channel, and again one for each tile."""
        added, kind = self.added(build), KINDS.index(self.kind)
        glide = self.glide(build, added, self.frequency, self.resonance, self.gain)
        size, channels = self.x.last(0), "x.size // x.last0"
        maps = build.buffer("maps", f64, f"[{channels}, ceil(x.last0 / {_TILE}), 6]")
        tiles, how = maps.dim(1), (added, self.live)
        starts = build.buffer("starts", f64, f"[{channels}, {tiles.text}, 2]")
        kept = build.buffer("kept", f64, f"[{channels}, 2]", state=True)
        count, filters = maps.size // 6 * _THREADS, (glide, *how, kind, self.rate, size, tiles)
        build.launch(self.map_tiles, num_threads=count, thread_block=_THREADS, args=(self.x, maps, *filters))
        joined = (maps, starts, kept, *how, size, tiles)
        build.launch(self.scan_maps, num_threads=maps.dim(0) * _THREADS, thread_block=_THREADS, args=joined)
        filtered = (self.x, self.out, starts, kept, *filters)
        build.launch(self.filter_tiles, num_threads=count, thread_block=_THREADS, args=filtered)
        self.keep(build, self.out, added)
