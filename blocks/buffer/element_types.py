"""The element types that a person can choose, by name, and conversions of numbers to these types."""

from warploom.api import (
    DType,
    OpGraphBuilder,
    OpPort,
    bf16,
    boolean,
    c64,
    c128,
    f16,
    f32,
    f64,
    float2,
    float3,
    float4,
    s8,
    s16,
    s32,
    s64,
    u8,
    u16,
    u32,
    u64,
    uchar4,
)

#: Types of single real numbers, which kernels can convert into each other.
NUMBERS = {str(dtype): dtype for dtype in (f32, f64, f16, bf16, u8, u16, u32, u64, s8, s16, s32, s64, boolean)}
#: The types above, and types with several numbers.
ELEMENTS = NUMBERS | {str(dtype): dtype for dtype in (c64, c128, float2, float3, float4, uchar4)}
#: The type in which kernels compute with small whole numbers.
HELD: dict[DType, DType] = {u8: u32, u16: u32, s8: s32, s16: s32}


def convert(graph: OpGraphBuilder, number: OpPort, dtype: DType) -> OpPort:
    """Return an f64 converted to a type in the form that is stored.

    Floats are rounded once, to the nearest value. Whole numbers are truncated and clamped to the type's range; NaN
    becomes 0. A boolean is true if the number is not 0.
    """
    if dtype in (f16, bf16):
        return _to_odd(graph, number)
    whole = graph.add("op.convert", x=number, type=str(HELD.get(dtype, dtype)))["out"]
    if dtype not in HELD:
        return whole
    bits = 8 * dtype.size_bytes
    low, high = (0, (1 << bits) - 1) if HELD[dtype] is u32 else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return graph.add("op.clamp", x=whole, low=low, high=high)["out"]


def _to_odd(graph: OpGraphBuilder, number: OpPort) -> OpPort:
    """Return an f32 that rounds to a smaller type as the f64 would: truncated, with the last bit set if inexact.

    If rounding to the nearest f32 went up, its bits are one too large. Beyond the range of f32, both become infinite.
    """
    near = graph.add("op.convert", x=number, type="f32")["out"]
    back, bits = graph.add("op.convert", x=near, type="f64")["out"], graph.add("op.reinterpret", x=near)["out"]
    sizes = [graph.add("op.absolute", x=value)["out"] for value in (back, number)]
    is_up = graph.add("op.greater", a=sizes[0], b=sizes[1])["out"]
    below = graph.add("op.subtract", a=bits, b=graph.add("op.convert", x=is_up, type="u32")["out"])["out"]
    odd = graph.add("op.reinterpret", x=graph.add("op.bit_or", a=below, b=1)["out"])["out"]
    is_other = graph.add("op.not_equal", a=back, b=number)["out"]
    is_finite = graph.add("op.is_finite", x=near)["out"]
    is_inexact = graph.add("op.and", a=is_other, b=is_finite)["out"]
    return graph.add("op.select", condition=is_inexact, a=odd, b=near)["out"]
