from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, port


class Where(Block, id="math.where", tags=("select", "choose", "mask", "ternary", "condition", "if", "blend")):
    """Takes each element from one of two buffers, as a mask says.

    out[i] is a[i] where mask[i] is not 0, and else b[i]. Put a Compare before it to make the mask. To switch whole
    buffers, use Select.
    """

    mask: In[any_type] = port(shape="same(a)", doc="Any type, of the shape of a; -0 counts as 0, and NaN does not.")
    a: In[any_type] = port(doc="Elements where the mask is not 0: any element type, any shape.")
    b: In[any_type] = port(shape="same(a)", dtype="same(a)", doc="Elements where the mask is 0; type and shape of a.")
    out: Out[any_type] = port(shape="same(a)", dtype="same(a)", doc="The chosen elements.")

    kernel = Kernel("buffers.cu", entry="choose")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for every four elements."""
        mask = self.mask, build.element_type(self.mask), 0, 1
        sources = self.a, self.b, self.out, build.element_type(self.a)
        build.launch(self.kernel, num_threads=(self.out.size + 3) // 4, args=(*mask, *sources, self.out.size))
