"""Named structs, laid out as CUDA C++ lays them out."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np

from engine.types.dtype import DType


@dataclass(frozen=True)
class _Extent:
    """What `fixed_array` leaves on a struct's class until its fields are collected."""

    dims: tuple[int, ...]


def fixed_array(*dims: int) -> Any:
    """Declare a field that is an array, ``weights: f32 = fixed_array(4)``; the annotation is the type of its elements.

    `dims` are its sizes, outermost first, each at least 1. TypeError when there is none or one is smaller.
    """
    if not dims or any(not isinstance(dim, int) or dim < 1 for dim in dims):
        raise TypeError(f"a fixed array's sizes must be whole numbers from 1, got {dims}")
    return _Extent(dims)


def _array_of(of: DType, dims: tuple[int, ...]) -> DType:
    array = DType(f"{of}{''.join(f'[{dim}]' for dim in dims)}", (), {})
    array.numpy = np.dtype((of.numpy, dims))
    array.size_bytes, array.alignment = of.size_bytes * math.prod(dims), of.alignment
    array.components, array.kind, array.fields, array.of = of.components * math.prod(dims), "array", {}, of
    array.cuda_name, array.cuda_header = of.cuda_name, of.cuda_header
    return array


class Struct(metaclass=DType):
    """Base of named structs: subclass it with annotated fields, which may be structs and fixed arrays too.

    A subclass of a struct has the fields of both, the inherited ones first.
    """

    def __init_subclass__(cls) -> None:
        fields = _fields(cls)
        offset, offsets = 0, []
        for field in fields.values():
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
        cls.components, cls.kind, cls.of = 1, "struct", None
        cls.cuda_name, cls.cuda_header = cls.__name__, ""
        cls.fields = fields


def _fields(cls: type[Struct]) -> dict[str, DType]:
    """Return the fields of a struct by name, in order; TypeError when there are none or one is no element type."""
    hints: dict[str, Any] = get_type_hints(cls)
    if not hints:
        raise TypeError(f"struct {cls.__name__} must declare at least one field, got none")
    inherited: dict[str, DType] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("fields", {})
    own = inspect.get_annotations(cls)
    fields: dict[str, DType] = {}
    for name, hint in hints.items():
        if name not in own:
            fields[name] = inherited[name]
            continue
        if not isinstance(hint, DType) or hint.size_bytes == 0:
            raise TypeError(f"struct {cls.__name__}: field {name} must be an element type, got {hint!r}")
        extent = vars(cls).get(name)
        if extent is not None and not isinstance(extent, _Extent):
            raise TypeError(f"struct {cls.__name__}: field {name} must have no value but fixed_array, got {extent!r}")
        fields[name] = _array_of(hint, extent.dims) if extent else hint
    return fields


def field_offset(struct: DType, name: str) -> int:
    """Return where a field of a struct starts, in bytes; KeyError when the struct has no such field."""
    if struct.numpy.fields is None:
        raise KeyError(name)
    return struct.numpy.fields[name][1]
