from engine.api import Block, BlockBuilder, In, Out, any_type, images, param, port


class MeanFilter(Block, id="filter.mean", tags=("box", "blur", "average", "smooth", "soft", "npp")):
    """Replace each pixel by the mean of those around it.

    The window is 2 radius + 1 pixels wide and high; with one radius 0, the image is blurred along one direction. Beyond
    the border the nearest pixel counts. Use it as a quick blur, which turns edges into ramps, or for local averages.
    """

    image: In[any_type] = port(rank=2, strided=True, doc="The image or field, float4 or f32, shape [height, width].")
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The blurred image, of the same size.")
    radius_x: int = param(2, min=0, max=100, unit="px", structural=True, doc="Pixels on the left and on the right.")
    radius_y: int = param(2, min=0, max=100, unit="px", structural=True, doc="Pixels above and below.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of NPP."""
        call = images.Box(2 * self.radius_y + 1, 2 * self.radius_x + 1)
        build.capture(call.on(image=self.image, out=self.out))
