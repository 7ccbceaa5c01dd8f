from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphBuilder, OpGraphSource, OpPort, Out, any_type, f32, f64, port
from warploom.blocks.reduce.shares import LEAST, PARTS, reduction

#: What the first pass finds, and how partial results are combined.
_FIRST = {"total": "add", "smallest": "minimum", "largest": "maximum"}


@cache
def _first(is_last: bool) -> OpGraphSource:
    """Return a kernel whose thread blocks find these of their share of x, or, at last, of the partial results."""
    graph = OpGraphBuilder()
    x = None if is_last else graph.add("op.input", "x", type="number")["value"]
    for name, operation in _FIRST.items():
        value = x or graph.add("op.input", f"{name}_parts", type="f64")["value"]
        target, kind = (name, "f64" if name == "total" else "f32") if is_last else (f"{name}_parts", "f64")
        graph.add("op.aggregate", target, value=value, operation=operation, type=kind)
    return OpGraphSource.of(graph.graph())


def _mean(graph: OpGraphBuilder, total: str) -> tuple[OpPort, OpPort]:
    """Return the elements of x, and a total divided by their number."""
    x, kept = graph.add("op.input", "x", type="number"), graph.add("op.input", total, type="f64")["buffer"]
    count = graph.add("op.convert", x=x["size"], type="f64")["out"]
    return x["value"], graph.add("op.divide", a=graph.add("op.load", buffer=kept, index=0)["out"], b=count)["out"]


@cache
def _squares() -> OpGraphSource:
    """Return a kernel whose thread blocks add up the squared distances of their share of x from the mean."""
    graph = OpGraphBuilder()
    x, mean = _mean(graph, "total")
    away = graph.add("op.subtract", a=x, b=mean)["out"]
    square = graph.add("op.multiply", a=away, b=away)["out"]
    graph.add("op.aggregate", "square_parts", value=square, operation="add", type="f64")
    return OpGraphSource.of(graph.graph())


@cache
def _quotient(total: str, out: str) -> OpGraphSource:
    """Return a kernel that divides a total by the number of elements of x; of squares, it takes the root."""
    graph = OpGraphBuilder()
    value = _mean(graph, total)[1]
    if total == "square":
        value = graph.add("op.sqrt", x=value)["out"]
    graph.add("op.output", out, value=graph.add("op.convert", x=value, type="f32")["out"])
    return OpGraphSource.of(graph.graph())


class Statistics(
    Block,
    id="reduce.statistics",
    tags=(
        "mean",
        "average",
        "variance",
        "deviation",
        "minimum",
        "maximum",
        "std",
        "rms",
        "root mean square",
        "mean squared error",
        "rmse",
        "mse",
        "psnr",
        "error",
        "measure",
        "noise",
    ),
):
    """Finds the mean, the standard deviation, and the smallest and the largest element.

    All are computed in f64, the deviation from the distances to the mean, and always in the same order, so equal
    elements give equal results. The deviation is that of all elements, as in numpy: the variance is its square. If any
    element is NaN, all results are NaN. Use it to bring a signal to mean 0 and deviation 1, or to its full range.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    mean: Out[f32] = port(shape="[1]", doc="The mean of all elements.")
    deviation: Out[f32] = port(shape="[1]", doc="The standard deviation of all elements.")
    smallest: Out[f32] = port(shape="[1]", doc="The smallest element.")
    largest: Out[f32] = port(shape="[1]", doc="The largest element.")

    def describe(self, build: BlockBuilder) -> None:
        """Reduce the elements, then their squared distances from the mean, each in two steps."""
        shape = f"[min({PARTS}, ceil(x.size / {LEAST}))]"
        parts = [build.buffer(f"{name}_parts", f64, shape) for name in (*_FIRST, "square")]
        for name in ("total", "square"):
            build.buffer(name, f64, "[1]")
        build.compute(_first(False), over=self.x, thread_blocks=parts[0].size)
        build.compute(_first(True), over=parts[0], thread_blocks=1)
        build.compute(_quotient("total", "mean"), over=self.mean)
        build.compute(_squares(), over=self.x, thread_blocks=parts[-1].size)
        build.compute(reduction("add", "square_parts", "f64", "square", "f64"), over=parts[-1], thread_blocks=1)
        build.compute(_quotient("square", "deviation"), over=self.deviation)
