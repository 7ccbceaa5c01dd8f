from warploom.api import Block, BlockBuilder, In, Out, TransposeView, any_type, param, port
from warploom.blocks.buffer.shape_text import whole_numbers


class Transpose(Block, id="buffer.transpose", tags=("view", "axes", "permute", "matrix")):
    """Views a buffer with its axes in another order.

    No data is copied: the output is the input's memory. Axis k of the output is axis `order[k]` of the input, as in
    numpy. The output can be connected to blocks that accept strides, such as Copy, which makes it contiguous.
    """

    x: In[any_type] = port(strided=True, doc="The buffer: any element type, any shape.")
    out: Out[any_type] = port(shape="view", dtype="view", doc="The same elements, axes in the new order.")
    order: str = param("1, 0", doc='Each axis of x once, such as "2, 0, 1".')

    def describe(self, build: BlockBuilder) -> None:
        """Make the output a view, which needs no work in a frame."""
        build.view(self.out, self.x, TransposeView(whole_numbers("order", self.order)))
