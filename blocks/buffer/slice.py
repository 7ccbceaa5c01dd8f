from engine.api import Block, BlockBuilder, In, Out, SliceView, any_type, param, port


class Slice(Block, id="buffer.slice", tags=("view", "crop", "part", "row", "channel")):
    """Look at a part of a buffer along one axis.

    Nothing is copied: the output is the same memory, so a block that changes it in place changes the input. Positions
    count as in Python, negative ones from the end. A slice with gaps can be connected to blocks that take strides, such
    as Copy, which makes it a contiguous buffer.
    """

    x: In[any_type] = port(strided=True, doc="The whole: any element type, any shape.")
    out: Out[any_type] = port(shape="view", dtype="view", doc="The part, in the memory of x.")
    axis: int = param(0, min=-8, max=7, structural=True, doc="The axis that is cut; -1 is the last.")
    start: int = param(0, min=-(1 << 30), max=1 << 30, structural=True, doc="First position.")
    stop: int = param(0, min=-(1 << 30), max=1 << 30, structural=True, doc="Position after the last one; 0 is the end.")
    step: int = param(1, min=1, max=1 << 30, structural=True, doc="Distance between the positions that are taken.")

    def describe(self, build: BlockBuilder) -> None:
        """A view; nothing runs."""
        build.view(self.out, self.x, SliceView(self.axis, self.start, self.stop or None, self.step))
