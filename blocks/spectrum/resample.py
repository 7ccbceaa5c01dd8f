import math

import numpy as np

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class Resample(
    Block, id="signal.resample", tags=("polyphase", "rate", "upsample", "downsample", "decimate", "interpolate")
):
    """Brings a signal to another rate: `up` samples for each `down`.

    A low-pass filter takes away frequencies that the new rate doesn't have. Equals scipy.signal.resample_poly along
    the last axis; the signal is 0 beyond its ends. From 44.1 to 48 kHz, `up` is 160 and `down` 147. Use it for whole
    sounds; Play Audio and Audio In resample live ones by themselves.
    """

    x: In[f32] = port(doc="The signal, shape [..., samples].")
    out: Out[f32] = port(shape="same(x)", doc="The same signal, shape [..., ceil(samples up / down)].")
    up: int = param(1, min=1, max=1000, structural=True, doc="Samples of the output for each `down` of the input.")
    down: int = param(2, min=1, max=1000, structural=True, doc="Samples of the input for each `up` of the output.")

    kernel = Kernel("signal.cu", entry="resample")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per sample of the output."""
        shared = math.gcd(self.up, self.down)
        up, down = self.up // shared, self.down // shared
        build.define(self.out, shape=f"sized(-1, ceil(x.last0 * {up} / {down}), x)")
        phases, half = _phases(up, down)
        weights = build.buffer("weights", f32, f"[{up}, {phases.shape[1]}]", state=True, initial=phases)
        sizes = (up, down, weights.dim(1), half, self.x.last(0), self.out.last(0), self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, weights, self.out, *sizes))


def _phases(up: int, down: int) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float32]], int]:
    """Return the filter of each phase, and the place of the filter's middle.

    As in scipy.signal.resample_poly, it is a sinc in a Kaiser window of shape 5, ten zero crossings to each side.
    """
    widest = max(up, down)
    half = 10 * widest if widest > 1 else 0
    weights = np.sinc(np.arange(-half, half + 1) / widest) * np.kaiser(2 * half + 1, 5.0)
    weights *= up / weights.sum()
    taps = -(-len(weights) // up)
    padded = np.pad(weights, (0, taps * up - len(weights)))
    return np.ascontiguousarray(padded.reshape(taps, up).T, np.float32), half
