from warploom.api import Block, BlockBuilder, In, Kernel, Out, algorithms, any_type, param, port, u32


class TopK(Block, id="data.top_k", tags=("largest", "smallest", "best", "rank", "argmax", "nearest")):
    """Finds the k largest or smallest elements, and where they are.

    They come in order, the first the largest or smallest. Of equal elements, the first counts first; NaN is last. It
    sorts everything, so it costs as much as Sort by Key. With `k` 1, `positions` is where the largest element is.
    """

    x: In[any_type] = port(doc="Single real numbers or booleans, of any shape, at least k.")
    out: Out[any_type] = port(dtype="same(x)", shape="[k]", doc="The k elements, in order.")
    positions: Out[u32] = port(shape="[k]", doc="Their positions in x, counted through all axes.")
    k: int = param(10, min=1, max=1 << 26, unit="elements", structural=True, doc="Number of elements.")
    smallest: bool = param(False, structural=True, doc="Find the smallest elements.")

    kernel = Kernel("lists.cu", entry="take_first")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of CUB, then launch one thread per element of the output."""
        build.require(self.x.size - self.k, f"x must have at least k = {self.k} elements", port=self.x)
        order = build.buffer("order", u32, "captured")
        build.capture(algorithms.Order(not self.smallest).on(x=self.x, out=order))
        arguments = (self.x, build.element_type(self.x), order, self.out, self.positions, self.k)
        build.launch(self.kernel, num_threads=self.k, args=arguments)
