"""The number that an element type holds for one that a person gave, such as a default or an initial value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine.types.bfloat import to_bf16
from engine.types.dtype import DType
from engine.types.scalars import bf16


def nearest_number(dtype: DType, value: float) -> np.generic[Any]:
    """Return `value` as one number of a scalar or of a vector's component, by its bits; a complex type gives a part.

    Whole numbers are cut towards 0, and what the type does not reach is the nearest that it does. TypeError for a
    struct, which has no such number.
    """
    scalar = dtype.of or dtype
    if scalar.fields or scalar.kind == "any":
        raise TypeError(f"element type must be a scalar or a vector to have one number, got {dtype}")
    kind = scalar.numpy.type(0).real.dtype
    number: np.generic[Any]
    if scalar is bf16:
        number = to_bf16(np.array([value]))[0]
    elif kind.kind in "iu":
        info = np.iinfo(kind)
        whole = 0 if math.isnan(value) else int(max(min(value, float(info.max)), float(info.min)))
        number = kind.type(max(min(whole, int(info.max)), int(info.min)))
    else:
        with np.errstate(over="ignore"):
            number = kind.type(value)
    return number
