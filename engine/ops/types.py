"""Types of the values in a kernel, their promotion, and how elements of buffers are read as values."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from warploom.engine.types import (
    NAMED,
    DType,
    any_type,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    number_range,
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

#: Numbers in the order of promotion: two types become the later one, as in C++.
RANKS: dict[DType, int] = {boolean: 0, s32: 1, u32: 2, s64: 3, u64: 4, f32: 5, f64: 6}
#: The types that elements not in RANKS are read as. Stores narrow them again.
WIDENED: dict[DType, DType] = {u8: u32, u16: u32, s8: s32, s16: s32, f16: f32, bf16: f32}
_LONG: dict[DType, str] = {f32: "float", f64: "double", s32: "int", u32: "uint", s64: "longlong", u64: "ulonglong"}


class srgb8(metaclass=DType):
    """A component of `uchar4_picture`, which is read as f32."""

    numpy, size_bytes, alignment, components, kind = u8.numpy, 1, 1, 1, "integer"
    cuda_name, cuda_header, of = "unsigned char", "", None
    fields: ClassVar[dict[str, DType]] = {}


class uchar4_picture(metaclass=DType):
    """The elements of a buffer of uchar4 that is a picture: they are read as linear RGBA; see `pixels`."""

    numpy, size_bytes, alignment, components, kind = uchar4.numpy, 4, 4, 4, "vector"
    cuda_name, cuda_header, of = "uchar4", "", srgb8
    fields: ClassVar[dict[str, DType]] = {}


class ValueType(msgspec.Struct, frozen=True):
    """A scalar or a small vector in registers. A `weak` type is that of a literal; it adapts to the other operand."""

    scalar: DType
    components: int = 1
    weak: bool = False

    def __str__(self) -> str:
        if self.components == 1:
            return str(self.scalar)
        return f"{_LONG.get(self.scalar, self.scalar)}{self.components}"

    @property
    def is_float(self) -> bool:
        """True for f32 and f64 and vectors of them."""
        return self.scalar.kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for whole numbers, signed or not, and vectors of them; False for booleans."""
        return self.scalar.kind == "integer"

    @property
    def is_boolean(self) -> bool:
        """True for booleans and vectors of them, which exist in kernels only."""
        return self.scalar.kind == "boolean"

    @property
    def is_signed(self) -> bool:
        """True for signed whole numbers."""
        return self.scalar in (s32, s64)

    def of(self, scalar: DType) -> ValueType:
        """Return the type with as many components of another scalar."""
        return ValueType(scalar, self.components)

    def strong(self) -> ValueType:
        """Return the type with `weak` removed."""
        return replace(self, weak=False) if self.weak else self

    def element(self) -> DType | None:
        """Return the element type of buffers that hold such values; None for a vector of booleans."""
        return NAMED.get(str(self))


class BufferType(msgspec.Struct, frozen=True):
    """A handle on memory that ops access: elements of `dtype` in "global" or "shared" memory."""

    dtype: DType
    space: str = "global"
    writable: bool = False

    def __str__(self) -> str:
        return f"buffer of {self.dtype}"


Type = ValueType | BufferType

BOOLEAN, S32, U32, F32 = ValueType(boolean), ValueType(s32), ValueType(u32), ValueType(f32)


_READ_AS = {**{dtype: dtype for dtype in RANKS}, **WIDENED, srgb8: f32}
#: The element types that inputs, outputs and shared memory may have.
ELEMENTS = tuple(name for name, dtype in NAMED.items() if (dtype.of or dtype) in _READ_AS)
#: Those of inputs and outputs.
ELEMENT_TYPES: Mapping[str, DType] = {name: NAMED[name] for name in ELEMENTS} | {"uchar4_picture": uchar4_picture}


def in_memory(name: str) -> DType:
    """Return the type that a buffer has for an input or output of this type; any_type if it is known at launch."""
    return uchar4 if name == str(uchar4_picture) else NAMED.get(name, any_type)


@functools.cache
def read_as(dtype: DType) -> ValueType:
    """Return the type that an element of a buffer is read as; `dtype` is one of ELEMENT_TYPES."""
    return ValueType(_READ_AS[dtype.of or dtype], dtype.components)


#: The types that elements are read as if their type is passed at launch: as numbers, or as whether they are not 0.
TOLD: dict[str, DType] = {"number": f64, "any": boolean}
#: Further outputs of such an input: the element as a whole number, whether it is one, and whether a buffer exists.
TOLD_PORTS = {"whole": ValueType(s64), "is_whole": ValueType(boolean), "is_connected": ValueType(boolean)}
#: The types of live parameters and of conversions.
NUMBERS = ("f32", "s32", "u32", "f64", "s64", "u64", "boolean")


def promote(a: ValueType, b: ValueType) -> ValueType | None:
    """Return the type that both operands are converted to, None when vectors differ in size.

    The result is the later of boolean, s32, u32, s64, u64, f32, f64. A literal takes the other operand's type, except
    that a literal with a fraction makes whole numbers f32. A scalar is repeated for each component of a vector.
    """
    if a.components != b.components and 1 not in (a.components, b.components):
        return None
    components = max(a.components, b.components)
    if a.weak != b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        if strong.is_float or (strong.is_integer and not weak.is_float):
            return ValueType(strong.scalar, components)
    scalar = a.scalar if RANKS[a.scalar] >= RANKS[b.scalar] else b.scalar
    return ValueType(scalar, components, a.weak and b.weak)


def can_hold(scalar: DType, number: float) -> bool:
    """Return whether a type can represent a number; floats may round it."""
    least, most = number_range(scalar)
    return scalar.kind == "float" or (number == int(number) and least <= number <= most)
