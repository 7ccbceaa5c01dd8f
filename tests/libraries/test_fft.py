"""Fourier transforms against numpy in f64, on every device."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.libraries.calls import SIZES, Caller, layout_of
from warploom.engine.libraries.call import OperandError
from warploom.engine.libraries.fft import NORMS, Fft, InverseRealFft, RealFft, embedding_of
from warploom.engine.types import Array, DType, c64, c128, f32, f64, s32
from warploom.engine.types.layout import Layout, contiguous_strides

#: Relative RMS error bound; it grows with the logarithm of the size.
ROUNDING = {c64: 2e-7, c128: 4e-16}
COMPLEX_OF = {f32: c64, f64: c128}
SHAPES = [((size,), 1) for size in SIZES] + [((3, 1027), 1), ((7, 33), 2), ((5, 1, 9), 2), ((2, 7, 5, 9), 3)]


def complex_numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Return random complex numbers of a type."""
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype.numpy)


def close(found: Array, expected: Array, dtype: DType) -> bool:
    """Return whether a transform is as accurate as its type allows."""
    allowed = ROUNDING[dtype] * (1 + np.log2(max(found.shape)))
    return found.dtype in (dtype.numpy, dtype.numpy.type(0).real.dtype) and bool(
        np.linalg.norm(found - expected) <= allowed * np.linalg.norm(expected)
    )


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_complex_transforms_are_numpys(caller: Caller, dtype: DType, shape: tuple[int, ...], axes: int) -> None:
    """Forward and inverse transforms equal numpy's with each norm, for odd sizes and size one."""
    x = complex_numbers(np.random.default_rng(len(shape)), shape, dtype)
    for norm in NORMS:
        last = tuple(range(-axes, 0))
        there, back = Fft(axes, norm), Fft(axes, norm, inverse=True)
        assert close(caller(there, {"x": x})["out"], np.fft.fftn(x.astype(complex), axes=last, norm=norm), dtype)
        assert close(caller(back, {"x": x})["out"], np.fft.ifftn(x.astype(complex), axes=last, norm=norm), dtype)


@pytest.mark.parametrize("dtype", COMPLEX_OF)
@pytest.mark.parametrize(("shape", "axes"), [*SHAPES, ((3, 1024), 1), ((6, 10), 2)])
def test_real_transforms_are_numpys(caller: Caller, dtype: DType, shape: tuple[int, ...], axes: int) -> None:
    """Real transforms and their inverses equal numpy's, for odd and even lengths and each norm.

    Their input stays unchanged.
    """
    x = np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype.numpy)
    for norm in NORMS:
        last = tuple(range(-axes, 0))
        half = np.fft.rfftn(x.astype(float), axes=last, norm=norm)
        assert close(caller(RealFft(axes, norm), {"x": x})["out"], half, COMPLEX_OF[dtype])
        rounded = half.astype(COMPLEX_OF[dtype].numpy)
        back = InverseRealFft(axes, norm, odd=bool(shape[-1] % 2))
        for _ in range(2):  # twice, as `caller` launches each graph twice
            assert close(caller(back, {"x": rounded})["out"], x, COMPLEX_OF[dtype])


@pytest.mark.parametrize("dtype", COMPLEX_OF)
@pytest.mark.parametrize("is_odd", [True, False])
@pytest.mark.parametrize(
    ("shape", "axes"), [*SHAPES, ((4097,), 1), ((3, 513), 1), ((8, 2), 2), ((33, 1), 2), ((2, 4, 6, 5), 3)]
)
def test_any_half_spectrum_gives_numpys_numbers(
    caller: Caller, dtype: DType, shape: tuple[int, ...], axes: int, is_odd: bool
) -> None:
    """Imaginary parts that no real signal has are ignored, and so are columns that contradict their mirror images."""
    if shape[-1] == 1 and not is_odd:
        return
    x = complex_numbers(np.random.default_rng(axes), shape, COMPLEX_OF[dtype])
    sizes = *shape[-axes:-1], 2 * (shape[-1] - 1) + is_odd
    expected = np.fft.irfftn(x.astype(complex), sizes, tuple(range(-axes, 0)))
    assert close(caller(InverseRealFft(axes, odd=is_odd), {"x": x})["out"], expected, COMPLEX_OF[dtype])


