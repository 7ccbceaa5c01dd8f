from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port
from warploom.blocks.warp.edges import EDGE_DOC, EDGES, sampled

_PLACE = """\
turn = angle * pi / 180
x = px + 0.5 - width / 2 - move_x * width
y = py + 0.5 - height / 2 - move_y * height
from_x = (cos(turn) * x + sin(turn) * y) / scale + width / 2 - 0.5
from_y = (cos(turn) * y - sin(turn) * x) / scale + height / 2 - 0.5"""


@cache
def _moved(edge: str) -> OpGraphSource:
    return OpGraphSource.of_expression(f"{_PLACE}\n{sampled('from_x', 'from_y', edge)}", image=float4)


class Transform(Block, id="image.transform", tags=("move", "translate", "rotate", "turn", "scale", "zoom", "affine")):
    """Moves, turns and scales an image about its middle.

    The image is scaled first, then turned, then moved, and keeps its size. Pixels are interpolated between the four
    nearest ones. Far below a scale of 1, use Resize, or blur the image before: pixels in between are left out.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The moved image, of the same size.")
    move_x: float = param(0.0, min=-1, max=1, doc="Distance to the right, in widths of the image.")
    move_y: float = param(0.0, min=-1, max=1, doc="Distance downwards, in heights of the image.")
    angle: float = param(0.0, min=-180, max=180, unit="degrees", doc="Turn; positive is clockwise.")
    scale: float = param(1.0, min=0.01, max=100, doc="Factor of the size.")
    edge: str = param("transparent", choices=tuple(EDGES), doc=EDGE_DOC)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_moved(self.edge), over=self.out)
