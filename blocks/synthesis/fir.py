from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port

#: Sums of a thread, in the kernel.
_RUN = 4


class FIR(Block, id="signal.fir", title="FIR Filter", tags=("convolve", "taps", "moving average", "finite", "impulse")):
    """Filters a signal with weights of your own: a finite impulse response.

    out[i] = sum over k of weights[k] x[i - k], as in scipy.signal.lfilter(weights, 1, x); x is 0 before its beginning.
    The block keeps nothing from frame to frame. In a window of live sound, the newest samples are right as long as the
    window is longer than the weights and a frame together.
    """

    x: In[f32] = port(doc="The signal, shape [..., samples].")
    weights: In[f32] = port(rank=1, doc="The weights, that of the present sample first.")
    out: Out[f32] = port(shape="same(x)", doc="The filtered signal.")

    kernel = Kernel("synthesis.cu", entry="weigh_samples")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread for each run of samples."""
        runs = (self.x.last(0) + (_RUN - 1)) // _RUN
        count = self.x.size // self.x.last(0) * runs
        args = (self.x, self.weights, self.out, self.weights.size, self.x.last(0), runs, count)
        build.launch(self.kernel, num_threads=count, args=args)
