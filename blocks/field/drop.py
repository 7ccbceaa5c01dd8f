from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port, u32


class Drop(Block, id="field.drop", tags=("rain", "splash", "water", "poke", "random")):
    """Pushes a surface down in a round spot, at a different position each time.

    Works in place. Each time the block runs, it makes one drop: put it in an If that holds in some frames to make rain.
    The positions are pseudo-random and depend on the seed and the number of drops so far, so every run of a patch has
    the same drops.
    """

    field: In[f32] = port(rank=2, doc="The surface, shape [height, width].")
    out: Out[f32] = port(inplace="field", doc="The same surface, with the drop.")
    strength: float = param(1.0, min=-10, max=10, doc="How far the centre of the spot is pushed down.")
    radius: float = param(6.0, min=0.5, max=500, unit="points", doc="Radius of the spot.")
    seed: int = param(1, min=0, max=1000, fresh=True, doc="Start of the random sequence of positions.")

    kernel = Kernel("fields.cu", entry="drop")
    count = Kernel("fields.cu", entry="count_drop")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point, and one that counts the drops."""
        number = build.buffer("number", u32, "[1]", state=True)
        size = (self.out.dim(1), self.out.dim(0))
        look = (self.strength, self.radius, self.seed)
        build.launch(self.kernel, num_threads=size, args=(self.out, number, build.frame, *look, *size))
        build.launch(self.count, num_threads=1, thread_block=1, args=(number,))
