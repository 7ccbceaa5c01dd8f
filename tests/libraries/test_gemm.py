"""Matrix products against numpy in f64, on every device."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tests.libraries.calls import Caller
from warploom.engine.libraries.blas import Gemm
from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.fft import Fft
from warploom.engine.libraries.images import Morphology
from warploom.engine.libraries.matrices import matrix_of
from warploom.engine.types import Array, DType, bf16, c64, c128, f16, f32, f64, s32
from warploom.engine.types.layout import Layout

#: Relative error bound of one product of numbers near 1. A sum of k products may have sqrt(k) times that error.
ROUNDING = {f16: 2e-3, bf16: 2e-2, f32: 5e-7, f64: 2e-15, c64: 1e-6, c128: 4e-15}


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return random numbers of a type; bf16 as f32."""
    array = rng.standard_normal(shape)
    if dtype.kind == "complex":
        array = array + 1j * rng.standard_normal(shape)
    return array.astype(np.float32 if dtype is bf16 else dtype.numpy)


def close(found: Array, expected: Array, dtype: DType, k: int, inexact: float = 0.0) -> bool:
    """Return whether a product is as accurate as its type allows; `inexact` is the error of the operations after it."""
    allowed = ROUNDING[dtype] * (k**0.5 + np.abs(expected)) + inexact * (1 + np.abs(expected))
    return bool(np.all(np.abs(found - expected) <= allowed))


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (9, 1, 1027), (1, 70, 150), (1, 7, 5), (33, 65, 17), (129, 3, 9)])
def test_a_product_is_numpys(caller: Caller, dtype: DType, m: int, n: int, k: int) -> None:
    """A product plus c equals numpy's for every transposition and for odd sizes."""
    rng = np.random.default_rng(m * n * k)
    for transposes in product([False, True], repeat=2):
        a, b = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype)
        c = numbers(rng, (m, n), dtype)
        given = {"a": a.T.copy() if transposes[0] else a, "b": b.T.copy() if transposes[1] else b, "c": c}
        found = caller(Gemm(*transposes), given, dtype=dtype, numbers={"alpha": 0.5, "beta": -2.0})["out"]
        wide = np.complex128 if dtype.kind == "complex" else np.float64
        rounded = {slot: _rounded(array, dtype).astype(wide) for slot, array in (("a", a), ("b", b), ("c", c))}
        assert close(found, 0.5 * rounded["a"] @ rounded["b"] - 2 * rounded["c"], dtype, k)


def _rounded(array: Array, dtype: DType) -> Array:
    """Return the array as a device receives it: bf16 is rounded on upload."""
    from warploom.engine.types import from_bf16, to_bf16

    return from_bf16(to_bf16(array)) if dtype is bf16 else array


@pytest.mark.parametrize("on_device", [False, True])
def test_numbers_may_lie_in_device_memory(caller: Caller, on_device: bool) -> None:
    """Alpha and beta may lie in device memory. Beta has no effect without c, and a beta of 0 ignores c's contents."""
    rng = np.random.default_rng(3)
    a, b = numbers(rng, (5, 7), f32), numbers(rng, (7, 3), f32)
    c = np.full((5, 3), np.nan, np.float32)
    given = {"alpha": 3.0, "beta": 7.0}
    alone = caller(Gemm(), {"a": a, "b": b}, numbers=given, on_device=on_device)["out"]
    assert close(alone, 3.0 * a @ b, f32, 7)
    hidden = caller(Gemm(), {"a": a, "b": b, "c": c}, numbers={**given, "beta": 0.0}, on_device=on_device)["out"]
    assert np.array_equal(alone, hidden)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (7, 1023, 5), (33, 65, 17)])
def test_a_bias_and_an_activation_follow_the_product(
    caller: Caller, dtype: DType, activation: str, m: int, n: int, k: int
) -> None:
    """The bias of each column and the activation apply after c, together or alone, also for leading axes."""
    rng = np.random.default_rng(m + n + k)
    given = {"a": (2, m, k), "b": (k, n), "c": (2, m, n), "bias": (n,)}
    arrays = {slot: numbers(rng, shape, dtype) for slot, shape in given.items()}
    a, b, c, bias = (_rounded(array, dtype).astype(np.float64) for array in arrays.values())
    call = Gemm(activation=activation)
    known = {"alpha": 0.5, "beta": -2.0}
    inexact = {f32: 1e-5, f64: 1e-8}.get(dtype, 0.0) if activation == "gelu" else 0.0  # cuBLASLt approximates tanh
    for on_device in (False, True):
        found = caller(call, arrays, dtype=dtype, numbers=known, on_device=on_device)["out"]
        assert close(found, _activated(0.5 * a @ b - 2 * c + bias, activation), dtype, k, inexact)
        less = {slot: array for slot, array in arrays.items() if slot != "c"}
        found = caller(call, less, dtype=dtype, numbers=known, on_device=on_device)["out"]
        assert close(found, _activated(0.5 * a @ b + bias, activation), dtype, k, inexact)


