from warploom.api import BlockBuilder, In, Kernel, Out, float4, param, port, s32, u64
from warploom.blocks.geometry.orbit_view import OrbitView
from warploom.blocks.particles.camera import place_camera

FILE = "lines.cu"
#: Threads besides one per segment, which share the pixels of long segments; equals SPARE in lines.cu.
SPARE = 16384
#: Samples of a pixel; equals SAMPLES in lines.cu.
SAMPLES = 4
#: How lines that cross are drawn.
BLENDS = ("light", "over")


class RenderLines(
    OrbitView, id="geometry.render_lines", tags=("strips", "segments", "curves", "wireframe", "trails", "3d", "draw")
):
    """Draws lines in space, as light that adds up or as wires of which near ones cover far ones.

    Points of two dimensions are strips: each column is a line from the first row to the last, as Trails makes them. A
    list of points is one strip, or with `edges` the segments between pairs of points. No line leads from a point whose
    fourth number is 0 or less. Edges are smooth. The camera is that of Render Mesh; light is not limited to 1, so a
    Tone may follow.
    """

    points: In[float4] = port(doc="Positions x, y, z, in metres: a list, or strips of the shape [rows, strips].")
    colors: In[float4] = port(
        shape="same(points)", optional=True, advised=False, doc="Linear RGBA of each point; white without a connection."
    )
    edges: In[s32] = port(
        rank=2,
        shape="[edges.dim0, 2]",
        optional=True,
        advised=False,
        doc="Pairs of indices of points, shape [segments, 2], instead of strips.",
    )
    image: Out[float4] = port(
        shape="[height, width]", doc="The picture, linear RGBA; opaque if lines are light, else clear between them."
    )
    blend: str = param("light", choices=BLENDS, doc="Light that adds up, or wires that cover what is behind them.")
    line_width: float = param(1.5, min=0.05, max=64, unit="px", doc="Width of the lines.")
    brightness: float = param(1.0, min=0, max=100, doc="Factor of all colours.")
    fade: float = param(
        0.0, min=0, max=1, doc="Share of a strip's opacity that is lost from its first row to its last."
    )

    draw = Kernel(FILE, entry="draw_lines")
    shade = Kernel(FILE, entry="shade_lines")
    add = Kernel(FILE, entry="add_lines")
    develop = Kernel(FILE, entry="develop_lines")

    def describe(self, build: BlockBuilder) -> None:
        """Add light to the pixels of each segment, or find the nearest one of each sample, then make the picture."""
        size, strips = (self.width, self.height), (self.points.dim(0), self.points.size, 0)
        segments = (*strips[:2], self.edges.dim(0))
        camera, look = place_camera(build, self), (self.brightness, self.fade)
        lines = (self.points, self.colors, self.edges, camera)
        if self.blend == "light":
            pixels = build.buffer("lights", u64, shape="[height, width, 2]")
            kernel, seen = self.add, [*lines, pixels, self.line_width, *look]
        else:
            pixels = build.buffer("nearest", u64, shape=f"[height, width, {SAMPLES}]")
            kernel, seen = self.draw, [self.points, self.edges, camera, pixels, self.line_width]
        build.fill(pixels, 0)
        build.launch(kernel, num_threads=self.points.size + SPARE, args=(*seen, *strips, *size))
        build.launch(kernel, num_threads=self.edges.dim(0) + SPARE, args=(*seen, *segments, *size), needs=self.edges)
        if self.blend == "light":
            build.launch(self.develop, num_threads=size, args=(pixels, self.image, *size))
        else:
            build.launch(self.shade, num_threads=size, args=(*lines, pixels, self.image, *look, *strips, *size))
