from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float2, param, port, u32
from warploom.blocks.field.rows import ROWS

FILE = "lattice.cu"
#: What is at the edges, in the order of their numbers in the kernel.
BORDERS = ("torus", "walls", "wind tunnel")


class LatticeBoltzmann(
    Block,
    id="field.lattice_boltzmann",
    tags=("fluid", "lbm", "d2q9", "wake", "karman", "vortices", "wind", "flow", "cfd", "simulation"),
):
    """Lets a fluid flow around obstacles, by the lattice Boltzmann method.

    Nine parts of the fluid go from cell to cell (D2Q9) and collide (BGK), which keeps mass and momentum. Lengths are in
    cells, times in steps; sound goes 0.58 cells a step, so keep velocities below 0.2. The Reynolds number of an
    obstacle is its size times the speed over the viscosity; a wake sheds vortices from 50 on. Obstacles may move.
    """

    solid: In[f32] = port(
        rank=2, shape="[height, width]", optional=True, advised=False, doc="Obstacles: cells that are not 0."
    )
    push: In[float2] = port(
        rank=2,
        shape="[height, width]",
        optional=True,
        advised=False,
        doc="Force on each cell, added to the common one.",
    )
    start: In[float2] = port(
        rank=2,
        shape="[height, width]",
        optional=True,
        advised=False,
        doc="Velocity at the beginning; at rest without it, or as fast as the wind in a tunnel.",
    )
    velocity: Out[float2] = port(shape="[height, width]", doc="Velocity of each cell, in cells a step.")
    density: Out[f32] = port(
        shape="[height, width]", doc="Density of each cell, near 1; a third of it is the pressure."
    )
    width: int = param(480, min=1, max=8192, unit="cells", structural=True, doc="Width of the fluid.")
    height: int = param(240, min=1, max=8192, unit="cells", structural=True, doc="Height of the fluid.")
    steps: int = param(8, min=1, max=200, structural=True, doc="Time steps in a frame; an even number is faster.")
    viscosity: float = param(0.02, min=0.0005, max=1, unit="cells²/step", doc="How thick the fluid is.")
    eddies: float = param(
        0.1,
        min=0,
        max=0.5,
        doc="Smagorinsky's number for eddies smaller than a cell, which keep fast flows stable; 0 is BGK alone.",
    )
    force_x: float = param(0.0, min=-0.01, max=0.01, doc="Force on each cell to the right.")
    force_y: float = param(0.0, min=-0.01, max=0.01, doc="Force on each cell downwards.")
    speed: float = param(0.1, min=0, max=0.2, unit="cells/step", doc="Speed of the wind in a tunnel, from the left.")
    border: str = param("wind tunnel", choices=BORDERS, doc="Edges that meet, solid walls, or wind from left to right.")
    reset: bool = param(False, restarts=True, doc="Begins again when this becomes true.")

    begin = Kernel(FILE, entry="begin_lattice")
    note = Kernel(FILE, entry="note_begun")
    step = Kernel(FILE, entry="step_lattice")

    def describe(self, build: BlockBuilder) -> None:
        """Begin once, then launch one thread per cell in each step, from one buffer to another."""
        size, border = (self.width, self.height), BORDERS.index(self.border)
        parts = build.buffer("parts", f32, "[9, height, width]", state=True)
        after = build.buffer("after", f32, "[9, height, width]")
        begun = build.buffer("begun", u32, "[1]", state=True)
        count = self.density.size
        first = (parts, self.start, begun, self.speed, border == 2, count)
        build.launch(self.begin, num_threads=count, args=first)
        build.launch(self.note, num_threads=1, thread_block=1, args=(begun,))
        fluid = (self.viscosity, self.eddies, self.force_x, self.force_y, self.speed, border)
        for step in range(self.steps):
            source, target = (after, parts) if step % 2 else (parts, after)
            state = (source, self.solid, self.push, target, self.velocity, self.density)
            flags = (int(step == self.steps - 1), *size)
            build.launch(self.step, num_threads=size, thread_block=ROWS, args=(*state, *fluid, *flags))
        if self.steps % 2:
            build.copy(parts, after)
