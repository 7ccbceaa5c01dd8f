"""Element types and shapes of numpy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.types.bfloat import from_bf16, to_bf16
from engine.types.dtype import DType
from engine.types.scalars import SCALARS, bf16, boolean

# bf16 has no numpy type of its own: an array of uint16 holds u16.
_BY_NUMPY: dict[np.dtype[Any], DType] = {t.numpy: t for t in SCALARS if t is not bf16}

Shape = tuple[int, ...]


def dtype_of(array: np.ndarray[Any, Any]) -> DType:
    """Return the scalar element type of a numpy array; TypeError when Warploom has none for it."""
    dtype = _BY_NUMPY.get(array.dtype)
    if dtype is None:
        allowed = ", ".join(map(str, _BY_NUMPY))
        raise TypeError(f"array dtype must be one of {allowed}, got {array.dtype}; use astype first")
    return dtype


def element_count(shape: Shape) -> int:
    """Elements in a buffer of this shape; 1 for a scalar's empty shape."""
    return math.prod(shape)


def element_bytes(dtype: DType, number: float) -> bytes:
    """Return one element of which every number is `number`: a vector's components, a struct's fields, a real part.

    An imaginary part is 0, a boolean says whether the number is not 0, padding is 0. ValueError when a type in it
    cannot hold the number.
    """
    element = np.zeros(1, dtype.numpy)
    _fill(element, dtype, number)
    return element.tobytes()


def _fill(array: np.ndarray[Any, Any], dtype: DType, number: float) -> None:
    if dtype.fields:
        for name, field in dtype.fields.items():
            _fill(array[name], field, number)
    elif dtype.of is not None:
        _fill(array, dtype.of, number)
    elif dtype.kind == "integer":
        limits = np.iinfo(dtype.numpy)
        if not (limits.min <= number <= limits.max and number == int(number)):  # which NaN is not
            raise ValueError(f"a {dtype} must be a whole number from {limits.min} to {limits.max}, got {number!r}")
        array[...] = int(number)
    elif dtype == boolean:
        array[...] = number != 0
    else:
        with np.errstate(over="ignore"):  # it is told below
            array[...] = to_bf16(np.float64(number)) if dtype == bf16 else number
        values = from_bf16(array) if dtype == bf16 else array
        if math.isfinite(number) and not np.isfinite(values).all():
            raise ValueError(f"a {dtype} must be within its range, got {number!r}")
