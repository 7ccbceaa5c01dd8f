"""Means, smallest and largest values of windows, against scipy."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from engine import Engine, Patch
from tests.blocks.running import Array

#: Odd sizes, images one pixel wide or high, images smaller than a window, and images larger than a tile.
SHAPES = [(1, 1), (1, 300), (130, 1), (7, 9), (67, 131), (131, 290)]
RADII = [(0, 0), (1, 1), (2, 5), (20, 9), (0, 40), (30, 26), (90, 0)]


def windows(image: Array, block: str, settings: list[dict[str, Any]]) -> list[Array]:
    """Return the results of one block with several settings, on an image that is a view with gaps between its rows."""
    patch = Patch()
    whole = np.concatenate([image, image[:, :1]], axis=1)
    source: Any = patch.add("io.image_array" if image.ndim == 3 else "io.array", data=whole)
    part = patch.add("buffer.slice", axis=1, start=0, stop=image.shape[1])
    patch.connect(source["out"], part["x"])
    nodes = [patch.add(block, **each) for each in settings]
    for node in nodes:
        patch.connect(part["out"], node["image"])
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        return [engine.read(node["out"]) for node in nodes]


@pytest.mark.parametrize("channels", [(), (4,)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_mean_is_scipys(shape: tuple[int, int], channels: tuple[int, ...]) -> None:
    """The mean equals scipy's for images and fields of any size, and any radius along each axis."""
    image = np.random.default_rng(sum(shape)).standard_normal((*shape, *channels)).astype(np.float32)
    found = windows(image, "filter.mean", [{"radius_x": x, "radius_y": y} for x, y in RADII])
    for (x, y), mean in zip(RADII, found, strict=True):
        size = (2 * y + 1, 2 * x + 1, 1)[: image.ndim]
        expected = ndimage.uniform_filter(image.astype(float), size, mode="nearest")
        np.testing.assert_allclose(mean, expected, atol=1e-5, err_msg=f"radii {x}, {y}")


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize("channels", [(), (4,)])
@pytest.mark.parametrize("shape", SHAPES)
def test_squares_have_scipys_extremes(shape: tuple[int, int], channels: tuple[int, ...], dtype: Any) -> None:
    """Erosion and dilation by a square equal scipy's exactly, for numbers and bytes."""
    image = np.random.default_rng(sum(shape)).integers(0, 256, (*shape, *channels)).astype(dtype)
    if channels and dtype == np.uint8:
        image = image.reshape(*shape[:-1], -1)  # four channels of bytes are four columns to io.array
    settings = [(operation, radius) for operation in ("erode", "dilate", "open", "close") for radius in (1, 3, 12, 30)]
    made = [{"operation": operation, "shape": "square", "radius": radius} for operation, radius in settings]
    filters = {"erode": ndimage.minimum_filter, "dilate": ndimage.maximum_filter}
    steps = {"open": ("erode", "dilate"), "close": ("dilate", "erode")}
    for (operation, radius), result in zip(settings, windows(image, "filter.morphology", made), strict=True):
        size, expected = (2 * radius + 1, 2 * radius + 1, 1)[: image.ndim], image
        for step in steps.get(operation, (operation,)):
            expected = filters[step](expected, size, mode="nearest")
        assert np.array_equal(result, expected), f"{operation} {radius}"


def test_a_nan_and_a_large_number_stay_in_their_windows() -> None:
    """A NaN and a number of 1e30 change only the windows that contain them."""
    image = np.ones((80, 200), np.float32)
    image[40, 50], image[40, 150] = np.nan, 1e30
    (mean,) = windows(image, "filter.mean", [{"radius_x": 10, "radius_y": 7}])
    assert np.isnan(mean[33:48, 40:61]).all() and (mean[33:48, 140:161] > 1e27).all()
    np.testing.assert_allclose(mean[~np.isnan(mean) & (mean < 1e27)], 1, atol=1e-6)
    assert (mean > 1e27).sum() + np.isnan(mean).sum() == 2 * 15 * 21
