from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port, u32, u64
from warploom.blocks.color.palettes import PALETTES
from warploom.blocks.particles.camera import place_camera
from warploom.blocks.particles.particle import Particle

#: Choices of `color_by`, in the order of their numbers in the kernel.
COLORS = ("age", "speed")
#: Pixels along an edge of a cell of the glow image; equals GLOW_CELL in render_points.cu.
GLOW_CELL = 8
FILE = "render_points.cu"


class RenderPoints(Block, id="particles.render_points", tags=("draw", "splat", "glow", "camera", "image")):
    """Draws particles as glowing points.

    The light of overlapping points adds up, part of it spreads as glow, and a film curve maps the sum to values between
    0 and 1. The camera looks at a point above the origin and can orbit it. Points become smaller with distance; points
    smaller than a pixel become darker instead. The output is linear light, for a Viewer or image blocks.
    """

    particles: In[Particle] = port(doc="The particles; only living ones are drawn.")
    count: In[u32] = port(
        optional=True,
        advised=False,
        doc="Draw only this many particles, from the front: the count of an append buffer.",
    )
    image: Out[float4] = port(shape="[height, width]", doc="The picture, linear RGBA, opaque.")
    width: int = param(1280, min=16, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(720, min=16, max=8192, unit="px", structural=True, doc="Height of the picture.")
    orbit: float = param(20.0, min=-180, max=180, unit="degrees", doc="Position of the camera on its orbit.")
    spin: float = param(6.0, min=-90, max=90, unit="degrees/s", doc="How fast the camera orbits.")
    elevation: float = param(17.0, min=-85, max=85, unit="degrees", doc="Angle at which the camera looks down.")
    distance: float = param(
        9.5, min=0.5, max=100, unit="m", doc="Distance from the camera to the point that it looks at."
    )
    target: float = param(1.7, min=-20, max=20, unit="m", doc="Height of the point that the camera looks at.")
    field_of_view: float = param(42.0, min=5, max=120, unit="degrees", doc="Vertical angle of view.")
    point_size: float = param(10.0, min=1, max=200, unit="mm", doc="Radius of a point.")
    brightness: float = param(0.8, min=0, max=10, doc="Brightness of one point.")
    exposure: float = param(0.0, min=-8, max=8, unit="stops", doc="Brightness of the picture.")
    glow: float = param(0.8, min=0, max=4, doc="Amount of light that spreads around bright points.")
    background: float = param(1.0, min=0, max=10, doc="Brightness of the night sky in the background.")
    palette: str = param(
        "ember", choices=tuple(PALETTES), doc="Palette, from young or fast particles to old or slow ones."
    )
    color_by: str = param("age", choices=COLORS, doc="Property of a particle that decides its colour.")
    fastest: float = param(
        7.0, min=0.1, max=50, unit="m/s", doc="Speed that has the first colour, when colouring by speed."
    )

    splat = Kernel(FILE, entry="splat_points")
    gather = Kernel(FILE, entry="gather_glow")
    spread = Kernel(FILE, entry="spread_glow")
    develop = Kernel(FILE, entry="develop_picture")

    def describe(self, build: BlockBuilder) -> None:
        """Compute the camera, light with a thread per particle, glow by cells, and the picture by runs of pixels."""
        cells_x, cells_y = -(-self.width // GLOW_CELL), -(-self.height // GLOW_CELL)
        camera = place_camera(build, self)
        lights = build.buffer("lights", u64, shape="[height, width]")
        glow = build.buffer("glow", float4, shape=f"[{cells_y}, {cells_x}]")
        spread = build.buffer("spread_glow", float4, shape=f"[{cells_y}, {cells_x}]")
        palette = tuple(PALETTES).index(self.palette)
        size, cells = (self.width, self.height), (cells_x, cells_y)
        points = (self.point_size, self.brightness, self.fastest, COLORS.index(self.color_by))
        look = (self.exposure, self.glow, self.background, palette)

        build.fill(lights, 0)
        build.launch(
            self.splat,
            num_threads=self.particles.size,
            args=(self.particles, self.count, camera, lights, *points, self.particles.size, *size),
            count=self.count,
        )
        build.launch(self.gather, num_threads=cells, args=(lights, glow, palette, *size, *cells))
        build.launch(self.spread, num_threads=cells, args=(glow, spread, 0, *cells))
        build.launch(self.spread, num_threads=cells, args=(spread, glow, 1, *cells))
        build.launch(
            self.develop, num_threads=(self.width, cells_y + 1), args=(lights, glow, self.image, *look, *size, *cells)
        )
