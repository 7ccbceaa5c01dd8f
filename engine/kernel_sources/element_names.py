"""Element types by their names in CUDA C++ and manifests, and what a kernel's pointers point to by those names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.types import NAMED, VECTORS


@dataclass(frozen=True)
class PointerElement:
    """What a kernel's pointer points to: its size, what the source calls it, and whether it is a struct.

    CUDA's own vectors don't count as structs: kernels read buffers of scalars as vectors, to move several at once.
    """

    size_bytes: int
    name: str
    is_struct: bool = False


def _sizes() -> dict[str, int]:
    sizes = {dtype.cuda_name: dtype.size_bytes for dtype in NAMED.values()}
    sizes |= {dtype.__name__: dtype.size_bytes for dtype in VECTORS}
    for size, names in {
        1: "char int8_t uint8_t std::uint8_t std::int8_t",
        2: "half nv_bfloat16 nv_half int16_t uint16_t",
        4: "int32_t uint32_t nv_bfloat162 nv_half2 uint unsigned signed",
        8: "int64_t uint64_t size_t cuComplex",
        32: "double4_32a longlong4_32a ulonglong4_32a",
    }.items():
        sizes |= dict.fromkeys(names.split(), size)
    return sizes | {"short int": 2, "unsigned short int": 2, "long long int": 8, "unsigned long long int": 8}


# `long` is left out: its size depends on the platform.
_SIZES = _sizes()
VECTOR_NAMES = (*(dtype.cuda_name for dtype in VECTORS if not dtype.cuda_header), "double4_32a", "longlong4_32a")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|__restrict__|__restrict|__grid_constant__)\b")
_POINTER = re.compile(r"([^*&\[\]]+)\*\s*(\w*)\s*(\[\s*\w*\s*\])?")


@dataclass(frozen=True)
class NamedElements:
    """Elements known from names; `unknown` are the parameters that only a compiler can tell."""

    elements: tuple[PointerElement | None, ...]
    unknown: frozenset[int]


def named_element(name: str) -> PointerElement | None:
    """Return the element that Warploom or CUDA C++ defines under a name; None for any other name."""
    if name in NAMED:
        return PointerElement(NAMED[name].size_bytes, name)
    return PointerElement(_SIZES[name], name) if name in _SIZES else None


def named_elements(source: str, entry: str, sizes_bytes: Sequence[int]) -> NamedElements:
    """Return what the pointers of a kernel in CUDA C++ point to, as far as names tell.

    `sizes_bytes` are the sizes of its parameters; only one of 8 bytes can be a pointer. A struct is unknown, with its
    name and size 0.
    """
    texts = parameter_texts(source, entry)
    if len(texts) != len(sizes_bytes):
        wide = frozenset(index for index, size in enumerate(sizes_bytes) if size == 8)
        return NamedElements((None,) * len(sizes_bytes), wide)
    elements: list[PointerElement | None] = []
    unknown = set()
    for index, (text, size) in enumerate(zip(texts, sizes_bytes, strict=True)):
        known, element = _element(text) if size == 8 else (True, None)
        elements.append(element)
        if not known:
            unknown.add(index)
    return NamedElements(tuple(elements), frozenset(unknown))


def parameter_texts(source: str, entry: str) -> list[str]:
    """Return the declarations of a kernel's parameters; [] when they can't be found, or are declared in several ways.

    It is a search, not a parse: a caller must check that the count is right.
    """
    found = re.findall(rf"__global__[^;{{}}]*?\b{re.escape(entry)}\s*\(([^()]*)\)", _COMMENT.sub(" ", source))
    return _split(found[0]) if len(set(found)) == 1 else []


def _split(text: str) -> list[str]:
    """Split at the commas that are not between a template's brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _element(text: str) -> tuple[bool, PointerElement | None]:
    """Return whether names tell what a declared parameter is, and its element."""
    text = " ".join(_QUALIFIER.sub(" ", text).split())
    pointer = _POINTER.fullmatch(text)
    if pointer is None:  # a value if its type is known (`float3 x[]` is not); other names may stand for pointers
        return not text.endswith("]") and text.rpartition(" ")[0] in _SIZES, None
    name = pointer[1].strip()
    if pointer[3] is not None:  # `float* x[]` is a pointer to pointers
        return True, PointerElement(8, f"{name}*")
    if name == "void":
        return True, None
    return name in _SIZES, PointerElement(_SIZES.get(name, 0), name)
