from warploom.api import Block, BlockBuilder, In, Out, algorithms, any_type, param, port


class Sort(Block, id="data.sort", tags=("order", "ascending", "descending", "rank", "median", "cub")):
    """Sorts all elements.

    NaN is last in both directions, and -0 is below 0. Elements of several axes become one list. To sort something else
    by these elements, use Sort by Key; for the first few only, Top K.
    """

    x: In[any_type] = port(doc="Single real numbers or booleans, of any shape.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The elements in order, one list.")
    descending: bool = param(False, structural=True, doc="Largest first.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of CUB."""
        build.capture(algorithms.Sort(self.descending).on(x=self.x, out=self.out))
