"""Small vectors, as CUDA C++ has them built in.

Their sizes and alignments are those of the CUDA C++ Programming Guide, "Built-in Vector Types".
"""

from __future__ import annotations

import numpy as np

from engine.types.dtype import DType
from engine.types.scalars import bf16, f16, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64


class _Vector(metaclass=DType):
    def __init_subclass__(cls, *, of: DType, components: int, cuda: str = "", header: str = "") -> None:
        cls.numpy = np.dtype((of.numpy, (components,)))
        cls.size_bytes = of.size_bytes * components
        # CUDA aligns 2- and 4-component vectors to their size (16 bytes at most), 3-component ones to one component.
        cls.alignment = of.size_bytes if components == 3 else min(cls.size_bytes, 16)
        cls.components, cls.kind, cls.fields, cls.of = components, "vector", {}, of
        cls.cuda_name, cls.cuda_header = cuda or cls.__name__, header


class char2(_Vector, of=s8, components=2):
    """Two s8, 2 bytes."""


class char3(_Vector, of=s8, components=3):
    """Three s8, 3 bytes."""


class char4(_Vector, of=s8, components=4):
    """Four s8, 4 bytes."""


class uchar2(_Vector, of=u8, components=2):
    """Two u8, 2 bytes."""


class uchar3(_Vector, of=u8, components=3):
    """Three u8, 3 bytes."""


class uchar4(_Vector, of=u8, components=4):
    """Four u8, 4 bytes; as the element of a 2-D buffer, an sRGB image ready for display."""


class short2(_Vector, of=s16, components=2):
    """Two s16, 4 bytes."""


class short3(_Vector, of=s16, components=3):
    """Three s16, 6 bytes."""


class short4(_Vector, of=s16, components=4):
    """Four s16, 8 bytes."""


class ushort2(_Vector, of=u16, components=2):
    """Two u16, 4 bytes."""


class ushort3(_Vector, of=u16, components=3):
    """Three u16, 6 bytes."""


class ushort4(_Vector, of=u16, components=4):
    """Four u16, 8 bytes."""


class int2(_Vector, of=s32, components=2):
    """Two s32, 8 bytes."""


class int3(_Vector, of=s32, components=3):
    """Three s32, 12 bytes."""


class int4(_Vector, of=s32, components=4):
    """Four s32, 16 bytes."""


class uint2(_Vector, of=u32, components=2):
    """Two u32, 8 bytes."""


class uint3(_Vector, of=u32, components=3):
    """Three u32, 12 bytes."""


class uint4(_Vector, of=u32, components=4):
    """Four u32, 16 bytes."""


class longlong2(_Vector, of=s64, components=2):
    """Two s64, 16 bytes."""


class longlong3(_Vector, of=s64, components=3):
    """Three s64, 24 bytes."""


class longlong4(_Vector, of=s64, components=4, cuda="longlong4_16a"):
    """Four s64, 32 bytes, aligned to 16 as it always was."""


class ulonglong2(_Vector, of=u64, components=2):
    """Two u64, 16 bytes."""


class ulonglong3(_Vector, of=u64, components=3):
    """Three u64, 24 bytes."""


class ulonglong4(_Vector, of=u64, components=4, cuda="ulonglong4_16a"):
    """Four u64, 32 bytes, aligned to 16 as it always was."""


class float2(_Vector, of=f32, components=2):
    """Two f32, 8 bytes."""


class float3(_Vector, of=f32, components=3):
    """Three f32, 12 bytes."""


class float4(_Vector, of=f32, components=4):
    """Four f32, 16 bytes; as the element of a 2-D buffer, a linear RGBA image."""


class double2(_Vector, of=f64, components=2):
    """Two f64, 16 bytes."""


class double3(_Vector, of=f64, components=3):
    """Three f64, 24 bytes."""


class double4(_Vector, of=f64, components=4, cuda="double4_16a"):
    """Four f64, 32 bytes, aligned to 16 as it always was."""


class half2(_Vector, of=f16, components=2, cuda="__half2", header="cuda_fp16.h"):
    """Two f16, 4 bytes."""


class bfloat162(_Vector, of=bf16, components=2, cuda="__nv_bfloat162", header="cuda_bf16.h"):
    """Two bf16, 4 bytes."""


VECTORS: tuple[DType, ...] = (
    char2,
    char3,
    char4,
    uchar2,
    uchar3,
    uchar4,
    short2,
    short3,
    short4,
    ushort2,
    ushort3,
    ushort4,
    int2,
    int3,
    int4,
    uint2,
    uint3,
    uint4,
    longlong2,
    longlong3,
    longlong4,
    ulonglong2,
    ulonglong3,
    ulonglong4,
    float2,
    float3,
    float4,
    double2,
    double3,
    double4,
    half2,
    bfloat162,
)
