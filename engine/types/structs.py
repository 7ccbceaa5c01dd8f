"""Named structs with the layout of CUDA C++, and the CUDA C++ that declares them."""

import inspect
import math
from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec
import numpy as np

from warploom.engine.arguments import checked
from warploom.engine.types.dtype import DType


class _Extent(msgspec.Struct, frozen=True):
    """The value that `fixed_array` gives a field until the struct's fields are collected."""

    dims: tuple[int, ...]


def fixed_array(*dims: int) -> Any:
    """Declare a field that is an array, ``weights: f32 = fixed_array(4)``; the annotation is the type of its elements.

    `dims` are its sizes, outermost first, each at least 1. Raise TypeError if there is none or one is smaller.
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
    """Return the fields of a struct by name, in order. Raise TypeError if there are none or one is no element type."""
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
    """Return where a field of a struct starts, in bytes. Raise KeyError if the struct has no such field."""
    if struct.numpy.fields is None:
        raise KeyError(name)
    return struct.numpy.fields[name][1]


#: Keywords of C++ that are names in Python.
_RESERVED_TEXT = """
alignas alignof asm auto bool case catch char const constexpr decltype default delete do double dynamic_cast
enum explicit export extern false float friend goto inline int long mutable namespace new noexcept nullptr
operator private protected public register short signed sizeof static static_assert struct switch template this
throw true typedef typeid typename union unsigned using virtual void volatile wchar_t
"""
_RESERVED = frozenset(_RESERVED_TEXT.split())


@checked(TypeError)
def declaration(struct: DType) -> str:
    """Return the CUDA C++ declaration of a struct and of the structs in it, so that a kernel shares its layout.

    Assertions check size, alignment and every offset. Each struct has an include guard, so that declarations with a
    struct in common can follow each other. Raise TypeError if it is no struct, if a name is a word of C++, or if two
    structs of one name differ.
    """
    if struct.kind != "struct":
        raise TypeError(f"a declaration must be of a struct, got {struct}")
    structs: dict[str, DType] = {}
    for inner in _innermost_first(struct):
        if structs.setdefault(inner.cuda_name, inner) != inner:
            raise TypeError(f"different structs inside {struct} must have different names, got two called {inner}")
    leaves = (leaf for inner in structs.values() for leaf in inner.fields.values())
    headers = sorted({leaf.cuda_header for leaf in leaves} - {""})
    return "".join(f"#include <{header}>\n" for header in headers) + "\n".join(map(_declare, structs.values()))


@checked(TypeError)
def layout_text(dtype: DType) -> str:
    """Return the layout of an element for a person: "Pair: 8 bytes: first f32 @0, second s32 @4", offsets in bytes."""
    size = f"{dtype}: {dtype.size_bytes} byte{'s' if dtype.size_bytes != 1 else ''}"
    return f"{size}: {_fields_text(dtype, 0)}" if dtype.fields else size


def _innermost_first(struct: DType) -> Iterator[DType]:
    for field in struct.fields.values():
        element = _element(field)
        if element.kind == "struct":
            yield from _innermost_first(element)
    yield struct


def _element(field: DType) -> DType:
    """Return the type of a field, or of an array's elements."""
    return field.of if field.kind == "array" and field.of is not None else field


def _dims(field: DType) -> str:
    """Return the sizes of an array as CUDA C++ writes them behind the name, "[4]"."""
    return field.__name__[len(_element(field).__name__) :]


def _declare(struct: DType) -> str:
    name = struct.cuda_name
    for word in (name, *struct.fields):
        if word in _RESERVED:
            raise TypeError(f"struct {name}: a name in it must not be a keyword of C++, got {word}")
    offsets = {field: field_offset(struct, field) for field in struct.fields}
    lines = [f"#ifndef WARPLOOM_STRUCT_{name}", f"#define WARPLOOM_STRUCT_{name}", f"struct {name} {{"]
    lines += [
        f"    {t.cuda_name} {field}{_dims(t)};  // at byte {offsets[field]}" for field, t in struct.fields.items()
    ]
    lines += ["};"]
    lines += [f'static_assert(sizeof({name}) == {struct.size_bytes}, "{name} must be {struct.size_bytes} bytes");']
    lines += [
        f'static_assert(alignof({name}) == {struct.alignment}, "{name} must be aligned to {struct.alignment} bytes");'
    ]
    lines += [  # NVRTC 13.0 has no __builtin_offsetof
        f'static_assert(__INTADDR__(&(({name}*)0)->{field}) == {at}, "{name}::{field} must be at byte {at}");'
        for field, at in offsets.items()
    ]
    return "\n".join([*lines, "#endif", ""])


def _fields_text(struct: DType, start: int) -> str:
    parts = []
    for name, field in struct.fields.items():
        at = start + field_offset(struct, name)
        element = _element(field)
        inner = f" ({_fields_text(element, at)})" if element.kind == "struct" else ""
        parts.append(f"{name} {field} @{at}{inner}")
    return ", ".join(parts)
