from blocks.signal.transform import Transform
from engine.api import BlockBuilder, In, Out, any_type, fft, port


class RealFFT(Transform, id="signal.real_fft", tags=("rfft", "fourier", "spectrum", "dft", "cufft")):
    """Transform real numbers to half of their spectrum.

    X[n - k] is the conjugate of X[k], so that half of the last axis says all: n // 2 + 1 of n elements, the frequencies
    from 0 to half the sampling rate. Equals numpy.fft.rfftn. Magnitude says how strong each frequency is.
    """

    x: In[any_type] = port(strided=True, doc="The signal, f32 or f64, shape [..., n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="c64 or c128, shape [..., n // 2 + 1].")

    def describe(self, build: BlockBuilder) -> None:
        """One call of the FFT library."""
        build.capture(fft.RealFft(self.axes, self.norm).on(x=self.x, out=self.out))
