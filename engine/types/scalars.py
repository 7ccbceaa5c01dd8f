"""Scalars: integers, floats, booleans and complex numbers."""

import numpy as np

from warploom.engine.types.dtype import DType

__all__ = [
    "bf16",
    "boolean",
    "c64",
    "c128",
    "f16",
    "f32",
    "f64",
    "s8",
    "s16",
    "s32",
    "s64",
    "u8",
    "u16",
    "u32",
    "u64",
]


class _Scalar(metaclass=DType):
    def __init_subclass__(cls, *, numpy: str, kind: str, cuda: str, header: str = "", components: int = 1) -> None:
        cls.numpy = np.dtype(numpy)
        cls.size_bytes = cls.alignment = cls.numpy.itemsize
        cls.components, cls.kind, cls.fields, cls.of = components, kind, {}, None
        cls.cuda_name, cls.cuda_header = cuda, header


class boolean(_Scalar, numpy="bool", kind="boolean", cuda="bool"):
    """True or false, 1 byte that is 1 or 0."""


class u8(_Scalar, numpy="uint8", kind="integer", cuda="unsigned char"):
    """Unsigned 8-bit integer."""


class u16(_Scalar, numpy="uint16", kind="integer", cuda="unsigned short"):
    """Unsigned 16-bit integer."""


class u32(_Scalar, numpy="uint32", kind="integer", cuda="unsigned int"):
    """Unsigned 32-bit integer."""


class u64(_Scalar, numpy="uint64", kind="integer", cuda="unsigned long long"):
    """Unsigned 64-bit integer."""


class s8(_Scalar, numpy="int8", kind="integer", cuda="signed char"):
    """Signed 8-bit integer."""


class s16(_Scalar, numpy="int16", kind="integer", cuda="short"):
    """Signed 16-bit integer."""


class s32(_Scalar, numpy="int32", kind="integer", cuda="int"):
    """Signed 32-bit integer."""


class s64(_Scalar, numpy="int64", kind="integer", cuda="long long"):
    """Signed 64-bit integer."""


class f16(_Scalar, numpy="float16", kind="float", cuda="__half", header="cuda_fp16.h"):
    """IEEE half precision."""


class bf16(_Scalar, numpy="uint16", kind="float", cuda="__nv_bfloat16", header="cuda_bf16.h"):
    """The upper 16 bits of an f32; numpy has no such type, so arrays of it are uint16 (`to_bf16`, `from_bf16`)."""


class f32(_Scalar, numpy="float32", kind="float", cuda="float"):
    """IEEE single precision."""


class f64(_Scalar, numpy="float64", kind="float", cuda="double"):
    """IEEE double precision."""


class c64(_Scalar, numpy="complex64", kind="complex", cuda="cuFloatComplex", header="cuComplex.h", components=2):
    """Complex number of two f32, 8 bytes."""


class c128(_Scalar, numpy="complex128", kind="complex", cuda="cuDoubleComplex", header="cuComplex.h", components=2):
    """Complex number of two f64, 16 bytes."""


SCALARS: tuple[DType, ...] = tuple(_Scalar.__subclasses__())
