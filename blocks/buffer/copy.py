from engine.api import Block, BlockBuilder, In, Out, any_type, describe_copy, port


class Copy(Block, id="buffer.copy", tags=("duplicate", "memcpy", "contiguous", "pack")):
    """Copy a buffer of any type.

    The copy has contiguous memory of its own. Use it before a block that changes its input in place, when another block
    needs the contents as they were; and after a Slice or a Transpose, before a block that needs contiguous memory.
    """

    x: In[any_type] = port(strided=True, doc="What is copied: any element type, up to four dimensions.")
    out: Out[any_type] = port(shape="same(x)", dtype="same(x)", doc="The copy.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        describe_copy(build, self.x, self.out)
