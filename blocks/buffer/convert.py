from functools import cache

from warploom.api import Block, BlockBuilder, DType, In, OpGraphBuilder, OpGraphSource, Out, any_type, param, port
from warploom.blocks.buffer.element_types import HELD, NUMBERS, convert


@cache
def conversion(dtype: DType) -> OpGraphSource:
    """Return a kernel that converts x, of any type, to elements of this type."""
    graph = OpGraphBuilder()
    x = graph.add("op.input", "x", type="number")
    converted = convert(graph, x["value"], dtype)
    if dtype.kind == "integer":
        # An f64 would lose the lowest bits of 64-bit whole numbers.
        whole = graph.add("op.convert", x=x["whole"], type=str(HELD.get(dtype, dtype)))["out"]
        converted = graph.add("op.select", condition=x["is_whole"], a=whole, b=converted)["out"]
    graph.add("op.output", "out", value=converted, type=str(dtype))
    return OpGraphSource.of(graph.graph())


class Convert(Block, id="buffer.convert", tags=("cast", "type", "float", "int", "dtype")):
    """Converts numbers to another element type.

    Conversions to floats round to the nearest value; 64-bit integers are rounded to f64 first. Floats are truncated
    towards 0 to integers and clamped to the type's range. Integers that don't fit another integer type wrap around. As
    a boolean, a number is true if it is not 0.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[any_type] = port(shape="same(x)", dtype="given", doc="The converted numbers.")
    dtype: str = param("f32", choices=tuple(NUMBERS), doc="Element type of the output.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        dtype = NUMBERS[self.dtype]
        build.define(self.out, dtype=dtype)
        build.compute(conversion(dtype), over=self.out)
