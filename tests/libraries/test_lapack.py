"""Linear systems, factorisations, eigenvalues and singular values have their defining properties on every device."""

from typing import Any

import numpy as np
import pytest

from tests.libraries.calls import Caller, numbers, wide
from warploom.engine.libraries.call import OperandError
from warploom.engine.libraries.host.lapack import svd as host_svd
from warploom.engine.libraries.lapack import (
    CODE_BITS,
    Cholesky,
    Eigh,
    Inverse,
    LeastSquares,
    Lu,
    Qr,
    Solve,
    Svd,
    info_word,
)
from warploom.engine.types import Array, DType, c64, c128, f16, f32, f64
from warploom.engine.types.layout import Layout

#: Error bounds relative to the largest number, for well-conditioned matrices of the sizes tested here.
ROUNDING = {f32: 2e-5, f64: 4e-14, c64: 3e-5, c128: 5e-14}
SHAPES = [(1, 1), (7, 7), (2, 3, 5, 5), (65, 65), (20, 9, 9)]
TALL = [(1, 1), (7, 3), (65, 33), (2, 3, 9, 4), (257, 100), (1027, 7)]


def regular(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return asymmetric matrices that are far from singular."""
    return (numbers(shape, dtype) + 3 * shape[-1] ** 0.5 * np.eye(shape[-1])).astype(dtype.numpy)


def positive(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return Hermitian positive definite matrices."""
    a = numbers(shape, dtype)
    return ((a @ adjoint(a)) / shape[-1] + np.eye(shape[-1])).astype(dtype.numpy)


def adjoint(a: Array) -> Array:
    """Return the conjugate transposes."""
    return a.swapaxes(-1, -2).conj()


def close(found: Array, expected: Array, dtype: DType) -> bool:
    """Return whether all numbers are as accurate as the type allows."""
    return bool(np.all(np.abs(found - expected) <= ROUNDING[dtype] * max(1, np.abs(expected).max())))


def orthonormal(columns: Array, dtype: DType) -> bool:
    """Return whether the columns are orthonormal."""
    return close(adjoint(wide(columns)) @ wide(columns), np.eye(columns.shape[-1]), dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", SHAPES)
def test_systems_are_solved(caller: Caller, dtype: DType, shape: tuple[int, ...]) -> None:
    """LU and Cholesky solve systems with one or several right sides, for one matrix or many, in any layout."""
    *axes, n, _ = shape
    for call, a in ((Solve(), regular(shape, dtype)), (Solve(positive=True), positive(shape, dtype))):
        for b in (numbers((n,), dtype), numbers((*axes, n, 1), dtype), numbers((*axes, n, 5), dtype)):
            found = caller(call, {"a": a, "b": b})
            assert found["info"] == 0
            assert close(found["x"], np.linalg.solve(wide(a), wide(b)), dtype)
        turned = caller(call, {"a": a.swapaxes(-1, -2), "b": b[..., ::2]})["x"]
        assert close(turned, np.linalg.solve(wide(a).swapaxes(-1, -2), wide(b[..., ::2])), dtype)
    alone = caller(Solve(), {"a": a.reshape(-1, n, n)[0], "b": numbers((3, 2, n, 2), dtype)})["x"]
    assert close(alone, np.linalg.solve(wide(a.reshape(-1, n, n)[0]), wide(numbers((3, 2, n, 2), dtype))), dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", SHAPES)
def test_matrices_are_inverted_and_factored(caller: Caller, dtype: DType, shape: tuple[int, ...]) -> None:
    """Inverses, Cholesky factors and eigenvectors multiply back to the matrix."""
    a, h = regular(shape, dtype), positive(shape, dtype)
    assert close(caller(Inverse(), {"a": a})["out"], np.linalg.inv(wide(a)), dtype)
    lower_only = np.tril(h) + np.triu(np.full_like(h, np.nan), 1)  # the upper triangle must not be read
    factor = caller(Cholesky(), {"a": lower_only})["out"]
    assert close(factor, np.linalg.cholesky(wide(h)), dtype) and not np.triu(factor, 1).any()
    s = h - 2 * np.eye(shape[-1], dtype=h.dtype)
    found = caller(Eigh(), {"a": s})
    values, vectors = found["values"], found["vectors"]
    assert found["info"] == 0 and close(values, np.linalg.eigvalsh(wide(s)), dtype)
    assert orthonormal(vectors, dtype)
    assert close(wide(s) @ wide(vectors), wide(vectors) * values[..., None, :], dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", TALL)
def test_any_matrix_has_factors(caller: Caller, dtype: DType, shape: tuple[int, ...]) -> None:
    """LU factors, QR factors and singular values multiply back to tall and wide matrices."""
    tall = numbers(shape, dtype)
    for a in (tall, tall.swapaxes(-1, -2)):
        found = caller(Qr(), {"a": a})
        assert close(wide(found["q"]) @ wide(found["r"]), a, dtype)
        assert orthonormal(found["q"], dtype) and not np.tril(found["r"], -1).any()
        found = caller(Lu(), {"a": a})
        lower, upper, order = found["lower"], found["upper"], found["order"].astype(np.int64)
        assert close(wide(lower) @ wide(upper), np.take_along_axis(a, order[..., None], -2), dtype)
        assert np.abs(lower).max() < 1.5 and not np.triu(lower, 1).any() and not np.tril(upper, -1).any()
        assert (np.diagonal(lower, axis1=-2, axis2=-1) == 1).all()
        found = caller(Svd(), {"a": a})
        u, s, vh = found["u"], found["s"], found["vh"]
        assert found["info"] == 0 and close(s, np.linalg.svd(wide(a), compute_uv=False), dtype)
        assert orthonormal(u, dtype) and orthonormal(adjoint(vh), dtype)
        assert close(wide(u) * s[..., None, :] @ wide(vh), a, dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", TALL)
def test_least_squares_are_numpys(caller: Caller, dtype: DType, shape: tuple[int, ...]) -> None:
    """Least-squares solutions equal numpy's for one right side and for several."""
    a = numbers(shape, dtype)
    for b in (numbers(shape[-2:-1], dtype), numbers((*shape[:-1], 3), dtype)):
        found = caller(LeastSquares(), {"a": a, "b": b})
        assert found["info"] == 0
        sides = b[:, None] if b.ndim == 1 else b
        expected = np.linalg.pinv(wide(a)) @ wide(sides)
        assert close(found["x"], expected[..., 0] if b.ndim == 1 else expected, dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
def test_what_fails_is_told(caller: Caller, dtype: DType) -> None:
    """The info word has LAPACK's code for the first matrix that fails, and the number of that matrix."""
    eye = np.eye(4, dtype=dtype.numpy)
    flat, indefinite = eye.copy(), eye.copy()
    flat[:, 2] = 2 * flat[:, 1]
    indefinite[3, 3] = -1
    b = numbers((3, 4, 2), dtype)
    third = 2 << CODE_BITS
    for call in (Solve(), LeastSquares()):
        assert caller(call, {"a": np.stack([eye, eye, flat]), "b": b})["info"] == third | 3
        assert caller(call, {"a": flat, "b": b[0]})["info"] == 3
    assert caller(Inverse(), {"a": np.stack([eye, flat, flat])})["info"] == 1 << CODE_BITS | 3
    assert caller(Lu(), {"a": flat})["info"] == 3
    assert caller(Cholesky(), {"a": np.stack([eye, eye, indefinite])})["info"] == third | 4
    assert caller(Solve(positive=True), {"a": indefinite, "b": b[0]})["info"] == 4


@pytest.mark.parametrize("dtype", ROUNDING)
def test_singular_values_may_be_zero(caller: Caller, dtype: DType) -> None:
    """A matrix of low rank has orthonormal singular vectors, and its factors multiply back to it."""
    a = (numbers((9, 3), dtype) @ numbers((3, 7), dtype)).astype(dtype.numpy)
    found = caller(Svd(), {"a": a})
    assert orthonormal(found["u"], dtype) and orthonormal(adjoint(found["vh"]), dtype)
    assert close(wide(found["u"]) * found["s"] @ wide(found["vh"]), a, dtype)
    assert np.abs(found["s"][3:]).max() <= ROUNDING[dtype] * found["s"][0]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_matrix_with_no_singular_values_gives_nan_on_the_host(value: float) -> None:
    """The host returns NaN for matrices with infinities, on some of which LAPACK's routine never ends."""
    a = np.array(
        [[0, 0, 1, 1, 1], [0, 0, 1, -1, 0], [-1, -1, -1, 0, -1], [0, 0, -1, -1, 0], [1, 0, 0, 0, -1]], np.float32
    )
    a[0, 0] = a[3, 0] = value
    a[4, 3] = np.finfo(np.float32).max
    square = {name: np.zeros((5, 5), np.float32) for name in ("u", "vh")}
    arrays = {"a": a, **square, "s": np.zeros(5, np.float32), "info": np.zeros(1, np.uint32)}
    host_svd(Svd(), arrays, {})
    assert np.isnan(arrays["s"]).all() and np.isnan(arrays["u"]).all()


def test_an_info_word_holds_a_code_and_a_matrix() -> None:
    """An info word packs a code and a matrix number into 32 bits, and large numbers saturate."""
    assert info_word([0, 0]) == info_word([]) == 0
    assert info_word([0, 5, 7]) == 1 << CODE_BITS | 5
    assert info_word([*[0] * 10_000, 10**7]) == 2**32 - 1
    text, _ = Solve().problem(info_word([0, 0, 4]))
    assert text == "matrix must be invertible, got column 3 as a combination of those before it, in matrix 2"


@pytest.mark.parametrize(
    ("call", "shapes", "slot", "words"),
    [
        (Solve(), {"a": (3, 4), "b": (3,)}, "a", "must be square"),
        (Solve(), {"a": (3, 3), "b": (4,)}, "b", "must have 3 rows"),
        (Solve(), {"a": (2, 3, 3), "b": (4, 3, 1)}, "b", r"leading axes must be \[2\]"),
        (LeastSquares(), {"a": (3, 4), "b": (3,)}, "a", "as many rows as columns"),
        (Inverse(), {"a": (3,)}, "a", "2 dimensions or more"),
        (Eigh(), {"a": (3, 4)}, "a", "must be square"),
    ],
)
def test_shapes_that_dont_fit_are_refused(call: Any, shapes: dict[str, Any], slot: str, words: str) -> None:
    """Shapes that don't fit are refused with an error that names the operand."""
    with pytest.raises(OperandError, match=words) as refused:
        call.results({name: Layout(f32, shape) for name, shape in shapes.items()})
    assert refused.value.slot == slot


def test_types_and_gaps_that_dont_fit_are_refused() -> None:
    """f16 is refused, and so are leading axes at different distances."""
    with pytest.raises(OperandError, match="elements must be one of f32, f64, c64, c128, got f16"):
        Qr().results({"a": Layout(f16, (3, 3))})
    with pytest.raises(OperandError, match="must lie at equal distances"):
        Svd().results({"a": Layout(f32, (3, 2, 5, 7), (1000, 50, 7, 1))})


def degenerate(m: int, n: int, dtype: DType) -> dict[str, Array]:
    """Return matrices with equal or vanishing singular values, and with columns of very different sizes."""
    a = numbers((m, n), dtype)
    made = {
        "equal elements": np.full((m, n), 0.8084371131140085),
        "ones": np.ones((m, n)),
        "zeros": np.zeros((m, n)),
        "identity": np.eye(m, n),
        "rank one": a[:, :1] @ a[:1],
        "equal columns": np.repeat(a[:, :1], n, 1),
        "half of the rank": a[:, : n // 2 + 1] @ a[: n // 2 + 1],
        "pairs": np.kron(np.eye(m), np.ones((2, 2)))[:m, :n],
        "decades": a * 10.0 ** -(np.arange(n) % 30),
        "huge": a * 1e30,
        "tiny": a * 1e-30,
    }
    return {name: matrix.astype(dtype.numpy) for name, matrix in made.items()}


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (16, 16), (17, 17), (40, 33), (65, 64)])
def test_degenerate_matrices_have_factors(caller: Caller, dtype: DType, shape: tuple[int, int]) -> None:
    """For equal and vanishing values, factors are orthonormal and multiply back to the matrix."""
    for name, tall in degenerate(*shape, dtype).items():
        scale = np.abs(tall).max() or 1
        for a in (tall, np.ascontiguousarray(tall.T)):
            found = caller(Svd(), {"a": np.stack([a, a])})
            u, s, vh = found["u"], found["s"], found["vh"]
            assert found["info"] == 0 and orthonormal(u, dtype) and orthonormal(adjoint(vh), dtype), name
            assert close(wide(u) * (s / scale)[..., None, :] @ wide(vh), np.stack([a, a]) / scale, dtype), name
        if name in ("huge", "tiny") or shape[0] != shape[1]:
            continue
        h = tall + adjoint(tall)
        found = caller(Eigh(), {"a": np.stack([h, h])})
        assert found["info"] == 0 and orthonormal(found["vectors"], dtype), name
        vectors, values = wide(found["vectors"]), found["values"][..., None, :]
        assert np.abs(wide(h) @ vectors - vectors * values).max() <= 60 * ROUNDING[dtype] * scale, name
