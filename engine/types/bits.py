"""Compares values by their bits: 0.0 and -0.0 differ although they are equal; a NaN is the same as itself."""

import struct
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import astuple

_PACK = struct.Struct("<d").pack
#: Types whose equal values are the same.
_PLAIN = frozenset((str, int, bool, type(None)))


def bit_key(value: Any) -> object:
    """Return a key that is equal for two values just when they are the same: their type, and all their bits.

    It can be hashed when the value can; arrays count by element type, shape and bytes.
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return _PACK(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        return kind, value.dtype.str, value.shape, value.tobytes()
    if kind is tuple or kind is list:
        return kind, *map(bit_key, value)
    if kind is dict:
        return kind, *zip(value, map(bit_key, value.values()), strict=True)
    return kind, value


def same(a: Any, b: Any) -> bool:
    """Return whether two values are the same, so that neither a kernel nor a file can tell them apart."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is float:
        return _PACK(a) == _PACK(b)
    if kind is dict:  # those that differ mostly differ in one item of many
        return len(a) == len(b) and all(x == y and same(a[x], b[y]) for x, y in zip(a, b, strict=True))
    if kind is tuple or kind is list:
        return len(a) == len(b) and all(map(same, a, b))
    return bool(bit_key(a) == bit_key(b))


def same_array(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return whether two arrays are the same; neither is copied."""
    if a is b or (a.dtype, a.shape) != (b.dtype, b.shape):
        return a is b
    return np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))


def same_value(a: Any, b: Any) -> bool:
    """Return whether two values of a parameter are the same; a whole number may be written as 1 or as 1.0."""
    return same(a, b) or ({type(a), type(b)} == {int, float} and bool(a == b) and same(float(a), float(b)))


class ByBits(msgspec.Struct, frozen=True, eq=False):
    """Base of frozen structs (with `eq=False`) that are equal just when their fields are the same."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and bit_key(astuple(self)) == bit_key(astuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct's own does not call `__eq__`

    def __hash__(self) -> int:
        # Fields that are the same are equal, but for NaNs.
        return hash(tuple([field if field == field else None for field in astuple(self)]))
