from warploom.api import Block, BlockBuilder, In, Kernel, Out, Struct, f32, param, port, u32


class Agent(Struct):
    """One agent, 16 bytes, with the layout of `kernels/slime.cu`."""

    x: f32
    y: f32
    heading: f32
    random: u32


class SlimeMould(
    Block, id="field.slime_mould", tags=("physarum", "agents", "trail", "network", "veins", "ants", "simulation")
):
    """Lets agents leave a trail and follow it, which grows into veins.

    In each step an agent compares the trail at three places ahead, turns to the strongest, goes on, and leaves some of
    the trail where it arrives; the trail spreads and fades. `food` attracts agents like trail. Connect the output to a
    Color Ramp.
    """

    food: In[f32] = port(
        rank=2, shape="[height, width]", optional=True, advised=False, doc="What attracts the agents besides the trail."
    )
    trail: Out[f32] = port(shape="[height, width]", state=True, doc="The strength of the trail at each pixel.")
    width: int = param(640, min=1, max=8192, unit="px", structural=True, doc="Width of the field.")
    height: int = param(360, min=1, max=8192, unit="px", structural=True, doc="Height of the field.")
    agents: int = param(120_000, min=1, max=10_000_000, structural=True, doc="Number of agents.")
    speed: float = param(1.2, min=0, max=20, unit="px", doc="Distance that an agent goes in a step.")
    sense: float = param(18.0, min=0, max=100, unit="px", doc="How far ahead it compares.")
    sense_angle: float = param(45.0, min=0, max=180, unit="degrees", doc="Angle of the two outer places.")
    turn: float = param(22.5, min=0, max=180, unit="degrees", doc="Angle by which it turns in a step.")
    deposit: float = param(0.1, min=0, max=10, doc="Trail that an agent leaves in a step.")
    spread: float = param(0.9, min=0, max=1, doc="Share of the trail that spreads over 3 x 3 pixels in a step.")
    decay: float = param(0.08, min=0, max=1, doc="Share of the trail that is lost in a step.")
    born: str = param(
        "anywhere", choices=("anywhere", "disc"), doc="Where agents are born: anywhere, or in the middle."
    )
    seed: int = param(1, min=0, max=1000, fresh=True, doc="Start of the random sequence.")

    move = Kernel("slime.cu", entry="move_slime")
    blur = Kernel("slime.cu", entry="spread_trail")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per agent, then one per pixel."""
        size, shape = (self.width, self.height), "[height, width]"
        agents = build.buffer("agents", Agent, "[agents]", state=True)
        arrivals, later = build.buffer("arrivals", u32, shape), build.buffer("next", f32, shape)
        ways = (self.speed, self.sense, self.sense_angle, self.turn, self.born == "disc", self.seed)
        seen = (agents, arrivals, self.trail, self.food, build.frame)
        build.fill(arrivals, 0)
        build.launch(self.move, num_threads=self.agents, args=(*seen, *ways, self.agents, *size))
        rates = (self.deposit, self.spread, self.decay)
        build.launch(self.blur, num_threads=size, args=(self.trail, arrivals, later, *rates, *size))
        build.copy(self.trail, later)
