"""A struct as text: the CUDA C++ that declares it, and its layout in words."""

from __future__ import annotations

from collections.abc import Iterator

from engine.types.dtype import DType
from engine.types.structs import field_offset

# Words of C++ that are names in Python.
_RESERVED_TEXT = """
alignas alignof asm auto bool case catch char const constexpr decltype default delete do double dynamic_cast
enum explicit export extern false float friend goto inline int long mutable namespace new noexcept nullptr
operator private protected public register short signed sizeof static static_assert struct switch template this
throw true typedef typeid typename union unsigned using virtual void volatile wchar_t
"""
_RESERVED = frozenset(_RESERVED_TEXT.split())


def declaration(struct: DType) -> str:
    """Return the CUDA C++ declaration of a struct and of the structs in it, so that a kernel shares its layout.

    The compiler checks size, alignment and every offset. Each struct has a guard of its own, so that declarations with
    a struct in common can follow each other. TypeError when it is no struct, when a name is a word of C++, and when two
    structs of one name differ.
    """
    if struct.kind != "struct":
        raise TypeError(f"a declaration must be of a struct, got {struct}")
    structs: dict[str, DType] = {}
    for inner in _innermost_first(struct):
        if structs.setdefault(inner.cuda_name, inner) != inner:
            raise TypeError(f"structs in {struct} must differ in name or be the same, got two called {inner}")
    leaves = (leaf for inner in structs.values() for leaf in inner.fields.values())
    headers = sorted({leaf.cuda_header for leaf in leaves} - {""})
    return "".join(f"#include <{header}>\n" for header in headers) + "\n".join(map(_declare, structs.values()))


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
    """Return what a field consists of: itself, or an array's elements."""
    return field.of if field.kind == "array" and field.of is not None else field


def _dims(field: DType) -> str:
    """Return the sizes of an array as CUDA C++ writes them behind the name, "[4]"."""
    return field.__name__[len(_element(field).__name__) :]


def _declare(struct: DType) -> str:
    name = struct.cuda_name
    for word in (name, *struct.fields):
        if word in _RESERVED:
            raise TypeError(f"struct {name}: a name in it must not be a word of C++, got {word}")
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
    lines += [
        f'static_assert(__builtin_offsetof({name}, {field}) == {at}, "{name}::{field} must be at byte {at}");'
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
