"""Layers of networks against their definitions in scipy and numpy, computed in f64, on every device."""

from typing import Any

import numpy as np
import pytest
import scipy

from tests.libraries.calls import SIZES, Caller
from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.dnn import BatchNormalization, Convolution, Pooling, Softmax
from warploom.engine.types import Array, DType, f16, f32, f64, s32
from warploom.engine.types.layout import Layout

#: Relative error bound of one product of numbers near 1. A sum of k products may have sqrt(k) times that error.
ROUNDING = {f32: 1e-6, f16: 2e-3}


def numbers(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return random numbers of a type."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype.numpy)


def close(found: Array, expected: Array, dtype: DType, count: int = 1) -> bool:
    """Return whether sums of `count` products are as accurate as their type allows."""
    allowed = ROUNDING[dtype] * (count**0.5 + np.abs(expected))
    return (
        found.dtype == dtype.numpy
        and found.shape == expected.shape
        and bool(np.all(np.abs(found - expected) <= allowed))
    )


def convolved(call: Convolution, x: Array, weights: Array) -> Array:
    """Return a convolution in f64: every stride-th result of scipy's cross-correlation with dilated weights."""
    made, taken, *window = weights.shape
    spread = np.zeros((made, taken, *((n - 1) * step + 1 for n, step in zip(window, call.dilation, strict=True))))
    spread[..., :: call.dilation[0], :: call.dilation[1]] = weights
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), *((pad, pad) for pad in call.padding)))
    per_group = made // call.groups
    images = [
        [
            sum(
                scipy.signal.correlate2d(
                    image[output // per_group * taken + channel], spread[output, channel], mode="valid"
                )
                for channel in range(taken)
            )
            for output in range(made)
        ]
        for image in padded
    ]
    return np.array(images)[..., :: call.stride[0], :: call.stride[1]]


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(
    ("call", "x", "weights"),
    [
        (Convolution(), (1, 1, 1, 1), (1, 1, 1, 1)),
        (Convolution(), (2, 3, 7, 9), (5, 3, 3, 3)),
        (Convolution(padding=(1, 1)), (1, 3, 33, 65), (5, 3, 3, 3)),
        (Convolution(padding=(4, 4)), (1, 2, 27, 31), (3, 2, 9, 9)),
        (Convolution(stride=(2, 3), padding=(0, 2)), (2, 4, 17, 23), (6, 4, 2, 5)),
        (Convolution(padding=(3, 0), dilation=(3, 2)), (1, 2, 13, 19), (4, 2, 3, 4)),
        (Convolution(padding=(1, 1), groups=3), (2, 6, 11, 7), (9, 2, 3, 3)),
        (Convolution(padding=(2, 2), groups=4), (1, 4, 15, 16), (4, 1, 5, 5)),
        (Convolution(padding=(0, 3)), (1, 2, 1, 1027), (3, 2, 1, 7)),
        (Convolution(), (3, 1023, 1, 1), (7, 1023, 1, 1)),
    ],
)
def test_a_convolution_is_scipys(
    caller: Caller, dtype: DType, call: Convolution, x: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    """A convolution equals scipy's, with and without bias and ReLU, for strides, padding, dilation and groups."""
    image, kernel, bias = numbers(x, dtype), numbers(weights, dtype), numbers(weights[:1], dtype)
    plain = convolved(call, image, kernel)
    shifted = plain + bias.astype(float)[:, None, None]
    cut = Convolution(call.stride, call.padding, call.dilation, call.groups, relu=True)
    count = int(np.prod(weights[1:]))
    given = {"x": image, "weights": kernel}
    assert close(caller(call, given)["out"], plain, dtype, count)
    assert close(caller(call, {**given, "bias": bias})["out"], shifted, dtype, count)
    assert close(caller(cut, given)["out"], np.maximum(plain, 0), dtype, count)
    assert close(caller(cut, {**given, "bias": bias})["out"], np.maximum(shifted, 0), dtype, count)


def pooled(call: Pooling, x: Array) -> Array:
    """Return the windows at each place reduced in f64; pixels beyond the border are NaN while this is computed."""
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), *((pad, pad) for pad in call.padding)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, call.window, (2, 3))
    reduce = np.nanmean if call.average else np.nanmax
    return reduce(windows[:, :, :: call.stride[0], :: call.stride[1]], axis=(-2, -1))


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(
    ("x", "window", "stride", "padding"),
    [
        ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0)),
        ((2, 5, 33, 65), (2, 2), (2, 2), (0, 0)),
        ((1, 3, 7, 9), (3, 3), (1, 1), (1, 1)),
        ((2, 3, 19, 23), (5, 4), (3, 2), (2, 2)),
        ((1, 2, 1, 1027), (1, 7), (1, 3), (0, 3)),
    ],
)
def test_pooling_is_numpys(
    caller: Caller, dtype: DType, average: bool, x: tuple[int, ...], window: Any, stride: Any, padding: Any
) -> None:
    """Pooling equals numpy's for windows with and without overlap, and ignores pixels beyond the border."""
    call, image = Pooling(window, stride, padding, average), numbers(x, dtype)
    found, expected = caller(call, {"x": image})["out"], pooled(call, image)
    assert close(found, expected, dtype) if average else np.array_equal(found, expected)


