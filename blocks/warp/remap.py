from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.warp.edges import EDGE_DOC, EDGES


@cache
def _remapped(edge: str) -> OpGraphSource:
    text = f'sample(image, map.x, map.y, boundary="{EDGES[edge]}")'
    return OpGraphSource.of_expression(text, image=float4, map=float4)


class Remap(Block, id="image.remap", tags=("uv", "st map", "lens", "warp", "unwrap", "polar", "projection", "lookup")):
    """Takes each pixel from the place in an image that a map names.

    The red of the map is the place across the image, from 0 at its left edge to 1 at its right one, and green that
    from its top to its bottom: a UV or ST map. A map whose red is `u` and green `v`, from an Expression, changes
    nothing; one of angles and distances unrolls a circle. Pixels are interpolated between the four nearest ones. To
    move pixels by a distance, use Displace.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    map: In[float4] = port(rank=2, doc="For each pixel of the result, the place in the image, in red and green.")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(map)", doc="The image as the map shows it, of the size of the map."
    )
    edge: str = param("extend", choices=tuple(EDGES), doc=EDGE_DOC)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_remapped(self.edge), over=self.out)
