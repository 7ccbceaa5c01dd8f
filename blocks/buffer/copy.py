from warploom.api import Block, BlockBuilder, In, Out, any_type, describe_copy, port


class Copy(Block, id="buffer.copy", tags=("duplicate", "memcpy", "contiguous", "pack")):
    """Copies a buffer of any type.

    The copy has its own contiguous memory. Use it before a block that works in place if another block needs the
    unchanged input, and between a Slice or Transpose and a block that needs contiguous memory.
    """

    x: In[any_type] = port(strided=True, doc="The buffer to copy: any element type, up to four dimensions.")
    out: Out[any_type] = port(shape="same(x)", dtype="same(x)", doc="The copy.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for four elements."""
        describe_copy(build, self.x, self.out)
