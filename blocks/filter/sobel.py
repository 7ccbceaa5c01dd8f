from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port


class Sobel(Block, id="image.sobel", tags=("edge", "gradient", "outline", "filter", "magnitude")):
    """Outputs the edges of an image: the length of its gradient.

    The result is bright where the image changes quickly and black where it is even. By default, edges are grey and
    computed from the luminance; with `per_channel`, red, green and blue have separate edges. Blur the image first to
    find only large edges. Alpha does not change. Beyond the border, the nearest pixel is used; the gradients equal
    scipy.ndimage.sobel with mode="nearest".
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The edges, of the same size.")
    strength: float = param(1.0, min=0, max=10, doc="Factor of the gradient's length.")
    per_channel: bool = param(False, doc="Compute the edges of red, green and blue separately.")

    kernel = Kernel("sobel.cu", entry="sobel")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        size = (self.image.dim(1), self.image.dim(0))
        arguments = (self.image, self.out, self.strength, self.per_channel, *size)
        build.launch(self.kernel, num_threads=size, args=arguments)
