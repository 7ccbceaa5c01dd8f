"""Reductions to one number, compared with numpy."""

from typing import Any

import numpy as np
import pytest

from engine import Patch
from tests.blocks.running import apply, problems, run

SIZES = [1, 2, 255, 256, 257, 1023, 1025, 70_000, 300_001]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("block", "expected"), [("sum", np.sum), ("largest", np.max), ("smallest", np.min)])
def test_reductions_are_numpys(block: str, expected: Any, size: int) -> None:
    """Reductions of any size equal numpy's in f64 within 2e-7, also with the most partial results."""
    x = np.random.default_rng(size).normal(3, 100, size).astype(np.float32)
    (out,) = apply(f"reduce.{block}", {"x": x})
    assert out == pytest.approx(expected(x.astype(np.float64)), rel=2e-7)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "f2", "f8"])
def test_any_number_reduces(dtype: str) -> None:
    """Sum, largest and smallest equal numpy's for every type, with negative numbers where the type has them."""
    x = np.array([[3, -7, 0], [100, 5, 1]]).astype(dtype)
    numbers = x.astype(np.float64)
    assert apply("reduce.sum", {"x": x}) == np.float32(numbers.sum())
    assert apply("reduce.largest", {"x": x}) == np.float32(numbers.max())
    assert apply("reduce.smallest", {"x": x}) == np.float32(numbers.min())


@pytest.mark.parametrize("at", [0, 300, 1999])
def test_nan_and_infinity_are_passed_on(at: int) -> None:
    """A NaN anywhere is the result, and infinities are the largest and the smallest number."""
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
    """Elements of every type are counted unless they are zero."""
    x = np.random.default_rng(size).integers(0, 3, size).astype(dtype)
    assert apply("reduce.count", {"x": x}).tolist() == [np.count_nonzero(x)]


def test_count_takes_vectors_and_zeros() -> None:
    """Count leaves out 0 and -0, and refuses vectors at its input."""
    assert apply("reduce.count", {"x": np.array([0.0, -0.0, 0.0], np.float32)}).tolist() == [0]
    patch = Patch()
    node = patch.add("reduce.sum")
    patch.connect(patch.add("io.array", data=np.ones(3, np.complex64))["out"], node["x"])
    ((at, port, text),) = problems(patch)
    assert (at, port) == (node.id, "x") and "single real numbers" in text


@pytest.mark.parametrize("dtype", ["c8", "c16", "f2", "f4", "f8"])
def test_minus_zero_is_zero_in_every_type(dtype: str) -> None:
    """Count and Select take -0 for zero in every type, also in complex numbers, but not the numbers next to it."""
    real = np.dtype(dtype).type(0).real
    tiny = np.nextafter(real, real.dtype.type(1))
    parts = np.array([0.0, -0.0, tiny, -tiny, 1.0, np.nan], real.dtype)
    x = (parts[:, None] + np.zeros(1, dtype)).reshape(-1)
    if x.dtype.kind == "c":
        x = np.array([[complex(a, b) for b in parts] for a in parts], dtype).reshape(-1)
    assert apply("reduce.count", {"x": x}).tolist() == [np.count_nonzero(x)]
    for element, number in list(enumerate(x))[::5]:
        given = {"condition": x, "a": np.ones(1), "b": np.zeros(1)}
        assert apply("control.select", given, element=element).tolist() == [bool(number)]


def test_vectors_of_zeros_do_not_count() -> None:
    """Counting vectors leaves out those whose components are all zero, of either sign."""
    data = np.array([[0, -0.0, 0, -0.0], [-0.0, 0, 0, 1e-45], [-0.0] * 4], np.float32)
    patch = Patch()
    vectors, count = patch.add("buffer.reinterpret", dtype="float4"), patch.add("reduce.count")
    patch.connect(patch.add("io.array", data=data)["out"], vectors["x"])
    patch.connect(vectors["out"], count["x"])
    assert run(patch, count["out"])[0].tolist() == [1]
