from blocks.signal.transform import Transform
from engine.api import BlockBuilder, In, Out, any_type, fft, param, port


class InverseRealFFT(Transform, id="signal.inverse_real_fft", tags=("irfft", "fourier", "synthesis", "cufft")):
    """Transform half of a spectrum back to real numbers.

    It undoes a Real FFT with the same `axes` and `norm`; equals numpy.fft.irfftn. The half spectrum doesn't say whether
    its signal's last axis was even or odd, so `odd` does. Elements must be half of the spectrum of real numbers: what
    else they hold, such as an imaginary part of frequency 0, does not count.
    """

    x: In[any_type] = port(strided=True, doc="Half of the spectrum, c64 or c128, shape [..., n // 2 + 1].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The signal, f32 or f64, shape [..., n].")
    odd: bool = param(False, structural=True, doc="The last axis of the signal has an odd number of elements.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of the FFT library."""
        build.capture(fft.InverseRealFft(self.axes, self.norm, odd=self.odd).on(x=self.x, out=self.out))
