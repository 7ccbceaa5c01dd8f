from functools import cache

from engine.api import Block, BlockBuilder, GraphBuilder, In, OpGraphSource, Out, any_type, boolean, param, port

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
    """Return the kernel that compares x with y, or with the value when there is no y."""
    graph = GraphBuilder()
    x, y = (graph.add("op.input", name, type="number") for name in "xy")
    value = graph.add("op.parameter", "value", type="f64")
    right = graph.add("op.select", condition=y["is_connected"], a=y["value"], b=value["out"])
    graph.add("op.output", "out", value=graph.add(op, a=x["value"], b=right["out"])["out"])
    return OpGraphSource.of(graph.graph())


class Compare(Block, id="math.compare", tags=("less", "greater", "equal", "condition")):
    """Compare two buffers, or a buffer with a value, element by element.

    out[i] says whether x[i] stands to y[i] as `operation` tells; with nothing connected to `y`, `value` takes its
    place. Numbers are compared as f64, whatever their types. Use it to make the condition of a region, or a mask.
    """

    x: In[any_type] = port(dtype="number", doc="Left operand: single real numbers or booleans, of any shape.")
    y: In[any_type] = port(
        dtype="number", shape="same(x)", optional=True, advised=False, doc="Right operand, of the shape of x."
    )
    out: Out[boolean] = port(shape="same(x)", doc="Whether the comparison holds, for each element.")
    operation: str = param("less", choices=tuple(OPERATIONS), doc="What x must be, compared with y or value.")
    value: float = param(0.0, min=-1e9, max=1e9, doc="Right operand when y is not connected.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        build.compute(comparison(OPERATIONS[self.operation]), over=self.out)
