from engine.api import Block, BlockBuilder, In, Out, any_type, param, port


class FrameDelay(Block, id="buffer.frame_delay", tags=("feedback", "previous", "history", "trail")):
    """Output in each frame the input of the frame before.

    This is how a patch feeds back: `x` may come from blocks that depend on `out`. Such a loop takes its shape from what
    else comes into it; if nothing does, or several shapes would do, connect something of the same type and shape to
    `like`. In the first frame every number is `initial`. The contents survive a rebuild.
    """

    x: In[any_type] = port(delayed=True, doc="Contents for the next frame: any element type, any shape.")
    like: In[any_type] = port(
        optional=True, advised=False, doc="Gives type and shape of the output, when a loop leaves them open."
    )
    out: Out[any_type] = port(shape="same(like, x)", dtype="same(like, x)", doc="x as it was one frame ago.")
    initial: float = param(0.0, min=-1e9, max=1e9, structural=True, doc="Every number of the first frame.")

    def describe(self, build: BlockBuilder) -> None:
        """Two buffers that change places after each frame; no kernel."""
        build.delay(self.out, self.x, initial=self.initial)
