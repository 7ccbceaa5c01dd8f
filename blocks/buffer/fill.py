from warploom.api import Block, BlockBuilder, OpGraphSource, Out, f32, param, port


class Fill(Block, id="buffer.fill", tags=("constant", "memset", "zeros", "ones")):
    """Outputs a list in which every element has the same value.

    Use it as a constant operand, or to start from zeros. A new value is written while the patch runs; a new count needs
    a rebuild.
    """

    out: Out[f32] = port(shape="[count]", doc="`count` elements, all equal to `value`.")
    count: int = param(1024, min=1, max=1 << 26, unit="elements", structural=True, doc="Number of elements.")
    value: float = param(0.0, min=-1000, max=1000, doc="Value of every element.")

    graph = OpGraphSource.of_expression("value")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(self.graph, over=self.out)
