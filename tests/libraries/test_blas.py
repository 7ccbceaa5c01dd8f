"""Products and sums of vectors and matrices against numpy in f64, on every device."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.libraries.calls import SIZES, Caller, numbers, wide
from warploom.engine.libraries.blas import Axpy, Dot, Geam, Gemv, Norm, Scal, SolveTriangular
from warploom.engine.libraries.call import OperandError
from warploom.engine.types import Array, DType, c64, c128, f16, f32, f64
from warploom.engine.types.layout import Layout

#: Error bound of one operation on numbers near 1. A sum of k of them may have sqrt(k) times that error.
ROUNDING = {f32: 5e-7, f64: 2e-15, c64: 1e-6, c128: 4e-15}


def close(found: Array, expected: Array, k: int = 1) -> bool:
    """Return whether a sum of k numbers is as accurate as its type allows."""
    rounding = next(error for dtype, error in ROUNDING.items() if dtype.numpy == found.dtype)
    return bool(np.all(np.abs(found - expected) <= rounding * (k**0.5 + np.abs(expected))))


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("m", "k"), [(1, 1), (7, 1023), (1027, 7), (1, 65), (33, 1)])
def test_a_matrix_is_multiplied_by_a_vector(caller: Caller, dtype: DType, m: int, k: int) -> None:
    """A matrix times a vector, with or without y, equals numpy's, also transposed by option or by layout."""
    a, x, y = numbers((m, k), dtype), numbers((k,), dtype), numbers((m,), dtype)
    expected = 0.5 * wide(a) @ wide(x)
    known = {"alpha": 0.5, "beta": -2.0}
    for given, transpose in ((a, False), (a.T.copy(), True), (np.asfortranarray(a), False), (a.T, True)):
        for on_device in (False, True):
            call = Gemv(transpose)
            found = caller(call, {"a": given, "x": x}, numbers=known, on_device=on_device)["out"]
            assert close(found, expected, k)
            found = caller(call, {"a": given, "x": x, "y": y}, numbers=known, on_device=on_device)["out"]
            assert close(found, expected - 2 * wide(y), k)


def test_leading_axes_repeat_a_matrix_times_a_vector(caller: Caller) -> None:
    """Leading axes of the matrix, of the vector or of both repeat the product; the vectors may have gaps."""
    a, x = numbers((3, 2, 5, 7), f32), numbers((3, 2, 14), f32)[..., ::2]
    assert close(caller(Gemv(), {"a": a, "x": x})["out"], np.einsum("...ij,...j->...i", a, x), 7)
    assert close(caller(Gemv(), {"a": a[0, 0], "x": x})["out"], np.einsum("ij,...j->...i", a[0, 0], x), 7)
    assert close(caller(Gemv(), {"a": a, "x": x[0, 0]})["out"], a @ x[0, 0], 7)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("size", SIZES)
def test_vectors_are_added_scaled_and_multiplied(caller: Caller, dtype: DType, size: int) -> None:
    """Vectors with and without gaps are added and scaled in place, and their products and norms equal numpy's."""
    for x, y in (
        (numbers((size,), dtype), numbers((size, 1), dtype)[:, 0]),
        (numbers((2 * size,), dtype)[::2], numbers((3 * size,), dtype)[1::3]),
    ):
        for on_device in (False, True):
            known: dict[str, Any] = {"numbers": {"alpha": -1.5}, "on_device": on_device}
            assert close(caller(Axpy(), {"x": x, "y": y.copy()}, **known)["y"], wide(y) - 1.5 * wide(x))
            assert close(caller(Scal(), {"x": x.copy()}, **known)["x"], -1.5 * wide(x))
        assert close(caller(Dot(), {"x": x, "y": y})["out"], wide(x) @ wide(y), size)
        assert close(caller(Dot(conjugate=True), {"x": x, "y": y})["out"], np.vdot(wide(x), wide(y)), size)
        assert close(caller(Norm(), {"x": x})["out"], np.array([np.linalg.norm(wide(x))]))


def test_a_norm_is_nan_for_nan_and_does_not_overflow(caller: Caller) -> None:
    """The norm of a vector with NaN is NaN, and that of numbers whose squares overflow f32 is finite."""
    assert np.isnan(caller(Norm(), {"x": np.array([1, np.nan, 2], np.float32)})["out"])
    assert np.isposinf(caller(Norm(), {"x": np.array([1, np.inf], np.float32)})["out"])
    assert close(caller(Norm(), {"x": np.full((3, 3), 1e30, np.float32)})["out"] / np.float32(1e30), np.array([3.0]))
    assert caller(Norm(), {"x": np.zeros(5)})["out"] == 0


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", [(1, 1), (7, 1023), (1027, 3), (2, 3, 33, 65)])
def test_matrices_are_added_and_transposed(caller: Caller, dtype: DType, shape: tuple[int, ...]) -> None:
    """A sum of matrices equals numpy's for every transposition, with and without b, and with leading axes."""
    a, b = numbers(shape, dtype), numbers((*shape, 1), dtype)[..., 0]
    for turn_a, turn_b, on_device in product([False, True], repeat=3):
        given = {
            "a": a.swapaxes(-1, -2).copy() if turn_a else a,
            "b": b.swapaxes(-1, -2) if turn_b else b,
        }
        known: dict[str, Any] = {"numbers": {"alpha": 0.5, "beta": -2.0}, "on_device": on_device}
        found = caller(Geam(turn_a, turn_b), given, **known)["out"]
        assert close(found, 0.5 * wide(a) - 2 * wide(b))
        assert close(caller(Geam(turn_a, turn_b), {"a": given["a"]}, **known)["out"], 0.5 * wide(a))


