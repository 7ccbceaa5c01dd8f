from warploom.api import Block, BlockBuilder, In, Out, ReinterpretView, any_type, param, port
from warploom.blocks.buffer.element_types import ELEMENTS


class Reinterpret(Block, id="buffer.reinterpret", tags=("view", "cast", "bits", "bytes")):
    """Reads a buffer's bytes as elements of another type.

    No data is copied or converted: a float4 image becomes four times as many f32 elements, and a block that changes the
    output in place changes the input too. The last axis becomes longer or shorter to match the new element size. To
    convert values, use Convert.
    """

    x: In[any_type] = port(strided=True, doc="The buffer: any element type, any shape, without gaps.")
    out: Out[any_type] = port(shape="view", dtype="view", doc="The same bytes as elements of the new type.")
    dtype: str = param("f32", choices=tuple(ELEMENTS), doc="Element type of the output.")

    def describe(self, build: BlockBuilder) -> None:
        """Make the output a view, which needs no work in a frame."""
        build.view(self.out, self.x, ReinterpretView(ELEMENTS[self.dtype]))
