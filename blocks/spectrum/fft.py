from warploom.api import BlockBuilder, In, Out, any_type, fft, port
from warploom.blocks.spectrum.transform import Transform


class FFT(Transform, id="signal.fft", tags=("fourier", "spectrum", "frequency", "dft", "cufft")):
    """Transforms a complex signal to its spectrum.

    X[k] = sum over j of x[j] exp(-2 pi i j k / n), along one to three axes; equals numpy.fft.fftn. Element 0 of an axis
    is frequency 0, and negative frequencies are in the axis's second half; FFT Shift moves frequency 0 to the middle.
    For real signals, Real FFT takes half the time.
    """

    x: In[any_type] = port(strided=True, doc="The signal, c64 or c128, shape [..., n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The spectrum, of the same type and shape.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of the FFT library."""
        build.capture(fft.Fft(self.axes, self.norm).on(x=self.x, out=self.out))
