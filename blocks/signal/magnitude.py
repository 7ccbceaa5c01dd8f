from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, param, port

#: `kernels/signal.cu` knows them by their places.
SCALES = ("magnitude", "power", "decibels")


class Magnitude(Block, id="signal.magnitude", tags=("abs", "power", "spectrum", "decibel", "db", "level", "loudness")):
    """Say how large complex numbers are.

    magnitude is |x|, power is |x|^2, decibels are 20 log10 |x|. Put it after an FFT to see how strong each frequency
    is; after a Real FFT whose norm is forward, a sine of amplitude 1 has the magnitude 1/2, or -6 dB.
    """

    x: In[any_type] = port(dtype="complex", doc="Complex numbers, c64 or c128, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="How large each of them is.")
    scale: str = param("magnitude", choices=SCALES, doc="What is computed.")
    lowest: float = param(-120.0, min=-400, max=0, unit="dB", doc="Smallest number of decibels, also that of 0.")

    kernel = Kernel("signal.cu", entry="magnitude")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        scale = SCALES.index(self.scale)
        arguments = (self.x, build.element_type(self.x), self.out, scale, self.lowest, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
