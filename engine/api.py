"""What a block type's module imports: everything needed to declare one."""

from engine.blocktypes.block import Block
from engine.blocktypes.builder import BlockBuilder
from engine.blocktypes.description import Kernel
from engine.blocktypes.parameters import param
from engine.blocktypes.ports import In, Out, port
from engine.types import (
    Struct,
    any_type,
    dtype_of,
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

__all__ = [
    "Block",
    "BlockBuilder",
    "In",
    "Kernel",
    "Out",
    "Struct",
    "any_type",
    "dtype_of",
    "f16",
    "f32",
    "f64",
    "float2",
    "float3",
    "float4",
    "param",
    "port",
    "s8",
    "s16",
    "s32",
    "s64",
    "u8",
    "u16",
    "u32",
    "u64",
    "uchar4",
]
