from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port


class Tone(Block, id="image.tone", tags=("exposure", "contrast", "brightness", "gamma", "grade", "color")):
    """Adjust exposure, contrast, gamma and saturation.

    In this order: c = color * 2^exposure; c = max((c - 0.18) * contrast + 0.18, 0); c = c^(1 / gamma); then every
    channel moves from the luminance (saturation 0) to itself (1) and beyond. Contrast turns about middle grey, 0.18.
    The defaults change nothing but cut off negative values. Alpha stays as it is.
    """

    image: In[float4] = port(rank=2, doc="The image to adjust, linear RGBA, shape [height, width].")
    out: Out[float4] = port(shape="same(image)", doc="The adjusted image, of the same size.")
    exposure: float = param(0.0, min=-8, max=8, unit="stops", doc="Brightness; +1 is twice as bright.")
    contrast: float = param(1.0, min=0, max=4, doc="Distance from middle grey; below 1 flatter, above 1 harder.")
    gamma: float = param(1.0, min=0.1, max=5, doc="Midtones; above 1 lighter, below 1 darker.")
    saturation: float = param(1.0, min=0, max=3, doc="Colourfulness; 0 is grey.")

    kernel = Kernel("tone.cu", entry="tone")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        look = (self.exposure, self.contrast, self.saturation, self.gamma)
        build.launch(self.kernel, num_threads=self.out.size, args=(self.image, self.out, *look, self.out.size))
