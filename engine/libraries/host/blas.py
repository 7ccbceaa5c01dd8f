"""BLAS by numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from warploom.engine.libraries.blas import Axpy, Copy, Dot, Geam, Gemm, Gemv, Norm, Scal, SolveTriangular
from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.types import Array

#: The matrices that are multiplied by a vector on one thread: from the elements from which OpenBLAS uses several, up to
#: those that take longer than their threads spin.
_ON_ONE_THREAD = 9216, 1 << 24
#: The fewest rows of a matrix that are worth a call.
_SHORTEST = 8


def gemm(call: Gemm, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """out = activation(alpha a b + beta c + bias); f16 is multiplied and summed as f32."""
    out = arrays["out"]
    wide = np.float32 if out.dtype == np.float16 else out.dtype
    a, b = (arrays[slot].astype(wide, copy=False) for slot in ("a", "b"))
    product = _product(_turned(a, call.transpose_a), _turned(b, call.transpose_b))
    if numbers["alpha"] != 1:
        product *= np.asarray(numbers["alpha"], wide)
    _add_scaled(product, arrays.get("c"), numbers["beta"])
    if "bias" in arrays:
        product += arrays["bias"]
    out[...] = _ACTIVATIONS[call.activation](product)


def _product(a: Array, b: Array) -> Array:
    """Return the product of matrices, or of stacks of them.

    A matrix is multiplied by a vector on one thread, unless it is small or large: OpenBLAS's threads would spin for
    20 ms afterwards, which slows down the kernels that follow.
    """
    rows, inner, columns = int(a.shape[-2]), int(b.shape[-2]), int(b.shape[-1])
    fewest, most = _ON_ONE_THREAD
    is_other = not fewest <= inner * max(rows, columns) < most
    piece = (fewest - 1) // columns
    product: Array
    if is_other or min(rows, columns) > 1 or a.dtype.kind == "c":
        product = np.matmul(a, b)
    elif rows > 1:
        product = _product(b.mT, a.mT).mT
    elif b.strides[-2] < b.strides[-1]:
        product = np.vecdot(b.mT, a)[..., None, :]
    elif piece < _SHORTEST:
        product = np.matmul(a, b)
    else:  # the sum of the products of pieces for which OpenBLAS uses one thread
        count, end = inner // piece, inner - inner % piece
        left = a[..., :end].reshape(*a.shape[:-1], count, piece).swapaxes(-3, -2)
        right = b[..., :end, :].reshape(*b.shape[:-2], count, piece, columns)
        product = np.matmul(left, right).sum(-3) + np.matmul(a[..., end:], b[..., end:, :])
    return product


def _relu(x: Array) -> Array:
    return np.maximum(x, 0)


def _gelu(x: Array) -> Array:
    """Return x times the share of a normal distribution below x, by the approximation with tanh.

    Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    half = x.dtype.type(0.5)
    inner = x.dtype.type((2 / np.pi) ** 0.5) * (x + x.dtype.type(0.044715) * x**3)
    gelu: Array = half * x * (1 + np.tanh(inner))
    return gelu


_ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {"none": lambda x: x, "relu": _relu, "gelu": _gelu}


def gemv(call: Gemv, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """out = alpha a x + beta y."""
    product = _product(_turned(arrays["a"], call.transpose), arrays["x"][..., None])[..., 0]
    product *= np.asarray(numbers["alpha"], product.dtype)
    _add_scaled(product, arrays.get("y"), numbers["beta"])
    arrays["out"][...] = product


def copy(_call: Copy, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """y = x."""
    arrays["y"][...] = arrays["x"]


def axpy(_call: Axpy, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """y += alpha x."""
    x, y = arrays["x"], arrays["y"]
    y += np.asarray(numbers["alpha"], x.dtype) * x


def scal(_call: Scal, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """x *= alpha."""
    x = arrays["x"]
    x *= np.asarray(numbers["alpha"], x.dtype)


def dot(call: Dot, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """out = the sum of x y."""
    x, y = arrays["x"].ravel(), arrays["y"].ravel()
    arrays["out"][0] = np.vdot(x, y) if call.conjugate else np.dot(x, y)


def norm(_call: Norm, arrays: NamedArrays, _numbers: NamedNumbers) -> None:
    """out = the length of x, as long as it can be represented: squares are summed as shares of the largest element."""
    x = np.abs(arrays["x"])
    largest = x.max()
    scale = largest if 0 < largest < np.inf else x.dtype.type(1)
    arrays["out"][0] = scale * np.linalg.norm((x / scale).ravel())


def geam(call: Geam, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """out = alpha a + beta b."""
    out = arrays["out"]
    made = np.asarray(numbers["alpha"], out.dtype) * _turned(arrays["a"], call.transpose_a)
    if "b" in arrays:
        _add_scaled(made, _turned(arrays["b"], call.transpose_b), numbers["beta"])
    out[...] = made


def _turned(matrix: Array, is_transposed: bool) -> Array:
    return matrix.swapaxes(-1, -2) if is_transposed else matrix


def _add_scaled(total: Array, array: Array | None, factor: Any) -> None:
    """Add an array times a factor; as in BLAS, a factor of 0 leaves even NaN out."""
    if array is not None and factor != 0:
        total += np.asarray(factor, total.dtype) * array.astype(total.dtype, copy=False)


def solve_triangular(call: SolveTriangular, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """Substitute, one matrix at a time."""
    is_vector = arrays["b"].ndim == 1
    b, x = (arrays[slot][..., None] if is_vector else arrays[slot] for slot in ("b", "x"))
    a, b, x = (array.reshape(-1, *array.shape[-2:]) for array in (arrays["a"], b, x))
    (routine,) = get_blas_funcs(("trsm",), (x,))
    for index, target in enumerate(x):
        given = a[index % len(a)], b[index % len(b)]
        target[...] = routine(numbers["alpha"], *given, lower=call.lower, diag=call.unit_diagonal)


FUNCTIONS = {
    Gemm: gemm,
    Gemv: gemv,
    SolveTriangular: solve_triangular,
    Copy: copy,
    Axpy: axpy,
    Scal: scal,
    Dot: dot,
    Norm: norm,
    Geam: geam,
}
