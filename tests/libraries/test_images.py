"""Images against scipy and closed forms in f64, on every device."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.libraries.calls import Caller
from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.images import MORPHOLOGIES, Box, Filter, Morphology, Resize
from warploom.engine.types import Array, DType, f16, f32, f64, float4, u8, uchar4
from warploom.engine.types.layout import Layout, strided_layout

#: Odd sizes, images one pixel wide or high, and images smaller than a window.
SHAPES = [(1, 1), (1, 1027), (1023, 1), (7, 9), (67, 131)]
CHANNELS = {f32: (), float4: (4,)}


def pixels(shape: tuple[int, ...], dtype: DType = f32) -> Array:
    """Return a random image; four channels are a third axis."""
    whole = (*shape, *CHANNELS.get(dtype, ()))
    return np.random.default_rng(sum(shape)).standard_normal(whole).astype(np.float32)


def called(caller: Caller, call: LibraryCall, image: Array, **others: Array) -> Array:
    """Return the result of a call; an image with four channels has float4 or uchar4 pixels."""
    kinds = {"image": float4 if image.dtype == np.float32 else uchar4} if image.ndim == 3 else {}
    return caller(call, {"image": image, **others}, dtypes=kinds)["out"]


@pytest.mark.parametrize("dtype", CHANNELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [(1, 1), (3, 3), (1, 7), (5, 3), (9, 9)])
def test_a_filter_is_scipys_convolution(caller: Caller, dtype: DType, shape: Any, size: Any) -> None:
    """A filter with asymmetric weights equals scipy's convolution; beyond the border the nearest pixel counts."""
    image, weights = pixels(shape, dtype), np.random.default_rng(2).standard_normal(size).astype(np.float32)
    wide = weights.astype(float).reshape(*size, *(1,) * (image.ndim - 2))
    expected = ndimage.convolve(image.astype(float), wide, mode="nearest")
    found = called(caller, Filter(), image, weights=weights)
    assert found.dtype == np.float32 and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=3e-6 * weights.size**0.5)


@pytest.mark.parametrize("dtype", CHANNELS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 3), (1, 5), (11, 1), (7, 33)])
def test_a_box_is_scipys_uniform_filter(caller: Caller, dtype: DType, shape: Any, height: int, width: int) -> None:
    """A box filter equals scipy's for windows of any shape, even larger than the image."""
    image = pixels(shape, dtype)
    size = (height, width, *(1,) * (image.ndim - 2))
    expected = ndimage.uniform_filter(image.astype(float), size, mode="nearest")
    np.testing.assert_allclose(called(caller, Box(height, width), image), expected, atol=3e-6)


def test_a_nan_reaches_the_window_around_it_alone(caller: Caller) -> None:
    """A NaN or infinity changes only the window around it; infinity may become the largest finite number."""
    image = np.ones((9, 21), np.float32)
    image[4, 3], image[4, 15] = np.nan, np.inf
    weights = np.full((3, 3), 1 / 9, np.float32)
    for found in (called(caller, Box(3, 3), image), called(caller, Filter(), image, weights=weights)):
        assert np.isnan(found[3:6, 2:5]).all() and (found[3:6, 14:17] > 1e38).all()
        assert np.isclose(found, 1).sum() == found.size - 18


@pytest.mark.parametrize("dtype", CHANNELS)
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((8, 12), (4, 3)),
        ((7, 9), (3, 2)),
        ((33, 65), (32, 11)),
        ((67, 131), (66, 17)),
        ((5, 1027), (1, 341)),
        ((2, 2), (1, 1)),
    ],
)
def test_area_is_the_mean_of_what_becomes_one_pixel(caller: Caller, dtype: DType, source: Any, target: Any) -> None:
    """A pixel of the result is the mean of the area it covers; pixels on its edge count by their share."""
    image = pixels(source, dtype)
    expected = image.astype(float)
    for axis, (old, new) in enumerate(zip(source, target, strict=True)):
        spread = np.repeat(expected, new, axis)  # each pixel becomes `new` pieces, and `old` pieces one pixel
        pieces = spread.reshape(*expected.shape[:axis], new, old, *expected.shape[axis + 1 :])
        expected = pieces.mean(axis + 1)
    np.testing.assert_allclose(called(caller, Resize(*target), image), expected, atol=2e-6 * max(source))


