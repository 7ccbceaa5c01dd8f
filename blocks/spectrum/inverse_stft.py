from warploom.api import BlockBuilder, In, Kernel, Out, any_type, f32, fft, param, port
from warploom.blocks.spectrum.windowed import Windowed


class InverseSTFT(
    Windowed,
    id="signal.inverse_stft",
    title="Inverse STFT",
    tags=("istft", "overlap add", "resynthesis", "vocoder", "spectrogram", "synthesis"),
):
    """Makes a signal of the spectra of overlapping frames: inverts Frames with Real FFT.

    Each spectrum is transformed back and multiplied by the window; frames are added where they overlap, and divided by
    the sum of the squared windows. With the window and hop of Frames, the signal comes back wherever a window isn't 0,
    so change the spectra in between: leave out frequencies, or move them. Where no window reaches, the signal is 0.
    """

    x: In[any_type] = port(rank=2, strided=True, doc="Spectra, c64, shape [count, size // 2 + 1].")
    out: Out[f32] = port(shape="[x.dim0]", doc="The signal, shape [(count - 1) hop + size].")
    hop: int = param(
        256, min=1, max=65536, structural=True, doc="Elements from the start of one frame to the start of the next."
    )
    norm: str = param("backward", choices=fft.NORMS, doc="The norm of the Real FFT that made the spectra.")
    odd: bool = param(False, structural=True, doc="The frames have an odd number of elements.")

    overlap = Kernel("signal.cu", entry="overlap_frames")

    def describe(self, build: BlockBuilder) -> None:
        """Transform the frames back, and launch one thread per element."""
        size = f"(2 * x.dim1 - {1 if self.odd else 2})"
        build.define(self.out, shape=f"[(x.dim0 - 1) * hop + {size}]")
        weights = self.weights(build, f"[{size}]")
        frames = build.buffer("frames", f32, "captured")
        build.capture(fft.InverseRealFft(1, self.norm, odd=self.odd).on(x=self.x, out=frames))
        sizes = (self.hop, weights.size, frames.dim(0), self.out.size)
        build.launch(self.overlap, num_threads=self.out.size, args=(frames, weights, self.out, *sizes))
