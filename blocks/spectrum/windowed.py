"""Windows: weights that fade a piece of a signal in and out, so that the cut does not show in the spectrum."""

from warploom.api import Block, BlockBuilder, BufferHandle, Kernel, f32, param

#: Coefficients of each window, a0 - a1 cos(t) + a2 cos(2 t) - a3 cos(3 t) + a4 cos(4 t) for t from 0 to 2 pi, as in
#: scipy.signal.get_window.
WINDOWS = {
    "hann": (0.5, 0.5, 0.0, 0.0, 0.0),
    "hamming": (0.54, 0.46, 0.0, 0.0, 0.0),
    "blackman": (0.42, 0.5, 0.08, 0.0, 0.0),
    "blackman-harris": (0.35875, 0.48829, 0.14128, 0.01168, 0.0),
    "flat top": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "none": (1.0, 0.0, 0.0, 0.0, 0.0),
}


class Windowed(Block, abstract=True):
    """A block that multiplies pieces of a signal by a window."""

    window: str = param(
        "hann", choices=tuple(WINDOWS), doc="The window: hann for most signals, flat top to read exact amplitudes."
    )
    unit_mean: bool = param(
        False,
        doc="Divide the weights by their mean, so that a sine is as strong in the spectrum as without one.",
    )

    window_weights = Kernel("signal.cu", entry="window_weights")

    def weights(self, build: BlockBuilder, shape: str) -> BufferHandle:
        """Return a buffer of the weights; one thread computes each."""
        weights = build.buffer("weights", f32, shape)
        arguments = (weights, *WINDOWS[self.window], self.unit_mean, weights.size)
        build.launch(self.window_weights, num_threads=weights.size, args=arguments)
        return weights
