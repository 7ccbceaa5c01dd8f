"""Element types and shapes of numpy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.types.dtype import DType
from engine.types.scalars import SCALARS, bf16

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
