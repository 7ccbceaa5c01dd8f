from warploom.api import Block, BlockBuilder, In, Out, any_type, param, port
from warploom.blocks.buffer.beginning import describe_beginning
from warploom.blocks.buffer.element_types import ELEMENTS
from warploom.blocks.buffer.shape_text import shape_rule


class State(Block, id="buffer.state", tags=("memory", "persistent", "simulation")):
    """Keeps a buffer from frame to frame.

    The buffer starts with zeros, or with the contents of `first` in the first frame. Blocks that work in place change
    it, and the next frame starts from the result. Use it for the heights of a water surface, or for sums over time. The
    contents survive a rebuild of the patch as long as type and shape stay the same; with others, it begins again.
    """

    out: Out[any_type] = port(shape="[1]", dtype="given", state=True, doc="The buffer, as the last frame left it.")
    first: In[any_type] = port(
        dtype="same(out)",
        shape="same(out)",
        optional=True,
        advised=False,
        doc="Contents that it begins with, of its type and shape.",
    )
    shape: str = param("256, 256", doc='Sizes of the axes, the slowest first, such as "1080, 1920".')
    dtype: str = param("f32", choices=tuple(ELEMENTS), doc="Element type.")
    reset: bool = param(
        False, restarts=True, doc="Begins again when this becomes true, by a key or another value for instance."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Allocate memory, which needs no work in a frame unless it begins with a buffer."""
        build.define(self.out, dtype=ELEMENTS[self.dtype], shape=shape_rule("shape", self.shape))
        describe_beginning(build, self.out, self.first)
