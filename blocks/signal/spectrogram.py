from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class Spectrogram(Block, id="signal.spectrogram", tags=("sound", "frequency", "pitch", "sonogram", "spectrum")):
    """Lay out spectra as a picture: time to the right, frequency upwards.

    Octaves have the same height, as on a keyboard, or with `octaves` 0 frequencies have. A pixel shows the highest of
    the values that fall into it. Color Ramp makes it colourful. Before it come Frames, Real FFT and Magnitude in
    decibels.
    """

    x: In[f32] = port(rank=2, doc="Spectra, one a row, from frequency 0 on: shape [time, frequency].")
    out: Out[f32] = port(shape="[height, x.dim0]", doc="The same values as a picture, shape [height, time].")
    height: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Height of the picture.")
    octaves: float = param(7.0, min=0, max=14, doc="Octaves shown below the highest frequency; 0 has an even scale.")

    kernel = Kernel("signal.cu", entry="lay_out_spectra")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        size = (self.x.dim(0), self.height)
        build.launch(self.kernel, num_threads=size, args=(self.x, self.out, self.octaves, self.x.dim(1), *size))
