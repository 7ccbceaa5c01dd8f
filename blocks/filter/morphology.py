from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, images, param, port, u8

#: `kernels/morphology.cu` knows them by their places.
SHAPES = ("square", "disc", "diamond", "cross")


class Morphology(
    Block, id="filter.morphology", tags=("erode", "dilate", "open", "close", "minimum", "maximum", "shrink", "grow")
):
    """Shrink or grow what is bright in an image.

    "erode" gives each pixel the smallest value around it, "dilate" the largest, each channel by itself. "open" erodes
    and then dilates, which removes bright specks and leaves the rest as it was; "close" does the opposite, which fills
    dark gaps. Beyond the border the nearest pixel counts. Use it on masks, or to thicken lines.
    """

    image: In[any_type] = port(rank=2, strided=True, doc="The image or field, float4, f32, uchar4 or u8.")
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The result, of the same size.")
    operation: str = param("erode", choices=images.MORPHOLOGIES, doc="What is done.")
    shape: str = param("disc", choices=SHAPES, doc="Which pixels count as those around one.")
    radius: int = param(2, min=0, max=50, unit="px", structural=True, doc="How far they reach; 0 changes nothing.")

    kernel = Kernel("morphology.cu", entry="mask_shape")

    def describe(self, build: BlockBuilder) -> None:
        """A mask, and one or two calls of NPP."""
        size = 2 * self.radius + 1
        mask = build.buffer("mask", u8, f"[{size}, {size}]")
        build.launch(self.kernel, num_threads=size * size, args=(mask, SHAPES.index(self.shape), self.radius))
        build.capture(images.Morphology(self.operation).on(image=self.image, mask=mask, out=self.out))
