"""A bf16 is the upper half of an f32, rounded to nearest even."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.types import from_bf16, to_bf16

LARGEST = float.fromhex("0x1.fep127")
ALL_BITS = np.arange(1 << 16, dtype=np.uint16)


def nearest(value: float) -> Fraction:
    """Return the nearest multiple of the spacing of bf16 (8 significant bits, down to 2**-133), ties to even."""
    _, exponent = math.frexp(value)
    spacing = Fraction(2) ** max(exponent - 8, -133)
    return round(Fraction(value) / spacing) * spacing  # Python rounds a fraction's ties to even


def test_every_bf16_survives_the_way_to_f32_and_back() -> None:
    """All 65536 bit patterns except signalling NaNs come back as they were."""
    back = to_bf16(from_bf16(ALL_BITS))
    is_nan = np.isnan(from_bf16(ALL_BITS))
    np.testing.assert_array_equal(back[~is_nan], ALL_BITS[~is_nan])
    np.testing.assert_array_equal(back[is_nan], ALL_BITS[is_nan] | 0x40)  # hardware makes NaNs quiet
    assert is_nan.sum() == 2 * 127


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(value=st.one_of(st.floats(-LARGEST, LARGEST), st.floats(-(2.0**-125), 2.0**-125), st.floats(-3, 3)))
def test_numbers_round_to_nearest_with_ties_to_even(dtype: type[np.floating], value: float) -> None:
    """Rounded numbers equal those of exact fractions, even subnormal ones; an f64 is rounded once, not twice."""
    given_value = dtype(value)
    expected = nearest(float(given_value))
    found = float(from_bf16(to_bf16(np.array([given_value])))[0])
    assert Fraction(found) == expected
    assert math.copysign(1, found) == math.copysign(1, float(given_value))


def test_a_tie_that_f32_would_hide_is_seen() -> None:
    """1 + 2**-8 + 2**-40 lies above a tie. Rounded to f32 first, it would become the tie and be rounded down."""
    value = 1 + 2.0**-8 + 2.0**-40
    assert from_bf16(to_bf16(np.array([value])))[0] == 1 + 2.0**-7
    assert from_bf16(to_bf16(np.array([np.float32(value)])))[0] == 1


def test_the_largest_numbers_round_to_infinity_from_half_a_step_above() -> None:
    """Half a step above the largest bf16 is a tie, whose even neighbour is 2**128."""
    half = 2.0**119
    below, at = np.nextafter(LARGEST + half, 0), LARGEST + half
    np.testing.assert_array_equal(
        from_bf16(to_bf16(np.array([below, at, -at, 1e300]))), [LARGEST, *np.r_[1, -1, 1] * np.inf]
    )


def test_infinities_and_nans_are_kept_with_their_signs() -> None:
    """Infinities, zeros and NaNs keep their signs, even a NaN whose payload is in the lower half."""
    assert to_bf16(np.array([np.inf, -np.inf, 0.0, -0.0], np.float32)).tolist() == [0x7F80, 0xFF80, 0, 0x8000]
    low = np.array([0x7F800001, 0xFF800001], np.uint32).view(np.float32)
    assert to_bf16(low).tolist() == [0x7FC0, 0xFFC0]
    for dtype in (np.float16, np.float32, np.float64):
        assert np.isnan(from_bf16(to_bf16(np.array([np.nan, -np.nan], dtype)))).all()


def test_arrays_of_any_shape_and_f16_convert() -> None:
    """The result has the shape of the array. An f16 is converted through f32, which is exact."""
    halves = np.linspace(-2, 2, 12, dtype=np.float16).reshape(3, 4)[:, ::2]
    assert to_bf16(halves).shape == (3, 2)
    np.testing.assert_array_equal(to_bf16(halves), to_bf16(halves.astype(np.float64)))
    assert to_bf16(1.5).shape == ()


def test_other_arrays_are_refused() -> None:
    """Integers, and bits that are not uint16, are refused."""
    with pytest.raises(TypeError, match=r"array must hold f16, f32 or f64 to become bf16, got int64; use astype first"):
        to_bf16(np.array([1, 2], np.int64))
    with pytest.raises(TypeError, match="bf16 must be given by its bits, a uint16 array, got float32"):
        from_bf16(np.zeros(2, np.float32))  # type: ignore[arg-type] # wrong on purpose
