from warploom.api import Block, BlockBuilder, In, Kernel, Out, float4, param, port


class Trails(Block, id="geometry.trails", tags=("history", "path", "tail", "lines", "motion", "comet")):
    """Keeps the places of moving points over the last frames, as lines.

    Each column of `lines` is the trail of a point, the newest place first; draw it with Render Lines. A point without a
    life (its fourth number is 0) leaves no trail, and one that jumps begins another, as a particle does that is born
    again. For particles, put Points of Particles before it.
    """

    points: In[float4] = port(rank=1, doc="Positions x, y, z; the fourth number is 0 where there is no point.")
    lines: Out[float4] = port(
        shape="[length, points.size]",
        state=True,
        doc="Positions, the newest in row 0; the fourth number is 1 where a line leads to the next row, else below.",
    )
    length: int = param(32, min=2, max=4096, unit="frames", structural=True, doc="Number of places of a trail.")
    jump: float = param(1.0, min=0, max=1e6, unit="m", doc="Way in a frame from which on a trail begins again.")
    reset: bool = param(False, restarts=True, doc="Begins again when this becomes true.")

    kernel = Kernel("lines.cu", entry="lengthen_trails")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point, which moves the places of its trail on."""
        count = self.points.size
        build.launch(self.kernel, num_threads=count, args=(self.points, self.lines, self.jump, self.length, count))
