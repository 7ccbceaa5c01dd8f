from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, param, port


class Clamp(Block, id="math.clamp", tags=("limit", "clip", "minimum", "maximum", "saturate", "range")):
    """Limits every element to a range.

    out[i] is `low` where x[i] is smaller, `high` where it is larger, and else x[i]. NaN stays NaN. If `low` is above
    `high`, all other elements become `high`.
    """

    x: In[f32] = port(doc="Elements, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="The limited elements.")
    low: float = param(0.0, min=-1e9, max=1e9, doc="Smallest value of the output.")
    high: float = param(1.0, min=-1e9, max=1e9, doc="Largest value of the output.")

    graph = OpGraphSource.of_expression("clamp(x, low, high)", x=f32)

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(self.graph, over=self.out)
