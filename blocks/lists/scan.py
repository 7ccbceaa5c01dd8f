from warploom.api import Block, BlockBuilder, In, Out, algorithms, any_type, param, port


class Scan(
    Block, id="data.scan", tags=("cumulative", "cumsum", "prefix sum", "running", "accumulate", "integral", "total")
):
    """Combines each element with all before it.

    out[i] is the sum, product, smallest or largest of x[0] to x[i]. With `exclusive`, x[i] itself doesn't count; the
    first result is then 0, 1, or the end of the type's range. Whole numbers keep their type and wrap; booleans are
    counted as u32. Sums of floats are computed in f64, always in the same order. Use it to integrate a signal, or to
    find where parts of different lengths begin.
    """

    x: In[any_type] = port(doc="Single real numbers or booleans, of any shape.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="A result for each element, one list.")
    operation: str = param("sum", choices=algorithms.SCANS, doc="How elements are combined.")
    exclusive: bool = param(False, structural=True, doc="Leave out the element itself.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of a library."""
        build.capture(algorithms.Scan(self.operation, self.exclusive).on(x=self.x, out=self.out))
