from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port

#: The column and row that each mode reads.
MODES = {
    "flip left and right": ("width - 1 - px", "py"),
    "flip top and bottom": ("px", "height - 1 - py"),
    "left half": ("min(px, width - 1 - px)", "py"),
    "right half": ("max(px, width - 1 - px)", "py"),
    "top half": ("px", "min(py, height - 1 - py)"),
    "bottom half": ("px", "max(py, height - 1 - py)"),
}


@cache
def _mirrored(mode: str) -> OpGraphSource:
    column, row = MODES[mode]
    return OpGraphSource.of_expression(f"image[{column}, {row}]", image=float4)


class Mirror(Block, id="image.mirror", tags=("flip", "reflect", "symmetry")):
    """Flips an image, or makes it symmetric.

    A flip exchanges the sides. Otherwise one half stays, and the other half becomes its mirror image.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The mirrored image, of the same size.")
    mode: str = param("left half", choices=tuple(MODES), doc="The flip, or the half that stays.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_mirrored(self.mode), over=self.out)
