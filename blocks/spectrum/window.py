from warploom.api import BlockBuilder, In, Kernel, Out, f32, port
from warploom.blocks.spectrum.windowed import Windowed


class Window(Windowed, id="signal.window", tags=("hann", "hamming", "blackman", "taper", "fade", "leakage")):
    """Multiplies a signal by a window, which fades it in and out along the last axis.

    An FFT treats its signal as one period of an endless loop. If the end and the beginning don't match, the jump
    between them appears at all frequencies; a window before the FFT avoids that. The weights are those of
    scipy.signal.get_window, periodic. For a sound, Frames cuts and windows in one step.
    """

    x: In[f32] = port(doc="The signal, shape [..., n].")
    out: Out[f32] = port(shape="same(x)", doc="The signal times its weights.")

    weigh = Kernel("signal.cu", entry="weigh")

    def describe(self, build: BlockBuilder) -> None:
        """Compute the weights, then launch one thread per element."""
        weights = self.weights(build, "[x.last0]")
        arguments = (self.x, weights, self.out, weights.size, self.out.size)
        build.launch(self.weigh, num_threads=self.out.size, args=arguments)
