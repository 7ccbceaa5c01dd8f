from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphBuilder, OpGraphSource, Out, any_type, boolean, param, port

#: The op of each comparison.
OPERATIONS = {
    "less": "op.less",
    "less or equal": "op.less_equal",
    "equal": "op.equal",
    "not equal": "op.not_equal",
    "greater or equal": "op.greater_equal",
    "greater": "op.greater",
}


@cache
def comparison(op: str) -> OpGraphSource:
    """Return a kernel that compares x with y, or with the value if there is no y."""
    graph = OpGraphBuilder()
    x, y = (graph.add("op.input", name, type="number") for name in "xy")
    value = graph.add("op.parameter", "value", type="f64")
    right = graph.add("op.select", condition=y["is_connected"], a=y["value"], b=value["out"])
    graph.add("op.output", "out", value=graph.add(op, a=x["value"], b=right["out"])["out"])
    return OpGraphSource.of(graph.graph())


class Compare(
    Block, id="math.compare", tags=("less", "greater", "equal", "condition", "threshold", "binarize", "mask")
):
    """Compares two buffers, or a buffer with a value, element by element.

    out[i] is true where the comparison `operation` of x[i] with y[i] holds. If `y` is not connected, x[i] is compared
    with `value`. Numbers of every type are compared as f64. Use it to make the condition of a region, or a mask.
    """

    x: In[any_type] = port(dtype="number", doc="Left operand: single real numbers or booleans, of any shape.")
    y: In[any_type] = port(
        dtype="number", shape="same(x)", optional=True, advised=False, doc="Right operand, of the shape of x."
    )
    out: Out[boolean] = port(shape="same(x)", doc="True for each element where the comparison holds.")
    operation: str = param("less", choices=tuple(OPERATIONS), doc="The comparison of x with y or value.")
    value: float = param(0.0, min=-1e9, max=1e9, doc="Right operand when y is not connected.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(comparison(OPERATIONS[self.operation]), over=self.out)
