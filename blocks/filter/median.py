from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port

#: The largest window that the kernel has room for; equals MOST_RADIUS in denoise.cu.
MOST_RADIUS = 3


class Median(Block, id="filter.median", tags=("denoise", "noise", "salt and pepper", "despeckle", "rank", "smooth")):
    """Replaces each pixel by the median of the pixels around it.

    Takes single wrong pixels out and keeps edges. Each channel has its own median; alpha does not change. Beyond the
    border, the nearest pixel is used. A NaN counts as larger than every number. The result is that of
    scipy.ndimage.median_filter with mode="nearest".
    """

    image: In[any_type] = port(
        dtype="pixel", rank=2, doc="The image or field, float4, half4, uchar4 or f32, shape [height, width]."
    )
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The medians, of the same size.")
    radius: int = param(1, min=1, max=MOST_RADIUS, unit="px", doc="Pixels to each side; 1 is a window of 3 x 3.")

    kernel = Kernel("denoise.cu", entry="median")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        size = (self.image.dim(1), self.image.dim(0))
        args = (self.image, self.out, build.element_type(self.image), self.radius, *size)
        build.launch(self.kernel, num_threads=size, args=args)
