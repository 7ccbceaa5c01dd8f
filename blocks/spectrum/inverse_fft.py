from warploom.api import BlockBuilder, In, Out, any_type, fft, port
from warploom.blocks.spectrum.transform import Transform


class InverseFFT(Transform, id="signal.inverse_fft", tags=("ifft", "fourier", "synthesis", "cufft")):
    """Transforms a spectrum back to a complex signal.

    x[j] = 1/n sum over k of X[k] exp(2 pi i j k / n), along one to three axes; equals numpy.fft.ifftn. The block
    inverts an FFT with the same `axes` and `norm`.
    """

    x: In[any_type] = port(strided=True, doc="The spectrum, c64 or c128, shape [..., n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The signal, of the same type and shape.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of the FFT library."""
        build.capture(fft.Fft(self.axes, self.norm, inverse=True).on(x=self.x, out=self.out))
