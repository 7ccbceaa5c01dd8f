from warploom.api import Block, BlockBuilder, In, Out, any_type, param, port
from warploom.blocks.filter.windows import LARGEST, SHAPES, SMALLEST, Window, describe_windows

#: What each operation takes of the windows, one after the other.
OPERATIONS = {
    "erode": (SMALLEST,),
    "dilate": (LARGEST,),
    "open": (SMALLEST, LARGEST),
    "close": (LARGEST, SMALLEST),
}


class Morphology(
    Block, id="filter.morphology", tags=("erode", "dilate", "open", "close", "minimum", "maximum", "shrink", "grow")
):
    """Shrinks or grows the bright parts of an image.

    "erode" sets each pixel to the smallest value around it, "dilate" to the largest; channels are separate. "open"
    erodes and then dilates, which removes bright specks and mostly keeps the rest. "close" dilates and then erodes,
    which fills dark gaps. A disc has the pixels whose middles are at most radius + 0.5 away. Beyond the border, the
    nearest pixel is used. NaN is left out. Use it on masks, or to thicken lines.
    """

    image: In[any_type] = port(
        dtype="image", rank=2, strided=True, doc="The image or field, float4, half4, uchar4, f32 or u8."
    )
    out: Out[any_type] = port(dtype="same(image)", shape="same(image)", doc="The result, of the same size.")
    operation: str = param("erode", choices=tuple(OPERATIONS), doc="The operation to apply.")
    shape: str = param("disc", choices=SHAPES, doc="Shape of the window around each pixel.")
    radius: int = param(2, min=0, max=50, unit="px", structural=True, doc="Radius of the window; 0 changes nothing.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a kernel or two for each step."""
        windows = [Window(take, self.radius, self.radius, self.shape) for take in OPERATIONS[self.operation]]
        describe_windows(build, self.image, self.out, windows)
