from warploom.api import BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.blocks.spectrum.windowed import Windowed


class Frames(Windowed, id="signal.frames", tags=("stft", "overlap", "hop", "window", "chunk", "spectrogram")):
    """Cuts a signal into overlapping frames and multiplies each by a window.

    Frame k begins at element start + k hop. A Real FFT of the frames is the short-time Fourier transform, which shows
    how the spectrum changes over time. Drive `start` with a value block to move along the signal.
    """

    x: In[f32] = port(rank=1, doc="The signal, shape [n].")
    out: Out[f32] = port(shape="[count, size]", doc="The frames, one per row.")
    count: int = param(512, min=1, max=65536, structural=True, doc="Number of frames.")
    size: int = param(
        1024, min=1, max=65536, structural=True, doc="Elements per frame; a longer frame separates frequencies better."
    )
    hop: int = param(
        256, min=1, max=65536, structural=True, doc="Elements from the start of one frame to the start of the next."
    )
    start: int = param(0, min=-(10**9), max=10**9, doc="Element at which the first frame begins.")
    loop: bool = param(False, doc="Repeat the signal beyond its ends; otherwise it is 0 there.")

    cut = Kernel("signal.cu", entry="cut_frames")

    def describe(self, build: BlockBuilder) -> None:
        """Compute the weights, then launch one thread per element."""
        weights = self.weights(build, "[size]")
        how = (self.start, self.loop, self.hop, self.size, self.x.size, self.count)
        build.launch(self.cut, num_threads=(self.size, self.count), args=(self.x, weights, self.out, *how))
