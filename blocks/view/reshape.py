from warploom.api import Block, BlockBuilder, In, Out, ReshapeView, any_type, param, port
from warploom.blocks.buffer.shape_text import whole_numbers


class Reshape(Block, id="buffer.reshape", tags=("view", "flatten", "shape")):
    """Views a buffer in another shape.

    No data is copied, and the elements keep their order: the output is the input's memory. One size may be -1, which is
    computed from the others; "-1" alone makes a list. The input must be contiguous: put a Copy after a Slice or a
    Transpose.
    """

    x: In[any_type] = port(strided=True, doc="The elements: any type, any shape.")
    out: Out[any_type] = port(shape="view", dtype="view", doc="The same elements in the new shape.")
    shape: str = param("-1", doc='Sizes of the axes, the slowest first, such as "4, -1".')

    def describe(self, build: BlockBuilder) -> None:
        """Make the output a view, which needs no work in a frame."""
        build.view(self.out, self.x, ReshapeView(whole_numbers("shape", self.shape)))
