"""One number from many, against numpy."""

from typing import Any

import numpy as np
import pytest

from engine import Patch
from tests.blocks.running import apply, problems

SIZES = [1, 2, 255, 256, 257, 1023, 1025, 70_000, 300_001]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("block", "expected"), [("sum", np.sum), ("largest", np.max), ("smallest", np.min)])
def test_reductions_are_numpys(block: str, expected: Any, size: int) -> None:
    """For sizes around a thread block and beyond the largest number of partial results; sums are as exact as in f64."""
    x = np.random.default_rng(size).normal(3, 100, size).astype(np.float32)
    (out,) = apply(f"reduce.{block}", {"x": x})
    assert out == pytest.approx(expected(x.astype(np.float64)), rel=2e-7)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "f2", "f8"])
def test_any_number_reduces(dtype: str) -> None:
    """Negative ones where the type has them."""
    x = np.array([[3, -7, 0], [100, 5, 1]]).astype(dtype)
    numbers = x.astype(np.float64)
    assert apply("reduce.sum", {"x": x}) == np.float32(numbers.sum())
    assert apply("reduce.largest", {"x": x}) == np.float32(numbers.max())
    assert apply("reduce.smallest", {"x": x}) == np.float32(numbers.min())


@pytest.mark.parametrize("at", [0, 300, 1999])
def test_nan_and_infinity_are_passed_on(at: int) -> None:
    """A NaN wins, wherever it is; infinities are the largest and the smallest."""
    x = np.linspace(-1, 1, 2000, dtype=np.float32)
    x[at] = np.nan
    for block in ("sum", "largest", "smallest"):
        assert np.isnan(apply(f"reduce.{block}", {"x": x})[0])
    x[at] = -np.inf
    assert apply("reduce.smallest", {"x": x})[0] == -np.inf
    assert apply("reduce.largest", {"x": -x})[0] == np.inf


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u8", "f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("size", [1, 255, 257, 70_000])
def test_count_counts_what_is_not_zero(dtype: str, size: int) -> None:
    """Of any element type."""
    x = np.random.default_rng(size).integers(0, 3, size).astype(dtype)
    assert apply("reduce.count", {"x": x}).tolist() == [np.count_nonzero(x)]


def test_count_takes_vectors_and_zeros() -> None:
    """Zeros don't count, and neither does -0."""
    assert apply("reduce.count", {"x": np.array([0.0, -0.0, 0.0], np.float32)}).tolist() == [0]
    patch = Patch()
    node = patch.add("reduce.sum")
    patch.connect(patch.add("io.array", data=np.ones(3, np.complex64))["out"], node["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "x") and "single real numbers" in text