@pytest.mark.parametrize("operation", MORPHOLOGIES)
@pytest.mark.parametrize("kind", [np.float32, np.uint8])
@pytest.mark.parametrize("channels", [(), (4,)])
@pytest.mark.parametrize("shape", SHAPES)
def test_morphology_takes_values_under_the_mask(
    caller: Caller, operation: str, kind: Any, channels: tuple[int, ...], shape: Any
) -> None:
    """Morphology equals scipy's for masks with gaps, an asymmetric mask and a rectangle."""
    image = np.random.default_rng(sum(shape)).integers(0, 256, (*shape, *channels)).astype(kind)
    cross, uneven = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8), np.array([[1, 0, 2, 0, 0]], np.uint8)
    for mask in (cross, uneven, np.ones((3, 5), np.uint8)):
        footprint, expected = mask.reshape(*mask.shape, *(1,) * len(channels)) != 0, image
        for step in Morphology(operation).steps:
            take = ndimage.minimum_filter if step == "erode" else ndimage.maximum_filter
            expected = take(expected, footprint=footprint, mode="nearest")
        assert np.array_equal(called(caller, Morphology(operation), image, mask=mask), expected)


def test_parts_of_images_are_taken_where_they_lie(caller: Caller) -> None:
    """A part of an image is processed without a copy, whatever lies between its rows."""
    whole, weights = pixels((40, 60), float4), pixels((3, 3))
    part = whole[7:31, 11:42]
    assert np.array_equal(called(caller, Box(), part), called(caller, Box(), part.copy()))
    found = called(caller, Filter(), whole[::2, 5:], weights=weights)
    assert np.array_equal(found, called(caller, Filter(), whole[::2, 5:].copy(), weights=weights))
    assert np.array_equal(called(caller, Resize(9, 8), part), called(caller, Resize(9, 8), part.copy()))
    mask = np.ones((3, 3), np.uint8)
    for operation in ("erode", "open"):
        call = Morphology(operation)
        assert np.array_equal(called(caller, call, part, mask=mask), called(caller, call, part.copy(), mask=mask))


@pytest.mark.parametrize(
    ("call", "given", "slot", "words"),
    [
        (Box(), {"image": Layout(f64, (9, 9))}, "image", "pixels must be one of f32, float4, got f64"),
        (Box(), {"image": Layout(uchar4, (9, 9))}, "image", "got uchar4"),
        (Box(), {"image": Layout(f32, (9, 9, 4))}, "image", r"2 dimensions, got shape \[9, 9, 4\]"),
        (Box(), {"image": strided_layout(f32, (9, 9), (1, 9), 4)}, "image", r"rows.*no gaps.*got strides \[1, 9\]"),
        (Box(), {"image": strided_layout(f32, (9, 9), (4, 1), 4)}, "image", "not overlap"),
        (Filter(), {"image": Layout(f32, (9, 9)), "weights": Layout(f16, (3, 3))}, "weights", "must be f32, got f16"),
        (Filter(), {"image": Layout(f32, (9, 9)), "weights": Layout(f32, (3, 4))}, "weights", r"both odd.*\[3, 4\]"),
        (Filter(), {"image": Layout(f32, (9, 9)), "weights": Layout(f32, (3,))}, "weights", "2 dimensions"),
        (Morphology(), {"image": Layout(f16, (9, 9)), "mask": Layout(u8, (3, 3))}, "image", "f32, float4, u8, uchar4"),
        (Morphology(), {"image": Layout(u8, (9, 9)), "mask": Layout(f32, (3, 3))}, "mask", "must be u8, got f32"),
        (Resize(3, 9), {"image": Layout(f32, (9, 9))}, "image", r"larger than \[3, 9\] along both axes"),
        (Resize(3, 3), {"image": Layout(f32, (1, 9))}, "image", r"2 rows and columns or more.*got \[1, 9\]"),
    ],
)
def test_what_doesnt_fit_is_refused(call: LibraryCall, given: dict[str, Layout], slot: str, words: str) -> None:
    """Operands that don't fit are refused with an error that names the operand."""
    with pytest.raises(OperandError, match=words) as refused:
        call.results(given)
    assert refused.value.slot == slot