def test_views_are_transformed_where_they_lie(caller: Caller) -> None:
    """Strided signals, columns, rows of a wider array, and a plane of a stack are transformed without a copy."""
    rng = np.random.default_rng(5)
    whole = complex_numbers(rng, (6, 10, 14), c64)
    views = [(whole[0, 0, ::2], 1), (whole[1, :, 3], 1), (whole[:, 2, :9], 1), (whole[1::2, :7, :5], 2)]
    views += [(whole[2, 1:8, 4:11:2], 2), (whole[:, :, 5], 1), (whole[:, 3:4, ::7], 3), (whole[::2, :, 4:5], 2)]
    for view, axes in views:
        last = tuple(range(-axes, 0))
        assert close(caller(Fft(axes), {"x": view})["out"], np.fft.fftn(view, axes=last), c64)
        assert close(caller(RealFft(axes), {"x": view.real})["out"], np.fft.rfftn(view.real, axes=last), c64)
        expected = np.fft.irfftn(view, (*view.shape[-axes:-1], 2 * view.shape[-1] - 1), last)
        assert close(caller(InverseRealFft(axes, odd=True), {"x": view})["out"], expected, c64)


def test_a_nan_reaches_its_own_signal_alone(caller: Caller) -> None:
    """A NaN or an infinity makes its own signal non-finite and no other."""
    x = np.ones((3, 7), np.complex64)
    x[0, 2], x[1, 3] = np.nan, np.inf
    found = caller(Fft(), {"x": x})["out"]
    assert not np.isfinite(found[:2]).any() and np.allclose(found[2], [7, 0, 0, 0, 0, 0, 0], atol=1e-6)


@settings(max_examples=many(60))
@given(st.data())
def test_an_embedding_gives_the_place_of_each_element(data: st.DataObject) -> None:
    """cuFFT's formula for embedded layouts finds every element of a view where the view's strides put it."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axes = data.draw(st.integers(1, min(3, len(shape))))
    extra = [data.draw(st.integers(0, 2)) for _ in shape]
    strides = contiguous_strides(tuple(size + more for size, more in zip(shape, extra, strict=True)))
    try:
        found = embedding_of(Layout(c64, shape, strides), axes)
    except ValueError:  # rows and planes of the stack lie at different distances
        assert len(shape) > axes + 1
        return
    assert found.sizes == shape[-axes:] and found.count == np.prod(shape[:-axes], dtype=int)
    expected = sum(places * stride for places, stride in zip(np.indices(shape), strides, strict=True))
    signals = np.reshape(expected, (found.count, *shape[-axes:]))
    for index in np.ndindex(signals.shape):
        inside = index[1]
        for place, wide in zip(index[2:], found.embed[1:], strict=True):
            inside = inside * wide + place
        assert index[0] * found.distance + inside * found.stride == signals[index]


@pytest.mark.parametrize(
    ("call", "layout", "words"),
    [
        (Fft(), Layout(f32, (8,)), "elements must be c64 or c128, got f32"),
        (RealFft(), Layout(s32, (8,)), "elements must be f32 or f64, got s32"),
        (RealFft(), Layout(c64, (8,)), "elements must be f32 or f64, got c64"),
        (InverseRealFft(), Layout(f64, (8,)), "elements must be c64 or c128, got f64"),
        (Fft(3), Layout(c64, (4, 4)), r"signal must have 3 dimensions or more, got shape \[4, 4\]"),
        (InverseRealFft(), Layout(c64, (4, 1)), "must have 2 elements or more, got 1"),
        (Fft(), Layout(c64, (2, 3, 4), (100, 7, 1)), "signals must lie at equal distances"),
        (Fft(2), Layout(c64, (3, 4), (1, 3)), "axes must be nested.*put a Copy before it"),
    ],
)
def test_what_doesnt_fit_is_refused(call: Any, layout: Layout, words: str) -> None:
    """Types, dimensions and strides that cuFFT can't take are refused with a remedy."""
    with pytest.raises(OperandError, match=words):
        call.results({"x": layout})


def test_layout_of_a_dense_array_has_no_gaps() -> None:
    """The axes of a dense stack of images join into one axis."""
    found = embedding_of(layout_of(np.zeros((3, 5, 7), np.complex64)), 2)
    assert (found.embed, found.stride, found.count, found.distance) == ((5, 7), 1, 3, 35)
