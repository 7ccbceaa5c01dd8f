from warploom.api import Block, BlockBuilder, In, Out, SliceView, any_type, param, port


class Slice(Block, id="buffer.slice", tags=("view", "crop", "part", "row", "channel")):
    """Views a part of a buffer along one axis.

    No data is copied: the output is the input's memory, so a block that changes the output in place changes the input.
    Positions are numbered as in Python: negative ones count from the end. A slice with gaps can be connected to blocks
    that accept strides, such as Copy, which makes it contiguous.
    """

    x: In[any_type] = port(strided=True, doc="The buffer: any element type, any shape.")
    out: Out[any_type] = port(shape="view", dtype="view", doc="The part, in the memory of x.")
    axis: int = param(0, min=-8, max=7, structural=True, doc="The axis to slice; -1 is the last.")
    start: int = param(0, min=-(1 << 30), max=1 << 30, structural=True, doc="First position.")
    stop: int = param(0, min=-(1 << 30), max=1 << 30, structural=True, doc="Position after the last one; 0 is the end.")
    step: int = param(1, min=1, max=1 << 30, structural=True, doc="Distance from one selected position to the next.")

    def describe(self, build: BlockBuilder) -> None:
        """Make the output a view, which needs no work in a frame."""
        build.view(self.out, self.x, SliceView(self.axis, self.start, self.stop or None, self.step))
