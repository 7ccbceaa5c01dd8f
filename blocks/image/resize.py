from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, images, param, port


class Resize(Block, id="image.resize", tags=("scale", "resample", "thumbnail", "downsample", "upsample", "npp")):
    """Scales an image or field to another size.

    The image is stretched to the new width and height. "linear" interpolates between the four pixels around each
    position. "nearest" uses the nearest pixel, which keeps hard edges and exact values. "area" is for an image that
    becomes smaller along both axes: each new pixel is the mean of all pixels that it covers, whereas the other two skip
    some; it takes float4 and f32 only.
    """

    image: In[any_type] = port(
        dtype="pixel",
        rank=2,
        strided=True,
        doc="The image or field, float4, half4, uchar4 or f32, shape [height, width].",
    )
    out: Out[any_type] = port(dtype="same(image)", shape="[height, width]", doc="The image in the new size.")
    width: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Width of the result.")
    height: int = param(512, min=1, max=8192, unit="px", structural=True, doc="Height of the result.")
    mode: str = param(
        "linear", choices=("linear", "nearest", "area"), doc="How new pixels are computed from the old ones."
    )

    kernel = Kernel("resize.cu", entry="resize")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of NPP for "area"; launch one thread per pixel for the other methods."""
        if self.mode == "area":
            build.capture(images.Resize(self.height, self.width).on(image=self.image, out=self.out))
            return
        source = (self.image.dim(1), self.image.dim(0), self.image.stride(0), self.image.stride(1))
        size = (self.width, self.height)
        element, is_linear = build.element_type(self.image), self.mode == "linear"
        args = (self.image, self.out, element, *source, *size, is_linear)
        build.launch(self.kernel, num_threads=size, args=args)
