"""The nearest values of element types to given numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.types import (
    SCALARS,
    VECTORS,
    DType,
    Struct,
    any_type,
    bf16,
    boolean,
    c64,
    c128,
    f32,
    float4,
    from_bf16,
)
from warploom.engine.types.arrays import nearest_number
from warploom.engine.types.scalars import f16

WHOLE = [dtype for dtype in SCALARS if dtype.kind == "integer"]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@given(st.floats(allow_nan=False) | st.integers(-(1 << 70), 1 << 70).map(float))
def test_whole_types_hold_the_nearest_that_they_reach(dtype: DType, value: float) -> None:
    """Numbers are truncated towards 0, and limited to what the type can hold."""
    info = np.iinfo(dtype.numpy)
    expected = info.max if value >= info.max else info.min if value <= info.min else math.trunc(value)
    found = nearest_number(dtype, value)
    assert (found.dtype, int(found)) == (dtype.numpy, expected)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_nan_is_no_whole_number(dtype: DType) -> None:
    """The nearest whole number to NaN is 0."""
    assert nearest_number(dtype, math.nan) == 0


@given(st.floats(width=64))
def test_floats_round_as_numpy_does(value: float) -> None:
    """Results for f16 and f32 equal numpy's, and numbers beyond the range become infinite."""
    for dtype in (f16, f32):
        with np.errstate(over="ignore"):
            expected = dtype.numpy.type(value)
        found = nearest_number(dtype, value)
        assert found.tobytes() == expected.tobytes() or (math.isnan(value) and np.isnan(found))


@given(st.integers(-255, 255), st.integers(-100, 100))
def test_bf16_is_its_bits(digits: int, exponent: int) -> None:
    """The result is the bits of a bf16; numbers of 8 significant bits are exact."""
    value = math.ldexp(digits, exponent)
    found = nearest_number(bf16, value)
    assert from_bf16(np.array([found]))[0] == np.float32(value)


def test_vectors_and_complex_types_are_several_numbers() -> None:
    """For a vector or a complex type, the function returns the value of one component."""
    assert nearest_number(float4, 1.5).tobytes() == np.float32(1.5).tobytes()
    assert nearest_number(c64, 1.5).tobytes() == np.float32(1.5).tobytes()
    assert nearest_number(c128, 1.5).tobytes() == np.float64(1.5).tobytes()
    assert nearest_number(boolean, -0.5) and not nearest_number(boolean, -0.0)
    for dtype in VECTORS:
        assert nearest_number(dtype, 3.0).itemsize * dtype.components == dtype.size_bytes


def test_a_struct_has_no_such_number() -> None:
    """A struct has no nearest number, and neither has `any_type`: both are a TypeError."""

    class One(Struct):
        x: f32

    for dtype in (One, any_type):
        with pytest.raises(TypeError, match="scalar or a vector"):
            nearest_number(dtype, 1.0)
