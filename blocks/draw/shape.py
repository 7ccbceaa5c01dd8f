from functools import cache

from warploom.api import Block, BlockBuilder, OpGraphSource, Out, float4, param, port

#: The signed distance from each outline, in pixels, of the point (x, y) about the middle.
DISTANCES = {
    "circle": "hypot(x, y) - radius",
    "ring": "abs(hypot(x, y) - radius) - radius * thickness / 2",
    "square": "max(abs(x), abs(y)) - radius",
    "polygon": "hypot(x, y) * cos(around % (2 * half) - half) - radius * cos(half)",
    "star": """max(hypot(x, y) - radius, (hypot(x, y) * (sin(folded) * (1 - thickness * cos(half))
        + cos(folded) * thickness * sin(half)) - radius * thickness * sin(half))
        / hypot(1 - thickness * cos(half), thickness * sin(half)))""",
}


@cache
def _shape(kind: str) -> OpGraphSource:
    return OpGraphSource.of_expression(
        "turn = angle * pi / 180\n"
        "right = px + 0.5 - center_x * width\n"
        "down = py + 0.5 - center_y * height\n"
        "x = cos(turn) * right + sin(turn) * down\n"
        "y = cos(turn) * down - sin(turn) * right\n"
        "radius = size * height / 2\n"
        "half = pi / corners\n"
        "around = atan2(x, -y)\n"
        "folded = abs((around + half) % (2 * half) - half)\n"
        f"distance = {' '.join(DISTANCES[kind].split())}\n"
        "t = saturate(0.5 - distance / max(softness, 1))\n"
        "vec(red, green, blue, t * t * (3 - 2 * t) if softness > 1 else t)"
    )


class Shape(Block, id="image.shape", tags=("circle", "square", "polygon", "star", "ring", "sdf", "generator", "mask")):
    """Outputs a circle, ring, square, polygon or star on a transparent ground.

    Edges are smooth over one pixel, or over `softness`. Lay the shape on an image with Mix, by the mode "over".
    """

    out: Out[float4] = port(shape="[height, width]", doc="The shape, linear RGBA with straight alpha.")
    width: int = param(1024, min=1, max=8192, unit="px", structural=True, doc="Width of the image.")
    height: int = param(768, min=1, max=8192, unit="px", structural=True, doc="Height of the image.")
    kind: str = param("circle", choices=tuple(DISTANCES), doc="The outline.")
    size: float = param(0.5, min=0, max=4, doc="Diameter, in heights of the image; a square has this side.")
    corners: int = param(5, min=3, max=64, doc="Corners of a polygon, and points of a star.")
    thickness: float = param(0.4, min=0.01, max=1, doc="Of a ring, and the inner radius of a star, in radii.")
    angle: float = param(0.0, min=-180, max=180, unit="degrees", doc="Turn; positive is clockwise.")
    center_x: float = param(0.5, min=-1, max=2, doc="The middle, in widths from the left.")
    center_y: float = param(0.5, min=-1, max=2, doc="The middle, in heights from the top.")
    softness: float = param(1.0, min=1, max=1000, unit="px", doc="Width of the soft edge.")
    red: float = param(1.0, min=0, max=1, doc="Red of the shape, linear.")
    green: float = param(1.0, min=0, max=1, doc="Green of the shape, linear.")
    blue: float = param(1.0, min=0, max=1, doc="Blue of the shape, linear.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_shape(self.kind), over=self.out)
