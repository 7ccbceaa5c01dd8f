from engine.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port, u32


class Drop(Block, id="field.drop", tags=("rain", "splash", "water", "poke", "random")):
    """Push a surface down in a round spot, at a different place each time.

    Works in place, once each time it runs: in an If that holds now and then, it makes rain. The places are
    pseudo-random and follow from the number of drops so far, so two runs are the same.
    """

    field: In[f32] = port(rank=2, doc="The surface, shape [height, width].")
    out: Out[f32] = port(inplace="field", doc="The same surface, with the drop.")
    strength: float = param(1.0, min=-10, max=10, doc="How far the middle of the spot is pushed down.")
    radius: float = param(6.0, min=0.5, max=500, unit="points", doc="Radius of the spot.")
    seed: int = param(1, min=0, max=1000, fresh=True, doc="Which pseudo-random places they are.")

    kernel = Kernel("fields.cu", entry="drop")
    count = Kernel("fields.cu", entry="count_drop")

    def describe(self, build: BlockBuilder) -> None:
        """One thread a point; one more counts."""
        number = build.buffer("number", u32, "[1]", state=True)
        size = (self.out.dim(1), self.out.dim(0))
        look = (self.strength, self.radius, self.seed)
        build.launch(self.kernel, num_threads=size, args=(self.out, number, build.frame, *look, *size))
        build.launch(self.count, num_threads=1, thread_block=1, args=(number,))
