"""Element types in numpy: the type of an array, bf16 (which numpy lacks) as uint16, numbers rounded to a type."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.engine.arguments import checked, shown
from warploom.engine.types.dtype import DType
from warploom.engine.types.scalars import SCALARS, bf16

# bf16 has no numpy type of its own: an array of uint16 holds u16.
_BY_NUMPY: dict[np.dtype[Any], DType] = {t.numpy: t for t in SCALARS if t is not bf16}
_MOST_BF16 = float.fromhex("0x1.fep127")

Shape = tuple[int, ...]
#: A numpy array of any element type and shape.
Array = np.ndarray[Any, Any]


@checked(TypeError)
def dtype_of(array: np.ndarray[Any, Any]) -> DType:
    """Return the scalar element type of a numpy array. Raise TypeError if Warploom has none for it."""
    dtype = _BY_NUMPY.get(array.dtype)
    if dtype is None:
        allowed = ", ".join(map(str, _BY_NUMPY))
        raise TypeError(f"array dtype must be one of {allowed}, got {array.dtype}; use astype first")
    return dtype


def is_masked(value: object) -> bool:
    """Return whether a value is an array of `numpy.ma` that hides some of its elements.

    Nothing is masked before someone imports `numpy.ma`, which takes too long to do here.
    """
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(value))


def element_count(shape: Shape) -> int:
    """Elements in a buffer of this shape; 1 for a scalar's empty shape."""
    return math.prod(shape)


def to_bf16(array: npt.ArrayLike) -> npt.NDArray[np.uint16]:
    """Return the bits of the nearest bf16 of each f16, f32 or f64, ties to even; a NaN stays a NaN with its sign.

    Numbers nearer to 2**128 than to the largest bf16 become infinite. Raise TypeError for any other array.
    """
    wide = np.asarray(array)
    if wide.dtype.kind != "f" or wide.dtype.itemsize > 8:
        raise TypeError(f"array must hold f16, f32 or f64 to become bf16, got {wide.dtype}; use astype first")
    bits = _sticky_f32(wide).view(np.uint32)
    # Half of the last bit that is kept, less one when that bit is even: a carry out of the lower half rounds up.
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16
    quiet = (bits >> 16) | np.uint32(0x40)  # a NaN whose payload lies in the lower half would become infinite
    return np.where((bits & np.uint32(0x7FFFFFFF)) > 0x7F800000, quiet, rounded).astype(np.uint16)


@checked(TypeError)
def from_bf16(array: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Return the f32 equal to each bf16, which is given by its bits. Raise TypeError unless they are uint16."""
    if not isinstance(array, np.ndarray) or array.dtype != np.uint16:
        found = array.dtype if isinstance(array, np.ndarray) else shown(array)
        raise TypeError(f"bf16 must be given by its bits, a uint16 array, got {found}")
    return (array.astype(np.uint32) << 16).view(np.float32)


def _sticky_f32(wide: np.ndarray[Any, Any]) -> npt.NDArray[np.float32]:
    """Return f32 that round to bf16 as `wide` does: f64 is truncated, and the last bit is set if it was inexact.

    Rounding to f32 and then to bf16 would round twice.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near = wide.astype(np.float32)
    if wide.dtype.itemsize < 8:
        return near
    with np.errstate(invalid="ignore"):  # comparing a signalling NaN
        beyond = np.abs(near.astype(np.float64)) > np.abs(wide)
        inexact = (near != wide) & ~np.isnan(wide)
    cut = np.where(beyond, np.nextafter(near, np.float32(0)), near)
    bits: npt.NDArray[np.uint32] = cut.view(np.uint32) | inexact.astype(np.uint32)
    return bits.view(np.float32)


def number_range(dtype: DType) -> tuple[float, float]:
    """Return the least and the greatest finite number of a real scalar type: whole numbers are exact."""
    if dtype is bf16:
        return -_MOST_BF16, _MOST_BF16
    if dtype.numpy.kind == "f":
        most = float(np.finfo(dtype.numpy).max)
        return -most, most
    return (0, 1) if dtype.numpy.kind == "b" else (int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max))


def nearest_number(dtype: DType, value: float) -> np.generic[Any]:
    """Return the number nearest to `value` in a scalar type, a vector's component or the real part of a complex type.

    Integer types truncate towards 0; values out of range become the nearest limit. bf16 is given by its bits. Raise
    TypeError for a struct.
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