@pytest.mark.parametrize(
    ("call", "shapes", "slot", "words"),
    [
        (Gemv(), {"a": (3, 4), "x": (3,)}, "x", "must have 4 elements"),
        (Gemv(), {"a": (3,), "x": (3,)}, "a", "2 dimensions or more"),
        (Gemv(), {"a": (2, 3, 4), "x": (3, 4)}, "x", r"leading axes must be \[2\]"),
        (Gemv(True), {"a": (3, 4), "x": (3,), "y": (3,)}, "y", r"must be of shape \[4\]"),
        (Dot(), {"x": (3,), "y": (4,)}, "y", r"must be of shape \[3\]"),
        (Geam(), {"a": (3, 4), "b": (4, 3)}, "b", r"must be of shape \[3, 4\]"),
        (Geam(False, True), {"a": (3, 4), "b": (3, 4)}, "b", "once transposed"),
    ],
)
def test_shapes_that_dont_fit_are_refused(call: Any, shapes: dict[str, Any], slot: str, words: str) -> None:
    """Shapes that don't fit are refused with an error that names the operand."""
    with pytest.raises(OperandError, match=words) as refused:
        call.results({name: Layout(f32, shape) for name, shape in shapes.items()})
    assert refused.value.slot == slot


def test_types_and_gaps_that_dont_fit_are_refused() -> None:
    """Vectors are refused if their elements lie at unequal distances or BLAS doesn't support their type."""
    with pytest.raises(OperandError, match="elements must be one of f32, f64, c64, c128, got f16"):
        Norm().results({"x": Layout(f16, (3,))})
    with pytest.raises(OperandError, match="one dimension or no gaps"):
        Scal().results({"x": Layout(f32, (3, 3), (5, 1))})
    with pytest.raises(OperandError, match="must lie at equal distances"):
        Gemv().results({"a": Layout(f32, (4, 7)), "x": Layout(f32, (3, 2, 7), (1000, 50, 1))})


def _triangle(n: int, dtype: DType, *axes: int) -> Array:
    """Return matrices whose triangles are well conditioned."""
    made: Array = numbers((*axes, n, n), dtype) / max(n, 1) + 2 * np.eye(n, dtype=dtype.numpy)
    return made


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("n", "sides"), [(1, 1), (7, 3), (33, 1), (65, 31)])
def test_a_triangle_is_solved(caller: Caller, dtype: DType, n: int, sides: int) -> None:
    """Only the wanted triangle is read, and with ones on the diagonal not even that; columns may lie without gaps."""
    a, b = _triangle(n, dtype), numbers((n, sides), dtype)
    ones = np.eye(n, dtype=dtype.numpy)
    for given in (a, np.asfortranarray(a)):
        for lower in (False, True):
            part = np.tril(a) if lower else np.triu(a)
            other = given + (np.triu if lower else np.tril)(np.full_like(given, np.nan), 1 if lower else -1)
            found = caller(SolveTriangular(lower), {"a": other, "b": b}, numbers={"alpha": 0.5})["x"]
            assert close(part @ found, b / 2, n)
            found = caller(SolveTriangular(lower, unit_diagonal=True), {"a": given, "b": b})["x"]
            assert close((part - np.diag(np.diag(a)) + ones) @ found, b, n)
    found = caller(SolveTriangular(), {"a": a, "b": b[:, 0].copy()})["x"]
    assert found.shape == (n,) and close(np.triu(a) @ found, b[:, 0], n)


def test_leading_axes_repeat_a_triangle(caller: Caller) -> None:
    """Leading axes of the matrix, of the right sides or of both repeat the call."""
    a, b = _triangle(5, f64, 2, 3), numbers((2, 3, 5, 4), f64)
    for given, sides in ((a, b), (a[0, 0], b), (a, b[0, 0])):
        found = caller(SolveTriangular(lower=True), {"a": given, "b": sides})["x"]
        assert found.shape == (2, 3, 5, 4) and close(np.tril(given) @ found, np.broadcast_to(sides, b.shape), 5)
    assert close(
        np.triu(a) @ caller(SolveTriangular(), {"a": a, "b": b[0, 0, :, 0].copy()})["x"][..., None],
        np.broadcast_to(b[0, 0, :, :1], (2, 3, 5, 1)),
        5,
    )


def test_a_triangle_refuses_what_does_not_fit() -> None:
    """A matrix that is not square, and right sides of other rows or with gaps, are refused with their shape."""
    square, gaps = Layout(f32, (4, 4)), Layout(f32, (4, 2), strides=(4, 1))
    for a, b, slot, text in (
        (Layout(f32, (4, 3)), Layout(f32, (4,)), "a", r"must be square, got shape \[4, 3\]"),
        (square, Layout(f32, (3, 2)), "b", r"must have 4 rows, as a has, got shape \[3, 2\]"),
        (square, gaps, "b", "must have no gaps"),
        (square, Layout(f64, (4,)), "b", "elements must be f32"),
    ):
        with pytest.raises(OperandError, match=text) as found:
            SolveTriangular().results({"a": a, "b": b})
        assert found.value.slot == slot
