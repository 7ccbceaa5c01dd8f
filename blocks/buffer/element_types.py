"""The element types that blocks let a person choose, by name."""

from engine.api import (
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

#: Single real numbers, which kernels can convert into each other.
NUMBERS = {str(dtype): dtype for dtype in (f32, f64, f16, bf16, u8, u16, u32, u64, s8, s16, s32, s64, boolean)}
#: These, and types of several numbers.
ELEMENTS = NUMBERS | {str(dtype): dtype for dtype in (c64, c128, float2, float3, float4, uchar4)}
