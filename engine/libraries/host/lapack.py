"""LAPACK by scipy, one matrix at a time, with LAPACK's own info codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.libraries.lapack import Cholesky, Eigh, Inverse, LeastSquares, Lu, Qr, Solve, Svd, info_word
from warploom.engine.types import Array


def _routine(name: str, matrix: Array) -> Callable[..., Any]:
    """Return LAPACK's routine for the matrix's elements."""
    (routine,) = get_lapack_funcs((name,), (matrix,))
    found: Callable[..., Any] = routine
    return found


def _columns(array: Array, *, vectors: bool = False) -> Array:
    """Return an array as a list of matrices, or of vectors as single columns; changes reach the array unless it is
    copied.
    """
    array = array[..., None] if vectors else array
    return array.reshape(-1, *array.shape[-2:])


def _systems(arrays: NamedArrays) -> Iterator[tuple[Array, Array, Array]]:
    """Yield a, b and x of each system; a or b may be the same one each time."""
    vectors = arrays["b"].ndim == 1
    x = _columns(arrays["x"], vectors=vectors)
    a, b = _columns(arrays["a"]), _columns(arrays["b"], vectors=vectors)
    for index in range(len(x)):
        yield a[index % len(a)], b[index % len(b)], x[index]


def solve(call: Solve, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Factor and substitute; a matrix without pivots gives infinities."""
    codes = []
    for a, b, x in _systems(arrays):
        if call.positive:
            factor, code = _routine("potrf", a)(a, lower=1)
            x[...] = _routine("potrs", a)(factor, b, lower=1)[0]
        else:
            factor, pivots, code = _routine("getrf", a)(a)
            x[...] = _routine("getrs", a)(factor, pivots, b)[0]
        codes.append(code)
    arrays["info"][0] = info_word(codes)


def least_squares(_call: LeastSquares, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Project b on the columns, which are made orthonormal first."""
    codes = []
    for a, b, x in _systems(arrays):
        q, r = np.linalg.qr(a)
        solution, code = _routine("trtrs", a)(r, q.conj().T @ b)
        x[...] = solution if not code else np.nan
        across = np.abs(np.diagonal(r))
        dependent = across <= np.finfo(a.dtype).eps * len(a) * across.max()
        codes.append(int(np.argmax(dependent)) + 1 if dependent.any() else 0)
    arrays["info"][0] = info_word(codes)


def inverse(_call: Inverse, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Solve for the columns of the identity."""
    codes = []
    for a, out in zip(_columns(arrays["a"]), _columns(arrays["out"]), strict=True):
        factor, pivots, code = _routine("getrf", a)(a)
        out[...] = _routine("getrs", a)(factor, pivots, np.eye(len(a), dtype=a.dtype))[0]
        codes.append(code)
    arrays["info"][0] = info_word(codes)


def lu(_call: Lu, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Factor, and swap the rows' numbers as the rows were."""
    codes = []
    order = arrays["order"].reshape(-1, arrays["order"].shape[-1])
    outputs = _columns(arrays["lower"]), _columns(arrays["upper"]), order
    for a, lower, upper, rows in zip(_columns(arrays["a"]), *outputs, strict=True):
        factor, pivots, code = _routine("getrf", a)(a)
        k = lower.shape[1]
        lower[...] = np.tril(factor[:, :k], -1) + np.eye(*lower.shape, dtype=a.dtype)
        upper[...] = np.triu(factor[:k])
        rows[...] = np.arange(len(a))
        for row, pivot in enumerate(pivots):
            rows[[row, pivot]] = rows[[pivot, row]]
        codes.append(code)
    arrays["info"][0] = info_word(codes)


def cholesky(_call: Cholesky, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Factor the lower half."""
    codes = []
    for a, out in zip(_columns(arrays["a"]), _columns(arrays["out"]), strict=True):
        factor, code = _routine("potrf", a)(a, lower=1)
        out[...] = np.tril(factor)
        codes.append(code)
    arrays["info"][0] = info_word(codes)


def qr(_call: Qr, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Factor all matrices at once."""
    arrays["q"][...], arrays["r"][...] = np.linalg.qr(arrays["a"])


def eigh(_call: Eigh, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Decompose by divide and conquer, reading the lower half."""
    codes = []
    values = arrays["values"].reshape(-1, arrays["values"].shape[-1])
    for a, of_a, vectors in zip(_columns(arrays["a"]), values, _columns(arrays["vectors"]), strict=True):
        of_a[...], vectors[...], code = _routine("heevd" if a.dtype.kind == "c" else "syevd", a)(a, lower=1)
        codes.append(code)
    arrays["info"][0] = info_word(codes)


def svd(_call: Svd, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """Decompose by divide and conquer; NaN and infinities give NaN, since LAPACK refuses NaN and does not end with
    infinities.
    """
    codes = []
    s = arrays["s"].reshape(-1, arrays["s"].shape[-1])
    for a, u, of_a, vh in zip(_columns(arrays["a"]), _columns(arrays["u"]), s, _columns(arrays["vh"]), strict=True):
        given = a if np.isfinite(a).all() else np.full_like(a, np.nan)
        *found, code = _routine("gesdd", a)(given, full_matrices=0)
        for target, array in zip((u, of_a, vh), found, strict=True):
            target[...] = array if code >= 0 else np.nan
        codes.append(code)
    arrays["info"][0] = info_word(codes)


FUNCTIONS = {
    Solve: solve,
    LeastSquares: least_squares,
    Inverse: inverse,
    Lu: lu,
    Cholesky: cholesky,
    Qr: qr,
    Eigh: eigh,
    Svd: svd,
}
