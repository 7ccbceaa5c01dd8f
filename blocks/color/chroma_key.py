from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port


class ChromaKey(Block, id="image.chroma_key", tags=("green screen", "blue screen", "matte", "alpha", "mask", "keying")):
    """Makes a colour of the background transparent.

    The distance of a pixel from the key is that of their colour differences (B - Y, R - Y), without brightness. Alpha
    is multiplied by 0 up to the tolerance, and by 1 beyond tolerance + softness. Where the key's largest channel is
    above both others, `spill` lowers it to the larger one of them. Lay the result on another image with Mix, by the
    mode "over".
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The image with alpha, of the same size.")
    red: float = param(0.05, min=0, max=1, doc="Red of the key, linear.")
    green: float = param(0.6, min=0, max=1, doc="Green of the key, linear.")
    blue: float = param(0.05, min=0, max=1, doc="Blue of the key, linear.")
    tolerance: float = param(0.15, min=0, max=2, doc="Distance from the key that is wholly transparent.")
    softness: float = param(0.15, min=0.001, max=2, doc="Distance over which alpha grows to its own.")
    spill: float = param(1.0, min=0, max=1, doc="Share of the excess of the key's channel that is removed.")

    graph = OpGraphSource.of_expression(
        "y = 0.2126 * image.x + 0.7152 * image.y + 0.0722 * image.z\n"
        "key_y = 0.2126 * red + 0.7152 * green + 0.0722 * blue\n"
        "tint_b = image.z - y\n"
        "tint_r = image.x - y\n"
        "key_b = blue - key_y\n"
        "key_r = red - key_y\n"
        "t = saturate((hypot(tint_b - key_b, tint_r - key_r) - tolerance) / softness)\n"
        "r = min(image.x, max(image.y, image.z)) if red > max(green, blue) else image.x\n"
        "g = min(image.y, max(image.x, image.z)) if green >= max(red, blue) else image.y\n"
        "b = min(image.z, max(image.x, image.y)) if blue > max(red, green) else image.z\n"
        "c = image.xyz + (vec(r, g, b) - image.xyz) * spill\n"
        "vec(c.x, c.y, c.z, image.w * t * t * (3 - 2 * t))",
        image=float4,
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(self.graph, over=self.out)