def _activated(x: Array, activation: str) -> Array:
    if activation == "relu":
        return np.maximum(x, 0)
    return x if activation == "none" else 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


def test_leading_axes_repeat_the_product(caller: Caller) -> None:
    """Leading axes of all operands or of one repeat the product, also for views of larger arrays."""
    rng = np.random.default_rng(4)
    many, one = numbers(rng, (3, 2, 5, 7), f32), numbers(rng, (7, 4), f32)
    others = numbers(rng, (3, 2, 7, 4), f32)
    assert close(caller(Gemm(), {"a": many, "b": others})["out"], many @ others, f32, 7)
    assert close(caller(Gemm(), {"a": many, "b": one})["out"], many @ one, f32, 7)
    assert close(caller(Gemm(), {"a": one.T, "b": others})["out"], one.T @ others, f32, 7)
    cut = numbers(rng, (6, 9, 14), f32)[::2, 1:6, :7]
    assert close(caller(Gemm(), {"a": cut, "b": one})["out"], cut @ one, f32, 7)
    turned = cut.swapaxes(1, 2)
    assert close(caller(Gemm(transpose_a=True), {"a": turned, "b": one})["out"], cut @ one, f32, 7)


def test_nan_and_infinity_pass_through(caller: Caller) -> None:
    """A row with a NaN gives NaN in that row alone, and infinity stays infinite."""
    a, b = np.ones((3, 5), np.float32), np.ones((5, 2), np.float32)
    a[0, 2], a[1, 3] = np.nan, np.inf
    found = caller(Gemm(), {"a": a, "b": b})["out"]
    assert np.isnan(found[0]).all() and np.isposinf(found[1]).all() and (found[2] == 5).all()


@pytest.mark.parametrize(
    ("shapes", "slot", "words"),
    [
        ({"a": (3, 4), "b": (5, 2)}, "b", "must have 4 rows"),
        ({"a": (3, 4), "b": (4,)}, "b", "2 dimensions or more"),
        ({"a": (2, 3, 4), "b": (3, 4, 5)}, "b", r"leading axes must be \[2\]"),
        ({"a": (3, 4), "b": (4, 2), "c": (2, 3)}, "c", r"must be of shape \[3, 2\]"),
        ({"a": (3, 4), "b": (4, 2), "bias": (3,)}, "bias", r"must be of shape \[2\] without gaps"),
    ],
)
def test_shapes_that_dont_fit_are_refused(shapes: dict[str, tuple[int, ...]], slot: str, words: str) -> None:
    """Shapes that don't fit are refused with an error that names the operand."""
    with pytest.raises(OperandError, match=words) as refused:
        Gemm().results({name: Layout(f32, shape) for name, shape in shapes.items()})
    assert refused.value.slot == slot


def test_types_and_strides_that_dont_fit_are_refused() -> None:
    """Operands are refused if BLAS doesn't support their types, or if neither rows nor columns are without gaps."""
    square = Layout(f32, (3, 3))
    with pytest.raises(OperandError, match="elements must be one of f16, bf16, f32, f64, c64, c128, got s32"):
        Gemm().results({"a": Layout(s32, (3, 3)), "b": square})
    twisted = Layout(c64, (3, 3))
    with pytest.raises(OperandError, match="elements must be real for a bias or an activation, got c64"):
        Gemm(activation="relu").results({"a": twisted, "b": twisted})
    with pytest.raises(OperandError, match="elements must be f32, as in a, got f64"):
        Gemm().results({"a": square, "b": Layout(f64, (3, 3))})
    with pytest.raises(OperandError, match="rows or its columns without gaps"):
        Gemm().results({"a": Layout(f32, (3, 3), (18, 2)), "b": square})
    with pytest.raises(ValueError, match="must lie at equal distances"):
        matrix_of(Layout(f32, (3, 2, 5, 7), (1000, 50, 7, 1)))
    with pytest.raises(ValueError, match="must not overlap"):
        matrix_of(Layout(f32, (3, 5), (2, 1)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gemm(activation="tanh"), "gemm: activation must be one of none, relu, gelu, got 'tanh'"),
        (lambda: Fft(norm="half"), "fft: norm must be one of backward, ortho, forward, got 'half'"),
        (lambda: Fft(axes=4), "fft: axes must be 1, 2 or 3, got 4"),
        (lambda: Morphology("grow"), "morphology: operation must be one of erode, dilate, open, close, got 'grow'"),
    ],
)
def test_an_option_that_there_is_not_is_refused_at_once(make: Callable[[], LibraryCall], words: str) -> None:
    """An unknown option raises an error when the call is made, not in a frame."""
    with pytest.raises(ValueError, match=words):
        make()
