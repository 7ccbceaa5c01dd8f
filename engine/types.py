"""Data types of buffer elements: scalars, small vectors and named structs.

A data type is a class, so that it reads as a type in a block's declaration (``x: In[f32]``), and at the same time
a value that knows its size and its numpy layout (``f32.size_bytes``). The layout equals the one CUDA C++ gives the
type of the same name, which is what lets a kernel and a block share it.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, get_type_hints

import numpy as np


class DType(type):
    """Metaclass of all element types; its instances (`f32`, `float4`, a `Struct`) are the element types themselves."""

    size_bytes: int
    alignment: int
    #: Layout of one element. For a vector this is a sub-array type, so arrays of it get one more axis.
    numpy: np.dtype[Any]
    #: Numbers in one element: 4 for `float4`, 1 for a scalar or a struct.
    components: int
    #: "float", "integer", "vector", "struct" or "any".
    kind: str
    fields: dict[str, DType]

    def __repr__(cls) -> str:
        return cls.__name__

    def __eq__(cls, other: object) -> bool:
        # A block's module may be loaded again: two structs of one name and layout are the same type.
        return isinstance(other, DType) and cls.__name__ == other.__name__ and cls.numpy == other.numpy

    def __hash__(cls) -> int:
        return hash((cls.__name__, cls.size_bytes))


def _scalar(cls: DType, numpy_name: str, kind: str) -> None:
    cls.numpy = np.dtype(numpy_name)
    cls.size_bytes = cls.alignment = cls.numpy.itemsize
    cls.components, cls.kind, cls.fields = 1, kind, {}


class _Scalar(metaclass=DType):
    def __init_subclass__(cls, *, numpy: str, kind: str) -> None:
        _scalar(cls, numpy, kind)


class _Vector(metaclass=DType):
    def __init_subclass__(cls, *, of: DType, components: int) -> None:
        cls.numpy = np.dtype((of.numpy, (components,)))
        cls.size_bytes = of.size_bytes * components
        # CUDA aligns 2- and 4-component vectors to their size (16 bytes at most), 3-component ones to one component.
        cls.alignment = of.size_bytes if components == 3 else min(cls.size_bytes, 16)
        cls.components, cls.kind, cls.fields = components, "vector", {}


class u8(_Scalar, numpy="uint8", kind="integer"):
    """Unsigned 8-bit integer."""


class u16(_Scalar, numpy="uint16", kind="integer"):
    """Unsigned 16-bit integer."""


class u32(_Scalar, numpy="uint32", kind="integer"):
    """Unsigned 32-bit integer."""


class u64(_Scalar, numpy="uint64", kind="integer"):
    """Unsigned 64-bit integer."""


class s8(_Scalar, numpy="int8", kind="integer"):
    """Signed 8-bit integer."""


class s16(_Scalar, numpy="int16", kind="integer"):
    """Signed 16-bit integer."""


class s32(_Scalar, numpy="int32", kind="integer"):
    """Signed 32-bit integer."""


class s64(_Scalar, numpy="int64", kind="integer"):
    """Signed 64-bit integer."""


class f16(_Scalar, numpy="float16", kind="float"):
    """IEEE half precision."""


class f32(_Scalar, numpy="float32", kind="float"):
    """IEEE single precision."""


class f64(_Scalar, numpy="float64", kind="float"):
    """IEEE double precision."""


class float2(_Vector, of=f32, components=2):
    """Two f32, 8 bytes."""


class float3(_Vector, of=f32, components=3):
    """Three f32, 12 bytes."""


class float4(_Vector, of=f32, components=4):
    """Four f32, 16 bytes; as the element of a 2-D buffer, a linear RGBA image."""


class uchar4(_Vector, of=u8, components=4):
    """Four u8, 4 bytes; as the element of a 2-D buffer, an sRGB image ready for display."""


class any_type(metaclass=DType):
    """Any element type: a port of this type takes whatever is connected."""

    numpy = np.dtype(np.void)
    size_bytes, alignment, components, kind = 0, 1, 1, "any"
    fields: ClassVar[dict[str, DType]] = {}


class Struct(metaclass=DType):
    """Base of named structs: subclass it with annotated fields, laid out as CUDA C++ lays them out."""

    def __init_subclass__(cls) -> None:
        fields: dict[str, DType] = get_type_hints(cls)
        if not fields:
            raise TypeError(f"struct {cls.__name__} must declare at least one field, got none")
        offset, offsets = 0, []
        for name, field in fields.items():
            if not isinstance(field, DType) or field.size_bytes == 0:
                raise TypeError(f"struct {cls.__name__}: field {name} must be an element type, got {field!r}")
            offset = math.ceil(offset / field.alignment) * field.alignment
            offsets.append(offset)
            offset += field.size_bytes
        cls.alignment = max(field.alignment for field in fields.values())
        cls.size_bytes = math.ceil(offset / cls.alignment) * cls.alignment
        cls.numpy = np.dtype(
            {
                "names": list(fields),
                "formats": [field.numpy for field in fields.values()],
                "offsets": offsets,
                "itemsize": cls.size_bytes,
            }
        )
        cls.components, cls.kind = 1, "struct"
        cls.fields = fields


_SCALARS: tuple[DType, ...] = (u8, u16, u32, u64, s8, s16, s32, s64, f16, f32, f64)
NAMED: dict[str, DType] = {t.__name__: t for t in (*_SCALARS, float2, float3, float4, uchar4)}


def dtype_of(array: np.ndarray[Any, Any]) -> DType:
    """Return the scalar element type of a numpy array; TypeError when Warploom has none for it."""
    for dtype in _SCALARS:
        if dtype.numpy == array.dtype:
            return dtype
    raise TypeError(
        f"array dtype must be one of {', '.join(str(t.numpy) for t in _SCALARS)}, got {array.dtype}; use astype first"
    )


Shape = tuple[int, ...]


def element_count(shape: Shape) -> int:
    """Elements in a buffer of this shape; 1 for a scalar's empty shape."""
    return math.prod(shape)
