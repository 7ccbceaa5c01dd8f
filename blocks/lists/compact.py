from functools import cache

from warploom.api import (
    Block,
    BlockBuilder,
    In,
    Kernel,
    OpGraphBuilder,
    OpGraphSource,
    Out,
    any_type,
    boolean,
    port,
    u32,
)
from warploom.blocks.lists.runs import count_up


@cache
def _marks() -> OpGraphSource:
    """Return a kernel that marks where the mask is not 0."""
    graph = OpGraphBuilder()
    graph.add("op.output", "marks", value=graph.add("op.input", "mask", type="any")["value"], type="boolean")
    return OpGraphSource.of(graph.graph())


class Compact(Block, id="data.compact", tags=("filter", "select", "mask", "nonzero", "where", "keep", "remove")):
    """Keeps the elements where a mask holds.

    The kept elements are at the front of `out`, in their order, and `positions` has where they were. Both have a count,
    and zeros behind it. Put a Compare before it to make the mask; with `positions`, Gather keeps the rows of other
    buffers.
    """

    x: In[any_type] = port(doc="Elements: any element type, any shape.")
    mask: In[any_type] = port(shape="same(x)", doc="Any type, of the shape of x; -0 counts as 0, and NaN does not.")
    out: Out[any_type] = port(
        dtype="same(x)", shape="[x.size]", append=True, doc="The elements whose mask is not 0, from the front on."
    )
    positions: Out[u32] = port(
        shape="[x.size]", append=True, doc="Their positions in x, counted through all axes, from the front on."
    )

    kernel = Kernel("lists.cu", entry="pick")

    def describe(self, build: BlockBuilder) -> None:
        """Count the marks up to each element by CUB, then launch one thread per element."""
        marks = build.buffer("marks", boolean, "[x.size]")
        build.compute(_marks(), over=marks)
        ends = count_up(build, marks)
        outputs = self.out, self.out.counter, self.positions, self.positions.counter
        arguments = self.x, build.element_type(self.x), ends, *outputs, self.x.size
        build.launch(self.kernel, num_threads=self.x.size, args=arguments)
