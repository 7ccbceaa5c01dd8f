from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.warp.edges import EDGE_DOC, EDGES, sampled

_PLACE = "way = map[px, py]\nfrom_x = px + (way.x - middle) * amount\nfrom_y = py + (way.y - middle) * amount\n"


@cache
def _displaced(edge: str) -> OpGraphSource:
    return OpGraphSource.of_expression(_PLACE + sampled("from_x", "from_y", edge), image=float4, map=float4)


class Displace(Block, id="image.displace", tags=("distort", "warp", "remap", "refract", "ripple", "glass")):
    """Moves each pixel by the colours of another image.

    A pixel shows the image at its own position plus ((red, green) - `middle`) * `amount`: red moves along x, and green
    along y. Take Noise for heat or water, or the motion of an Optical Flow with a middle of 0. If `map` has another
    size, its top left corner lies on that of the image, and its border pixels are repeated.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to distort, shape [height, width].")
    map: In[float4] = port(rank=2, doc="Where each pixel looks, in red and green.")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The distorted image, of the same size.")
    amount: float = param(
        32.0, min=-1000, max=1000, unit="px", doc="Distance for a red or green of 1 above the middle."
    )
    middle: float = param(0.5, min=-1, max=1, doc="The red and green that move nothing.")
    edge: str = param("extend", choices=tuple(EDGES), doc=EDGE_DOC)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_displaced(self.edge), over=self.out)
