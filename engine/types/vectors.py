"""Small vectors, as CUDA C++ has them built in.

Their sizes and alignments are those of the CUDA C++ Programming Guide, "Built-in Vector Types".
"""

import numpy as np

from warploom.engine.types.dtype import DType
from warploom.engine.types.scalars import bf16, f16, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64

__all__ = [
    "bfloat162",
    "char2",
    "char3",
    "char4",
    "double2",
    "double3",
    "double4",
    "float2",
    "float3",
    "float4",
    "half2",
    "half4",
    "int2",
    "int3",
    "int4",
    "longlong2",
    "longlong3",
    "longlong4",
    "short2",
    "short3",
    "short4",
    "uchar2",
    "uchar3",
    "uchar4",
    "uint2",
    "uint3",
    "uint4",
    "ulonglong2",
    "ulonglong3",
    "ulonglong4",
    "ushort2",
    "ushort3",
    "ushort4",
]


class _Vector(metaclass=DType):
    def __init_subclass__(cls, *, of: DType, components: int, cuda: str = "", header: str = "") -> None:
        cls.numpy = np.dtype((of.numpy, (components,)))
        cls.size_bytes = of.size_bytes * components
        # CUDA aligns 2- and 4-component vectors to their size (16 bytes at most), 3-component ones to one component.
        cls.alignment = of.size_bytes if components == 3 else min(cls.size_bytes, 16)
        cls.components, cls.kind, cls.fields, cls.of = components, "vector", {}, of
        cls.cuda_name, cls.cuda_header = cuda or cls.__name__, header


class char2(_Vector, of=s8, components=2): ...


class char3(_Vector, of=s8, components=3): ...


class char4(_Vector, of=s8, components=4): ...


class uchar2(_Vector, of=u8, components=2): ...


class uchar3(_Vector, of=u8, components=3): ...


class uchar4(_Vector, of=u8, components=4):
    """As the element of a 2-D buffer, a picture: sRGB's codes with linear alpha, ready for display."""


class short2(_Vector, of=s16, components=2): ...


class short3(_Vector, of=s16, components=3): ...


class short4(_Vector, of=s16, components=4): ...


class ushort2(_Vector, of=u16, components=2): ...


class ushort3(_Vector, of=u16, components=3): ...


class ushort4(_Vector, of=u16, components=4): ...


class int2(_Vector, of=s32, components=2): ...


class int3(_Vector, of=s32, components=3): ...


class int4(_Vector, of=s32, components=4): ...


class uint2(_Vector, of=u32, components=2): ...


class uint3(_Vector, of=u32, components=3): ...


class uint4(_Vector, of=u32, components=4): ...


class longlong2(_Vector, of=s64, components=2): ...


class longlong3(_Vector, of=s64, components=3): ...


class longlong4(_Vector, of=s64, components=4, cuda="longlong4_16a"):
    """32 bytes, aligned to 16 as in every version of CUDA; CUDA 13 added variants aligned to 32."""


class ulonglong2(_Vector, of=u64, components=2): ...


class ulonglong3(_Vector, of=u64, components=3): ...


class ulonglong4(_Vector, of=u64, components=4, cuda="ulonglong4_16a"):
    """32 bytes, aligned to 16 as in every version of CUDA; CUDA 13 added variants aligned to 32."""


class float2(_Vector, of=f32, components=2): ...


class float3(_Vector, of=f32, components=3): ...


class float4(_Vector, of=f32, components=4):
    """As the element of a 2-D buffer, a linear RGBA image."""


class double2(_Vector, of=f64, components=2): ...


class double3(_Vector, of=f64, components=3): ...


class double4(_Vector, of=f64, components=4, cuda="double4_16a"):
    """32 bytes, aligned to 16 as in every version of CUDA; CUDA 13 added variants aligned to 32."""


class half2(_Vector, of=f16, components=2, cuda="__half2", header="cuda_fp16.h"): ...


class half4(_Vector, of=f16, components=4, header="warploom/pixel.h"):
    """As the element of a 2-D buffer, a picture: linear RGBA. CUDA has no such type."""


class bfloat162(_Vector, of=bf16, components=2, cuda="__nv_bfloat162", header="cuda_bf16.h"): ...


VECTORS: tuple[DType, ...] = tuple(_Vector.__subclasses__())
