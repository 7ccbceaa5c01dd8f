"""Image filters against scipy, on a photograph and on awkward sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from engine import Engine, Patch, UpdateLevel

LUMINANCE = np.array([0.2126, 0.7152, 0.0722], np.float32)
SIZES = [(1, 1), (1, 37), (29, 1), (3, 5), (67, 131)]


def _random_image(shape: tuple[int, int]) -> Any:
    return np.random.default_rng(5).random((*shape, 4), np.float32)


def _blurred(image: Any, sigma: float) -> Any:
    wide = image.astype(np.float64)
    return np.stack(
        [ndimage.gaussian_filter(wide[..., c], sigma, mode="nearest", truncate=4.0) for c in range(image.shape[2])], 2
    )


def _edges(channel: Any) -> Any:
    wide = channel.astype(np.float64)
    return np.hypot(ndimage.sobel(wide, 0, mode="nearest"), ndimage.sobel(wide, 1, mode="nearest"))


@pytest.mark.parametrize("sigma", [0.7, 3.0, 20.0])
def test_blur_equals_scipy_on_a_photograph(apply_to_image: Any, photograph: Any, sigma: float) -> None:
    """The largest sigma needs the most weights."""
    out = apply_to_image("image.gaussian_blur", photograph, sigma=sigma)
    np.testing.assert_allclose(out[..., :3], _blurred(photograph, sigma), atol=2e-6)
    np.testing.assert_allclose(out[..., 3], 1.0, atol=2e-6)


@pytest.mark.parametrize("shape", SIZES)
def test_blur_equals_scipy_at_any_size(apply_to_image: Any, shape: tuple[int, int]) -> None:
    """Also where the filter is far larger than the image, and for alpha."""
    image = _random_image(shape)
    np.testing.assert_allclose(apply_to_image("image.gaussian_blur", image, sigma=5.5), _blurred(image, 5.5), atol=2e-6)


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_a_tiny_sigma_leaves_the_image_as_it_is(apply_to_image: Any, sigma: float) -> None:
    """Four sigma round to no neighbour at all."""
    image = _random_image((9, 14))
    np.testing.assert_array_equal(apply_to_image("image.gaussian_blur", image, sigma=sigma), image)


def test_sigma_is_live() -> None:
    """A moved slider gives what a fresh run gives, at the price of a parameter write."""
    image = _random_image((40, 33))
    patch = Patch()
    source = patch.add("io.image_array", data=image)
    blur = patch.add("image.gaussian_blur", sigma=1.0)
    patch.connect(source["out"], blur["image"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(blur, sigma=4.25)
        assert engine.step().update_level is UpdateLevel.HOT
        np.testing.assert_allclose(engine.read(blur["out"]), _blurred(image, 4.25), atol=2e-6)


def test_sobel_per_channel_equals_scipy_on_a_photograph(apply_to_image: Any, photograph: Any) -> None:
    """Each channel has the gradient's length of its own."""
    out = apply_to_image("image.sobel", photograph, strength=1.5, per_channel=True)
    expected = np.stack([1.5 * _edges(photograph[..., c]) for c in range(3)], 2)
    np.testing.assert_allclose(out[..., :3], expected, atol=5e-6)
    np.testing.assert_array_equal(out[..., 3], 1.0)


@pytest.mark.parametrize("shape", SIZES)
def test_sobel_of_luminance_equals_scipy_at_any_size(apply_to_image: Any, shape: tuple[int, int]) -> None:
    """All three channels hold the edge of the luminance; alpha passes through."""
    image = _random_image(shape)
    out = apply_to_image("image.sobel", image)
    expected = _edges(image[..., :3] @ LUMINANCE)
    for channel in range(3):
        np.testing.assert_allclose(out[..., channel], expected, atol=5e-6)
    np.testing.assert_array_equal(out[..., 3], image[..., 3])
