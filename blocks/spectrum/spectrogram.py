from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class Spectrogram(Block, id="signal.spectrogram", tags=("sound", "frequency", "pitch", "sonogram", "spectrum")):
    """Arranges spectra as a picture: time to the right, frequency upwards.

    The frequency scale is logarithmic: all octaves have the same height, as on a keyboard. With `octaves` 0, the scale
    is linear. A pixel shows the largest of the values that fall into it. To make a spectrogram of a sound, connect
    Frames, Real FFT, Magnitude in decibels, this block and Color Ramp.
    """

    x: In[f32] = port(rank=2, doc="Spectra, one per row, from frequency 0 upwards: shape [time, frequency].")
    out: Out[f32] = port(shape="[height, x.dim0]", doc="The same values as a picture, shape [height, time].")
    height: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Height of the picture.")
    octaves: float = param(7.0, min=0, max=14, doc="Octaves shown below the highest frequency; 0 gives a linear scale.")

    kernel = Kernel("signal.cu", entry="lay_out_spectra")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        size = (self.x.dim(0), self.height)
        build.launch(self.kernel, num_threads=size, args=(self.x, self.out, self.octaves, self.x.dim(1), *size))
