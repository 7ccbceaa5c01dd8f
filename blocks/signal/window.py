from blocks.signal.windowed import Windowed
from engine.api import BlockBuilder, In, Kernel, Out, f32, port


class Window(Windowed, id="signal.window", tags=("hann", "hamming", "blackman", "taper", "fade", "leakage")):
    """Fade a signal in and out along its last axis.

    A transform takes its signal for one turn of an endless loop. Where end and beginning don't meet, all frequencies
    appear; a window before the transform avoids that. Weights are those of scipy.signal.get_window, periodic. For a
    sound, Frames cuts and weighs in one go.
    """

    x: In[f32] = port(doc="The signal, shape [..., n].")
    out: Out[f32] = port(shape="same(x)", doc="The signal times its weights.")

    weigh = Kernel("signal.cu", entry="weigh")

    def describe(self, build: BlockBuilder) -> None:
        """The weights, then one thread an element."""
        weights = self.weights(build, "[x.last0]")
        arguments = (self.x, weights, self.out, weights.size, self.out.size)
        build.launch(self.weigh, num_threads=self.out.size, args=arguments)
