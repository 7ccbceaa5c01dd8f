from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port


class Sobel(Block, id="image.sobel", tags=("edge", "gradient", "outline", "filter")):
    """Find edges: the length of the image's gradient.

    Bright where the image changes quickly, black where it is even. By default the gradient of the luminance gives grey
    edges; with `per_channel`, red, green and blue each have their own. Blur first to find only large edges. Alpha stays
    as it is. Beyond the border the nearest pixel counts; the gradients equal scipy.ndimage.sobel with mode="nearest".
    """

    image: In[float4] = port(rank=2, doc="The image to look at, linear RGBA, shape [height, width].")
    out: Out[float4] = port(shape="same(image)", doc="The edges, of the same size.")
    strength: float = param(1.0, min=0, max=10, doc="Factor of the gradient's length.")
    per_channel: bool = param(False, doc="Find edges in red, green and blue separately.")

    kernel = Kernel("sobel.cu", entry="sobel")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a pixel."""
        size = (self.image.dim(1), self.image.dim(0))
        arguments = (self.image, self.out, self.strength, self.per_channel, *size)
        build.launch(self.kernel, num_threads=size, args=arguments)
