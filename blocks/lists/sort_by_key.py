from warploom.api import Block, BlockBuilder, In, Kernel, Out, algorithms, any_type, param, port


class SortByKey(
    Block, id="data.sort_by_key", title="Sort by Key", tags=("argsort", "order", "rank", "permutation", "table", "rows")
):
    """Sorts elements, or rows, by keys.

    Row i of `out` is the row of `x` whose key is the i-th in order; `order` has its position. Equal keys keep their
    order, with -0 and 0 among them; NaN is last in both directions. Pass `order` to Gather to sort more by the same
    keys.
    """

    keys: In[any_type] = port(doc="Single real numbers or booleans, one for each row of x.")
    x: In[any_type] = port(doc="Any element type; its first axis has as many rows as there are keys.")
    out: Out[any_type] = port(dtype="same(x)", shape="same(x)", doc="The rows of x in the order of their keys.")
    order: Out[any_type] = port(dtype="captured", shape="captured", doc="The positions of the rows in x, u32.")
    descending: bool = param(False, structural=True, doc="Largest key first.")

    gather = Kernel("indices.cu", entry="gather")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of CUB, then launch one thread per element of x."""
        rows, keys = self.x.dim(0), self.keys.size
        for difference in (rows - keys, keys - rows):
            build.require(difference, "the first axis of x must have as many rows as there are keys", port=self.x)
        build.capture(algorithms.Order(self.descending).on(x=self.keys, out=self.order))
        build.keep_columns(self.out, self.x)
        types, clamped = (build.element_type(self.x), build.element_type(self.order)), 0
        sizes = clamped, rows, self.x.stride(0), rows, self.x.size
        build.launch(self.gather, num_threads=self.x.size, args=(self.x, self.order, self.out, *types, *sizes))
