from engine.api import Block, BlockBuilder, In, Out, any_type, images, param, port


class Resize(Block, id="image.resize", tags=("scale", "resample", "thumbnail", "downsample", "upsample", "npp")):
    """Give an image another size.

    The image is stretched to the new width and height. "linear" weighs the four pixels around each place, "nearest"
    takes the nearest one, which keeps hard edges and exact values. For an image that becomes smaller along both axes,
    "area" takes the mean of all pixels that become one, where the other two would skip some.
    """

    image: In[any_type] = port(rank=2, strided=True, doc="The image or field, float4 or f32, shape [height, width].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The image in the new size.")
    width: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Width of the result.")
    height: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Height of the result.")
    mode: str = param("linear", choices=images.RESIZE_MODES, doc="How pixels are made from those that there are.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of NPP."""
        call = images.Resize(self.height, self.width, self.mode)
        build.capture(call.on(image=self.image, out=self.out))
