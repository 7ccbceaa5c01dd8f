from engine.api import Block, BlockBuilder, In, Kernel, Out, any_type, port


class Copy(Block, id="buffer.copy", tags=("duplicate", "memcpy", "contiguous", "pack")):
    """Copy a buffer of any type.

    The copy has contiguous memory of its own. Use it before a block that changes its input in place, when another block
    needs the contents as they were; and after a Slice or a Transpose, before a block that needs contiguous memory.
    """

    x: In[any_type] = port(strided=True, doc="What is copied: any element type, up to four dimensions.")
    out: Out[any_type] = port(shape="same(x)", dtype="same(x)", doc="The copy.")

    kernel = Kernel("buffers.cu", entry="copy_strided")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element; axes that x does not have count as of size 1."""
        sizes = [self.x.last(axis) for axis in (3, 2, 1, 0)]
        strides = [self.x.last_stride(axis) for axis in (3, 2, 1, 0)]
        in_four = sizes[0] * sizes[1] * sizes[2] * sizes[3]
        build.require(in_four - self.x.size, "a copied buffer must have at most four dimensions", port=self.x)
        arguments = (self.x, self.out, build.element_type(self.x), *sizes[1:], *strides, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=arguments)
