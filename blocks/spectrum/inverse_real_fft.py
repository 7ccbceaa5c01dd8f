from warploom.api import BlockBuilder, In, Out, any_type, fft, param, port
from warploom.blocks.spectrum.transform import Transform


class InverseRealFFT(Transform, id="signal.inverse_real_fft", tags=("irfft", "fourier", "synthesis", "cufft")):
    """Transforms half of a spectrum back to a real signal.

    The block inverts a Real FFT with the same `axes` and `norm`; equals numpy.fft.irfftn. The size of the half spectrum
    does not show whether the length of the signal's last axis is even or odd: set `odd` for an odd length. Parts that
    the spectrum of a real signal can't have, such as an imaginary part at frequency 0, are ignored.
    """

    x: In[any_type] = port(strided=True, doc="Half of the spectrum, c64 or c128, shape [..., n // 2 + 1].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The signal, f32 or f64, shape [..., n].")
    odd: bool = param(False, structural=True, doc="The last axis of the signal has an odd number of elements.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of the FFT library."""
        build.capture(fft.InverseRealFft(self.axes, self.norm, odd=self.odd).on(x=self.x, out=self.out))