@pytest.mark.parametrize("average", [False, True])
def test_a_nan_under_the_window_gives_nan(caller: Caller, average: bool) -> None:
    """A window with a NaN pools to NaN, other windows don't change, and infinities are pooled like other numbers."""
    x = np.ones((1, 1, 4, 6), np.float32)
    x[0, 0, 1, 1], x[0, 0, 2, 3] = np.nan, np.inf
    found = caller(Pooling(average=average), {"x": x})["out"][0, 0]
    assert np.isnan(found[0, 0]) and np.isposinf(found[1, 1])
    assert found[0, 1:].tolist() == [1, 1] and found[1, [0, 2]].tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_is_its_formula(caller: Caller, dtype: DType, size: int, axis: int) -> None:
    """Softmax and its logarithm follow their formulas along each axis, even for scores whose exponentials overflow."""
    x = numbers((3, size, 2), dtype) * dtype.numpy.type(30)
    away = x.astype(float) - x.max(axis=axis, keepdims=True)
    powers = np.exp(away)
    sums = powers.sum(axis=axis, keepdims=True)
    assert close(caller(Softmax(axis), {"x": x})["out"], powers / sums, dtype)
    logarithms = caller(Softmax(axis, log=True), {"x": x})["out"]
    assert close(logarithms, away - np.log(sums), dtype, 16)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", [(1, 1), (7, 1023), (2, 16, 33, 33), (3, 5, 1027)])
def test_batch_normalization_is_its_formula(caller: Caller, dtype: DType, shape: tuple[int, ...]) -> None:
    """Batch normalisation follows its formula for vectors, signals and images, even with a variance of 0."""
    x, channels = numbers(shape, dtype), shape[1]
    mean, scale, bias = (numbers((channels + more,), f32)[more:] for more in range(3))
    variance = np.linspace(0, 4, channels, dtype=np.float32)
    given = {"x": x, "mean": mean, "variance": variance, "scale": scale, "bias": bias}
    each = (-1,) + (1,) * (len(shape) - 2)
    wide = {slot: array.astype(float).reshape(each) for slot, array in given.items() if slot != "x"}
    factor = wide["scale"] / np.sqrt(wide["variance"] + 0.01)
    expected = (x - wide["mean"]) * factor + wide["bias"]
    found = caller(BatchNormalization(0.01), given)["out"]
    assert np.all(np.abs(found - expected) <= ROUNDING[dtype] * (1 + 4 * np.abs(factor) + np.abs(expected)))


IMAGE, WEIGHTS = Layout(f32, (1, 4, 8, 8)), Layout(f32, (6, 4, 3, 3))


@pytest.mark.parametrize(
    ("call", "given", "slot", "words"),
    [
        (Convolution(), {"x": Layout(f64, (1, 4, 8, 8)), "weights": WEIGHTS}, "x", "one of f16, f32, got f64"),
        (Convolution(), {"x": IMAGE, "weights": Layout(f16, (6, 4, 3, 3))}, "weights", "f32, as in x, got f16"),
        (Convolution(), {"x": Layout(f32, (4, 8, 8)), "weights": WEIGHTS}, "x", r"4 dimensions, got shape \[4, 8, 8\]"),
        (Convolution(groups=2), {"x": IMAGE, "weights": WEIGHTS}, "weights", "4 / 2 channels.*got 4"),
        (Convolution(groups=4), {"x": IMAGE, "weights": Layout(f32, (6, 1, 3, 3))}, "weights", "multiple of 4 groups"),
        (Convolution(), {"x": IMAGE, "weights": WEIGHTS, "bias": Layout(f32, (5,))}, "bias", "each of 6 channels"),
        (
            Convolution(dilation=(4, 4)),
            {"x": IMAGE, "weights": WEIGHTS},
            "x",
            r"window of \[9, 9\] with padding \[0, 0\]",
        ),
        (Pooling((9, 1)), {"x": IMAGE}, "x", r"hold a window of \[9, 1\]"),
        (Pooling(padding=(1, 2)), {"x": IMAGE}, "x", r"at most half of the window \[2, 2\], got \[1, 2\]"),
        (Pooling(), {"x": Layout(f32, (1, 4, 8, 8), (512, 128, 16, 2))}, "x", "no gaps.*put a Copy before it"),
        (Softmax(4), {"x": IMAGE}, "x", "must have an axis 4"),
        (Softmax(), {"x": Layout(s32, (4,))}, "x", "one of f16, f32, got s32"),
    ],
)
def test_what_doesnt_fit_is_refused(call: LibraryCall, given: dict[str, Layout], slot: str, words: str) -> None:
    """Operands that don't fit are refused with an error that names the operand."""
    with pytest.raises(OperandError, match=words) as refused:
        call.results(given)
    assert refused.value.slot == slot


def test_numbers_of_another_count_are_refused() -> None:
    """A parameter of a layer that doesn't have one element for each channel is refused."""
    four = Layout(f32, (4,))
    given = {"x": IMAGE, "mean": four, "variance": four, "scale": Layout(f32, (3,)), "bias": four}
    with pytest.raises(OperandError, match="each of 4 channels, got f32"):
        BatchNormalization().results(given)
