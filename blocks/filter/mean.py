from warploom.api import Block, BlockBuilder, In, Out, any_type, param, port
from warploom.blocks.filter.windows import MEAN, Window, describe_windows


class MeanFilter(Block, id="filter.mean", tags=("box", "blur", "average", "smooth", "soft", "denoise")):
    """Replaces each pixel by the mean of the pixels around it.

    Along each axis the window has 2 radius + 1 pixels; if one radius is 0, the image is blurred along the other axis
    only. Beyond the border, the nearest pixel is used. Means of bytes are rounded; those of uchar4 are means of light.
    Use it as a quick blur, which turns edges into ramps, or for local averages.
    """

    image: In[any_type] = port(
        dtype="image",
        rank=2,
        strided=True,
        doc="The image or field, float4, half4, uchar4, f32 or u8, shape [height, width].",
    )
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The blurred image, of the same size.")
    radius_x: int = param(
        2, min=0, max=1000, unit="px", structural=True, doc="Pixels of the window to the left and to the right."
    )
    radius_y: int = param(2, min=0, max=1000, unit="px", structural=True, doc="Pixels of the window above and below.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one or two kernels, with a thread block for each tile."""
        describe_windows(build, self.image, self.out, [Window(MEAN, self.radius_x, self.radius_y)])
