from warploom.api import Block, BlockBuilder, In, Out, any_type, param, port
from warploom.blocks.buffer.beginning import describe_beginning


class FrameDelay(Block, id="buffer.frame_delay", tags=("feedback", "previous", "history", "trail")):
    """Outputs the previous frame's input.

    Use it for feedback: `x` may come from blocks that depend on `out`. The type and shape of such a loop follow from
    its other inputs. If it has none, or if several shapes are possible, connect a buffer of the wanted type and shape
    to `like`. In the first frame every number is `initial`, unless a buffer is connected to `first`. The contents
    survive a rebuild.
    """

    x: In[any_type] = port(delayed=True, doc="Contents for the next frame: any element type, any shape.")
    like: In[any_type] = port(
        optional=True,
        advised=False,
        doc="Buffer whose type and shape the output takes when a feedback loop leaves them open.",
    )
    first: In[any_type] = port(
        dtype="same(out)",
        shape="same(out)",
        optional=True,
        advised=False,
        doc="Contents in the first frame, of the type and shape of `x`.",
    )
    out: Out[any_type] = port(
        shape="same(like, first, x)", dtype="same(like, first, x)", doc="The input x of the previous frame."
    )
    initial: float = param(0.0, min=-1e9, max=1e9, structural=True, doc="Value of every element in the first frame.")
    reset: bool = param(
        False, restarts=True, doc="Begins again when this becomes true, by a key or another value for instance."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Let two buffers be swapped after each frame, without a kernel."""
        build.delay(self.out, self.x, initial=self.initial)
        build.keep_columns(self.out, self.x)
        describe_beginning(build, self.out, self.first)
