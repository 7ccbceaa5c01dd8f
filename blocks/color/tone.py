from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class Tone(Block, id="image.tone", tags=("exposure", "contrast", "brightness", "gamma", "grade", "color")):
    """Adjusts exposure, contrast, gamma and saturation.

    The steps, in this order: c = color * 2^exposure; c = max((c - 0.18) * contrast + 0.18, 0); c = c^(1 / gamma); c =
    max(L + (c - L) * saturation, 0), where L is the luminance of c. Contrast leaves middle grey, 0.18, as it is. With
    the defaults, only negative values change: they become 0. Alpha does not change.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to adjust, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The adjusted image, of the same size.")
    exposure: float = param(0.0, min=-8, max=8, unit="stops", doc="Brightness; +1 doubles it.")
    contrast: float = param(
        1.0, min=0, max=4, doc="Factor of the distance from middle grey; below 1 is flatter, above 1 harder."
    )
    gamma: float = param(1.0, min=0.1, max=5, doc="Brightness of midtones; above 1 is lighter, below 1 darker.")
    saturation: float = param(1.0, min=0, max=3, doc="Colourfulness; 0 is grey, 1 leaves colours as they are.")

    graph = OpGraphSource.of_expression(
        "grey = 0.18\n"  # the reflectance that contrast leaves unchanged
        "lit = max((image.xyz * exp2(exposure) - grey) * contrast + grey, 0)\n"
        "toned = lit if gamma == 1 else exp2(log2(lit) * (1 / gamma))\n"
        "luminance = 0.2126 * toned.x + 0.7152 * toned.y + 0.0722 * toned.z\n"
        "c = max(luminance + (toned - luminance) * saturation, 0)\n"
        "vec(c.x, c.y, c.z, image.w)",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
