from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, param, port

#: Measures, in the order of their numbers in `kernels/signal.cu`.
SCALES = ("magnitude", "power", "decibels")


class Magnitude(Block, id="signal.magnitude", tags=("abs", "power", "spectrum", "decibel", "db", "level", "loudness")):
    """Outputs the magnitude, power or level in decibels of complex numbers.

    magnitude is |x|, power is |x|^2, decibels are 20 log10 |x|. Put the block after an FFT to see how strong each
    frequency is. After a Real FFT whose norm is forward, a sine of amplitude 1 has the magnitude 1/2, or -6 dB.
    """

    x: In[any_type] = port(dtype="complex", doc="Complex numbers, c64 or c128, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="The chosen measure of each element.")
    scale: str = param("magnitude", choices=SCALES, doc="The measure to compute.")
    lowest: float = param(-120.0, min=-400, max=0, unit="dB", doc="Smallest level, used for 0 too, with decibels.")

    kernel = Kernel("signal.cu", entry="magnitude")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        scale = SCALES.index(self.scale)
        arguments = (self.x, build.element_type(self.x), self.out, scale, self.lowest, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
