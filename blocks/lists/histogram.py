from functools import cache
from typing import Any

from warploom.api import (
    Block,
    BlockBuilder,
    CudaFile,
    CudaOptions,
    In,
    Kernel,
    OpGraphBuilder,
    OpGraphSource,
    OpPort,
    Out,
    algorithms,
    any_type,
    param,
    port,
    u32,
)

#: Threads of a thread block in histogram.cu, the most bins that it holds in shared memory, and its least elements.
THREADS, SHARED_BINS, LEAST = 512, 8192, 16384


@cache
def _places(bins: int) -> OpGraphSource:
    """Return a kernel that finds the bin of each element of x, or else the number of bins."""
    graph = OpGraphBuilder()

    def op(name: str, **operands: Any) -> OpPort:
        return graph.add(f"op.{name}", **operands)["out"]

    x = graph.add("op.input", "x", type="number")["value"]
    low, high = (graph.add("op.parameter", name, type="f64")["out"] for name in ("low", "high"))
    part = op("divide", a=op("subtract", a=x, b=low), b=op("subtract", a=high, b=low))
    place = op("minimum", a=op("floor", x=op("multiply", a=part, b=float(bins))), b=float(bins - 1))
    inside = op("and", a=op("greater_equal", a=x, b=low), b=op("less_equal", a=x, b=high))
    found = op("convert", x=op("select", condition=inside, a=place, b=float(bins)), type="u32")
    graph.add("op.output", "places", value=found, type="u32")
    return OpGraphSource.of(graph.graph())


class Histogram(Block, id="data.histogram", tags=("bins", "distribution", "frequency", "count", "bincount", "levels")):
    """Counts how many elements are in each of some equal parts of a range.

    Part i of `bins` begins at low + i (high - low) / bins; the last one has its end too, as in numpy. Elements outside
    the range, and NaN, don't count. With Plot it shows how numbers are distributed.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[u32] = port(shape="[bins]", doc="How many elements are in each part.")
    bins: int = param(64, min=1, max=1 << 20, structural=True, doc="Number of parts.")
    low: float = param(0.0, min=-1e9, max=1e9, doc="Start of the range, included.")
    high: float = param(1.0, min=-1e9, max=1e9, doc="End of the range, included.")

    def describe(self, build: BlockBuilder) -> None:
        """Count in shared memory; or find the part of each element, then capture one call of CUB that counts."""
        if self.bins <= SHARED_BINS:
            kernel = Kernel(CudaFile("histogram.cu", CudaOptions(defines={"BINS": self.bins})), entry="count_parts")
            share = max(LEAST, 16 * self.bins)
            blocks, kind = (self.x.size + share - 1) // share, build.element_type(self.x)
            args = self.x, self.out, kind, self.low, self.high, share, self.x.size
            build.fill(self.out, 0)
            build.launch(kernel, num_threads=blocks * THREADS, thread_block=THREADS, args=args)
            return
        places = build.buffer("places", u32, "[x.size]")
        build.compute(_places(self.bins), over=places)
        build.capture(algorithms.Histogram(self.bins).on(x=places, out=self.out))
