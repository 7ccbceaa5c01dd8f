from functools import cache
from typing import Any

from warploom.api import (
    Block,
    BlockBuilder,
    In,
    OpGraphBuilder,
    OpGraphSource,
    Out,
    any_type,
    float2,
    float3,
    float4,
    param,
    port,
)

#: The element types that there are, by their names.
TYPES = {"float2": float2, "float3": float3, "float4": float4}


@cache
def combined(count: int) -> OpGraphSource:
    """Return a kernel that makes vectors of so many numbers; those without an input are parameters."""
    graph, parts = OpGraphBuilder(), dict[str, Any]()
    for letter in "xyzw"[:count]:
        given = graph.add("op.input", letter, type="number")
        value = given["value"]
        if letter != "x":
            otherwise = graph.add("op.parameter", f"{letter}_otherwise", type="f64")
            value = graph.add("op.select", condition=given["is_connected"], a=value, b=otherwise["out"])["out"]
        parts[letter] = graph.add("op.convert", x=value, type="f32")["out"]
    graph.add("op.output", "out", value=graph.add(f"op.vector{count}", **parts)["out"])
    return OpGraphSource.of(graph.graph())


class Combine(Block, id="math.combine", tags=("vector", "float2", "float4", "channels", "rgba", "components", "pack")):
    """Makes vectors, such as colours and positions, of the numbers in several buffers.

    Element i has the components x[i], y[i] and so on. A component without an input is the same number everywhere: with
    the defaults, three buffers become opaque colours. Component takes vectors apart again.
    """

    x: In[any_type] = port(dtype="number", doc="First components, or red: single real numbers, of any shape.")
    y: In[any_type] = port(
        dtype="number", shape="same(x)", optional=True, advised=False, doc="Second components, or green, of x's shape."
    )
    z: In[any_type] = port(
        dtype="number", shape="same(x)", optional=True, advised=False, doc="Third components, or blue, of x's shape."
    )
    w: In[any_type] = port(
        dtype="number", shape="same(x)", optional=True, advised=False, doc="Fourth components, or alpha, of x's shape."
    )
    out: Out[any_type] = port(dtype="given", shape="same(x)", doc="The vectors, of the shape of x.")
    dtype: str = param("float4", choices=tuple(TYPES), doc="Element type: how many components there are.")
    y_otherwise: float = param(0.0, min=-1e9, max=1e9, doc="Second component when y is not connected.")
    z_otherwise: float = param(0.0, min=-1e9, max=1e9, doc="Third component when z is not connected.")
    w_otherwise: float = param(1.0, min=-1e9, max=1e9, doc="Fourth component when w is not connected.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.define(self.out, dtype=TYPES[self.dtype])
        build.compute(combined(int(self.dtype[-1])), over=self.out)
