"""`WeightFormat`: how a weight is rounded and laid out in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import InvalidOperation
from warploom.engine.tensor_ir.types import real_number
from warploom.engine.types import Array

#: The types of weights in files, by name: floats that stay as they are, or quantised ones.
DTYPES: Mapping[str, np.dtype[Any]] = {
    "f32": np.dtype("<f4"),
    "i8": np.dtype("<i1"),
    "i16": np.dtype("<i2"),
    "i32": np.dtype("<i4"),
}


def _half_away(numbers: Array) -> Array:
    whole = np.trunc(numbers)
    return whole + np.where(np.abs(numbers - whole) >= 0.5, np.copysign(1.0, numbers), 0.0)


#: Roundings to whole numbers, by name.
ROUNDINGS: Mapping[str, Callable[[Array], Array]] = {
    "half_even": np.rint,
    "half_away": _half_away,
    "truncate": np.trunc,
}


@dataclass(frozen=True)
class WeightFormat:
    """How a weight is written to a file.

    `dtype` is f32, or i8, i16 or i32 for whole numbers: the weight times `factor`, rounded. By default, the factor is
    the largest with which all elements fit. `rounding` is half_even or half_away, to the nearest whole number, or
    truncate, towards 0. With `transpose`, the axes are in reverse order.
    """

    dtype: str = "f32"
    factor: float | None = None
    rounding: str = "half_even"
    transpose: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, str) or self.dtype not in DTYPES:
            known = ", ".join(DTYPES)
            raise InvalidOperation(f"element type of weights must be one of {known}, got {shown(self.dtype)}")
        if not isinstance(self.rounding, str) or self.rounding not in ROUNDINGS:
            raise InvalidOperation(f"rounding must be one of {', '.join(ROUNDINGS)}, got {shown(self.rounding)}")
        if not isinstance(self.transpose, bool):
            raise InvalidOperation(f"transpose must be True or False, got {shown(self.transpose)}")
        if self.factor is not None:
            if real_number("factor", self.factor) <= 0:
                raise InvalidOperation(f"factor must be more than 0, got {self.factor}")
            if not self.is_quantised:
                raise InvalidOperation(f"factor must be for i8, i16 or i32, got {self.factor} for f32")

    @property
    def is_quantised(self) -> bool:
        """Whether weights are written as whole numbers."""
        return self.dtype != "f32"

    def packed(self, name: str, array: Array) -> tuple[Array, np.float32 | None]:
        """Return a weight in its format, little-endian and in C order, and the scale: weight = number * scale.

        Floats have no scale. Raise InvalidOperation, with the weight's name, if it isn't finite or doesn't fit.
        """
        kind, scale = DTYPES[self.dtype], None
        if self.is_quantised:
            array, scale = self._quantised(name, np.asarray(array, np.float64))
        return np.array(array.T if self.transpose else array, kind, order="C"), scale

    def _quantised(self, name: str, array: Array) -> tuple[Array, np.float32]:
        if not np.all(np.isfinite(array)):
            raise InvalidOperation(f"weights {name!r} must be finite to be quantised")
        limits = np.iinfo(DTYPES[self.dtype])
        if self.factor is None:
            scale = _smallest_scale(float(np.max(np.abs(array), initial=0.0)), limits.max)
            return ROUNDINGS[self.rounding](array / float(scale)), scale
        numbers = ROUNDINGS[self.rounding](array * self.factor)
        if np.min(numbers, initial=0.0) < limits.min or np.max(numbers, initial=0.0) > limits.max:
            low, high = limits.min / self.factor, limits.max / self.factor
            rule = f"from {low:g} to {high:g} for {self.dtype} with the factor {self.factor:g}"
            found = f"{np.min(array):g} to {np.max(array):g}"
            raise InvalidOperation(f"weights {name!r} must be {rule}, got {found}")
        return numbers, np.float32(1 / self.factor)


def _smallest_scale(size: float, largest: int) -> np.float32:
    """Return the smallest scale with which weights up to `size` become whole numbers up to `largest`."""
    if not size:
        return np.float32(1.0)
    scale = max(np.float32(size / largest), np.finfo(np.float32).smallest_subnormal)
    is_rounded_down = np.rint(size / float(scale)) > largest
    return np.nextafter(scale, np.float32(np.inf)) if is_rounded_down else scale
