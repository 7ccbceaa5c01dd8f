from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.warp.edges import sampled


@cache
def _tiled(is_mirrored: bool) -> OpGraphSource:
    place = sampled("(px + 0.5) * across - 0.5", "(py + 0.5) * down - 0.5", "mirror" if is_mirrored else "repeat")
    return OpGraphSource.of_expression(place, image=float4)


class Tile(Block, id="image.tile", tags=("repeat", "pattern", "wallpaper", "mosaic", "wrap")):
    """Repeats an image side by side and below each other.

    The first copy lies in the top left corner. Copies are smaller than the image, which is interpolated between pixels;
    for many copies, blur the image before.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The pattern, of the same size.")
    across: float = param(2.0, min=0.1, max=100, doc="Copies side by side.")
    down: float = param(2.0, min=0.1, max=100, doc="Copies below each other.")
    mirrored: bool = param(False, structural=True, doc="Mirror every second copy, so that no borders are seen.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_tiled(self.mirrored), over=self.out)
