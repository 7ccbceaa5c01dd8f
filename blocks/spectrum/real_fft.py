from warploom.api import BlockBuilder, In, Out, any_type, fft, port
from warploom.blocks.spectrum.transform import Transform


class RealFFT(Transform, id="signal.real_fft", tags=("rfft", "fourier", "spectrum", "dft", "cufft")):
    """Transforms a real signal to half of its spectrum.

    X[n - k] is the conjugate of X[k], so only the first n // 2 + 1 elements of the last axis are computed: the
    frequencies from 0 to half the sampling rate. Equals numpy.fft.rfftn. Use Magnitude to see how strong each frequency
    is.
    """

    x: In[any_type] = port(strided=True, doc="The signal, f32 or f64, shape [..., n].")
    out: Out[any_type] = port(
        dtype="captured", shape="captured", doc="Half of the spectrum, c64 or c128, shape [..., n // 2 + 1]."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of the FFT library."""
        build.capture(fft.RealFft(self.axes, self.norm).on(x=self.x, out=self.out))
