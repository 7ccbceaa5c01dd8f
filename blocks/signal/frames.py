from blocks.signal.windowed import Windowed
from engine.api import BlockBuilder, In, Kernel, Out, f32, param, port


class Frames(Windowed, id="signal.frames", tags=("stft", "overlap", "hop", "window", "chunk", "spectrogram")):
    """Cut a signal into frames that overlap, each weighed by a window.

    Frame k begins at element start + k hop. A Real FFT of the frames is the short-time Fourier transform: how the
    spectrum changes. Let a value drive `start` to move along the signal.
    """

    x: In[f32] = port(rank=1, doc="The signal, shape [n].")
    out: Out[f32] = port(shape="[count, size]", doc="The frames, one a row.")
    count: int = param(512, min=1, max=65536, structural=True, doc="How many frames.")
    size: int = param(1024, min=1, max=65536, structural=True, doc="Elements of a frame; more tell frequencies better.")
    hop: int = param(256, min=1, max=65536, structural=True, doc="Elements from one frame to the next.")
    start: int = param(0, min=-(10**9), max=10**9, doc="The first frame's first element.")
    loop: bool = param(False, doc="The signal begins again after its end; otherwise 0 lies around it.")

    cut = Kernel("signal.cu", entry="cut_frames")

    def describe(self, build: BlockBuilder) -> None:
        """The weights, then one thread an element."""
        weights = self.weights(build, "[size]")
        how = (self.start, self.loop, self.hop, self.size, self.x.size)
        build.launch(self.cut, num_threads=self.out.size, args=(self.x, weights, self.out, *how, self.out.size))
