from blocks.image.palettes import PALETTES
from blocks.particles.camera import Camera
from blocks.particles.particle import Particle
from engine.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port, u32, u64

#: The kernel gets the index of one.
COLORS = ("age", "speed")
#: Pixels along an edge of a cell of the glow image: GLOW_CELL in render_points.cu.
GLOW_CELL = 8
FILE = "render_points.cu"


class RenderPoints(Block, id="particles.render_points", tags=("draw", "splat", "glow", "camera", "image")):
    """Draw particles as glowing points.

    Light adds up where points overlap, part of it spreads as glow, and a film curve brings the sum to the screen. The
    camera looks at a point above the origin and can orbit it by itself. Points shrink with distance; points below a
    pixel get darker instead. The image is linear and lies between 0 and 1, ready for a Viewer or image blocks.
    """

    particles: In[Particle] = port(doc="The particles to draw; those that are not alive are left out.")
    count: In[u32] = port(
        optional=True, advised=False, doc="Draw only so many of them, from the front; an append buffer's count."
    )
    image: Out[float4] = port(shape="[height, width]", doc="The picture, linear RGBA, opaque.")
    width: int = param(1280, min=16, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(720, min=16, max=8192, unit="px", structural=True, doc="Height of the picture.")
    orbit: float = param(20.0, min=-180, max=180, unit="degrees", doc="Where on its circle the camera stands.")
    spin: float = param(6.0, min=-90, max=90, unit="degrees/s", doc="How fast the camera goes round.")
    elevation: float = param(17.0, min=-85, max=85, unit="degrees", doc="Angle at which it looks down.")
    distance: float = param(9.5, min=0.5, max=100, unit="m", doc="Distance to the point it looks at.")
    target: float = param(1.7, min=-20, max=20, unit="m", doc="Height of that point.")
    field_of_view: float = param(42.0, min=5, max=120, unit="degrees", doc="Vertical angle that the picture takes in.")
    point_size: float = param(10.0, min=1, max=200, unit="mm", doc="Radius of a point.")
    brightness: float = param(0.8, min=0, max=10, doc="Light of one point.")
    exposure: float = param(0.0, min=-8, max=8, unit="stops", doc="Brightness of the picture.")
    glow: float = param(0.8, min=0, max=4, doc="How much light spreads around bright places.")
    background: float = param(1.0, min=0, max=10, doc="Light of the night behind.")
    palette: str = param("ember", choices=tuple(PALETTES), doc="Colours, from young or fast to old or slow.")
    color_by: str = param("age", choices=COLORS, doc="What gives a particle its colour.")
    fastest: float = param(7.0, min=0.1, max=50, unit="m/s", doc="Speed that gets the first colour, with speed.")

    place = Kernel(FILE, entry="place_camera")
    splat = Kernel(FILE, entry="splat_points")
    gather = Kernel(FILE, entry="gather_glow")
    spread = Kernel(FILE, entry="spread_glow")
    develop = Kernel(FILE, entry="develop_picture")

    def describe(self, build: BlockBuilder) -> None:
        """Camera, then light by one thread a wanted particle, glow by cells, and the picture by runs between them."""
        cells_x, cells_y = -(-self.width // GLOW_CELL), -(-self.height // GLOW_CELL)
        camera = build.buffer("camera", Camera, shape="[1]")
        lights = build.buffer("lights", u64, shape="[height, width]")
        glow = build.buffer("glow", float4, shape=f"[{cells_y}, {cells_x}]")
        spread = build.buffer("spread_glow", float4, shape=f"[{cells_y}, {cells_x}]")
        palette = tuple(PALETTES).index(self.palette)
        size, cells = (self.width, self.height), (cells_x, cells_y)
        view = (self.orbit, self.spin, self.elevation, self.distance, self.target, self.field_of_view)
        points = (self.point_size, self.brightness, self.fastest, COLORS.index(self.color_by))
        look = (self.exposure, self.glow, self.background, palette)

        build.launch(self.place, num_threads=1, thread_block=1, args=(camera, build.frame, *view, self.height))
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
            self.develop, num_threads=(cells_x + 1, self.height), args=(lights, glow, self.image, *look, *size, *cells)
        )
