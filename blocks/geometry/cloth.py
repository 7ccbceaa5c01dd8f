from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, s32

FILE = "cloth.cu"
#: How the cloth begins, and what holds it, in the order of their numbers in the kernel.
STARTS = ("hanging", "lying")
PINS = ("nothing", "two corners", "top edge", "left edge", "four corners")


class Cloth(Block, id="geometry.cloth", tags=("flag", "fabric", "springs", "sheet", "drape", "simulation", "mesh")):
    """Lets a sheet of cloth hang, fall and blow in the wind.

    Points on a grid keep their distances to the points around (position-based dynamics); the cloth does not touch
    itself. Each frame is cut into `steps`: more of them make the cloth stretch less, most of all a fine one. Connect
    the outputs to Render Mesh.
    """

    pinned: In[f32] = port(
        rank=2, shape="[rows, columns]", optional=True, advised=False, doc="Points that are held, too: those not 0."
    )
    points: Out[float4] = port(shape="[rows * columns]", state=True, doc="Positions x, y, z, 1, row by row.")
    normals: Out[float4] = port(shape="[rows * columns]", doc="Unit vectors x, y, z, 0.")
    faces: Out[s32] = port(shape="[2 * (rows - 1) * (columns - 1), 3]", doc="Indices of the points of triangles.")
    columns: int = param(64, min=2, max=4096, structural=True, doc="Points along the width.")
    rows: int = param(64, min=2, max=4096, structural=True, doc="Points along the height.")
    steps: int = param(16, min=1, max=200, structural=True, doc="Parts of the time step.")
    start: str = param("hanging", choices=STARTS, doc="Upright, with its top edge at a height, or flat at that height.")
    pins: str = param("two corners", choices=PINS, doc="What is held where it began.")
    size: float = param(
        1.6, min=0.01, max=1000, unit="m", doc="Width of the cloth; its height follows from the points."
    )
    height: float = param(1.6, min=-1000, max=1000, unit="m", doc="Height at which it begins.")
    gravity: float = param(9.8, min=-50, max=50, unit="m/s²", doc="Acceleration downwards.")
    wind_x: float = param(0.0, min=-50, max=50, unit="m/s", doc="Wind along the x axis.")
    wind_z: float = param(0.0, min=-50, max=50, unit="m/s", doc="Wind along the z axis.")
    air: float = param(3.0, min=0, max=100, unit="1/s", doc="How quickly cloth that faces the wind takes on its speed.")
    shear: float = param(0.5, min=0, max=1, doc="How well it keeps its right angles.")
    bend: float = param(0.2, min=0, max=1, doc="How stiff it is against folds.")
    damping: float = param(0.3, min=0, max=50, unit="1/s", doc="Share of the speed that is lost in a second.")
    ball_x: float = param(0.0, min=-1000, max=1000, unit="m", doc="Place of a ball that the cloth falls on.")
    ball_y: float = param(0.0, min=-1000, max=1000, unit="m", doc="Height of the ball's centre.")
    ball_z: float = param(0.0, min=-1000, max=1000, unit="m", doc="Place of the ball to the front.")
    ball_size: float = param(0.0, min=0, max=1000, unit="m", doc="Radius of the ball; 0 is none.")
    floor: float = param(-1000.0, min=-1000, max=1000, unit="m", doc="Height of a floor.")
    friction: float = param(
        0.2, min=0, max=1, doc="Share of the way along the ball or the floor that is lost in a step."
    )
    reset: bool = param(False, restarts=True, doc="Begins again when this becomes true.")

    move = Kernel(FILE, entry="move_cloth")
    draw = Kernel(FILE, entry="draw_cloth")
    mesh = Kernel(FILE, entry="cloth_mesh")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point: two kernels in each step, then one for the mesh."""
        size = (self.columns, self.rows)
        ways = build.buffer("ways", float4, "[rows, columns]", state=True)
        guesses = build.buffer("guesses", float4, "[rows * columns]")
        forces = (self.gravity, self.wind_x, self.wind_z, self.air)
        kind = (STARTS.index(self.start), PINS.index(self.pins), self.steps)
        ball = (self.ball_x, self.ball_y, self.ball_z, self.ball_size)
        keeps = (self.shear, self.bend, self.damping, *ball, self.floor, self.friction)
        moves = (self.pinned, build.frame, self.size, self.height, *forces, *kind)
        for _ in range(self.steps):
            build.launch(self.move, num_threads=size, args=(self.points, ways, guesses, *moves, *size))
            draws = (build.frame, self.size, *keeps, self.steps)
            build.launch(self.draw, num_threads=size, args=(self.points, ways, guesses, *draws, *size))
        build.launch(self.mesh, num_threads=size, args=(self.points, self.normals, self.faces, *size))
