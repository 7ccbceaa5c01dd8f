from blocks.filter.windows import LARGEST, SMALLEST, describe_windows
from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, images, param, port, u8

#: Shapes, in the order of their numbers in `kernels/morphology.cu`.
SHAPES = ("square", "disc", "diamond", "cross")


class Morphology(
    Block, id="filter.morphology", tags=("erode", "dilate", "open", "close", "minimum", "maximum", "shrink", "grow")
):
    """Shrinks or grows the bright parts of an image.

    "erode" sets each pixel to the smallest value around it, "dilate" to the largest; channels are separate. "open"
    erodes and then dilates, which removes bright specks and mostly keeps the rest. "close" dilates and then erodes,
    which fills dark gaps. Beyond the border, the nearest pixel is used. Use it on masks, or to thicken lines.
    """

    image: In[any_type] = port(
        dtype="image", rank=2, strided=True, doc="The image or field, float4, f32, uchar4 or u8."
    )
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The result, of the same size.")
    operation: str = param("erode", choices=images.MORPHOLOGIES, doc="The operation to apply.")
    shape: str = param("disc", choices=SHAPES, doc="Shape of the window around each pixel.")
    radius: int = param(2, min=0, max=50, unit="px", structural=True, doc="Radius of the window; 0 changes nothing.")

    kernel = Kernel("morphology.cu", entry="mask_shape")

    def describe(self, build: BlockBuilder) -> None:
        """Launch kernels for a square. For other shapes, fill a mask, and capture one or two calls of NPP."""
        call = images.Morphology(self.operation)
        if self.shape == "square":
            takes = [SMALLEST if step == "erode" else LARGEST for step in call.steps]
            describe_windows(build, self.image, self.out, [(take, self.radius, self.radius) for take in takes])
            return
        size = 2 * self.radius + 1
        mask = build.buffer("mask", u8, f"[{size}, {size}]")
        build.launch(self.kernel, num_threads=size * size, args=(mask, SHAPES.index(self.shape), self.radius))
        build.capture(call.on(image=self.image, mask=mask, out=self.out))
