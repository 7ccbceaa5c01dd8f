"""Pyramids of pictures: half and double sizes, and blends without a seam, compared with numpy and scipy."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.running import apply, problems, run
from warploom import Patch
from warploom.engine.device.device import Device
from warploom.engine.types import Array

WEIGHTS = np.array([1, 4, 6, 4, 1]) / 16


def down(image: Array) -> Array:
    """Return half of an image, by scipy; its mirror needs three pixels, which a narrow image has not."""
    for axis in (0, 1):
        if image.shape[axis] < 3:
            image = (
                image
                if image.shape[axis] == 1
                else np.stack(
                    [image.take(0, axis) * 0.375 + image.take(1, axis) * 0.5 + image.take(0, axis) * 0.125], axis
                )
            )
            continue
        kept = [slice(None)] * image.ndim
        kept[axis] = slice(None, None, 2)
        image = ndimage.convolve1d(image, WEIGHTS, axis, mode="mirror")[tuple(kept)]
    return image


def up(image: Array, shape: tuple[int, ...]) -> Array:
    """Return an image with zeros between its pixels, filtered by twice the weights; the border's pixel is repeated."""
    for axis in (0, 1):
        padded = np.concatenate([image.take([0], axis), image, image.take([-1], axis)], axis)
        wide = np.zeros([2 * n if a == axis else n for a, n in enumerate(padded.shape)])
        kept = [slice(None)] * image.ndim
        kept[axis] = slice(None, None, 2)
        wide[tuple(kept)] = padded
        wide = ndimage.convolve1d(wide, 2 * WEIGHTS, axis, mode="constant")
        kept[axis] = slice(2, 2 + shape[axis])
        image = wide[tuple(kept)]
    return image


def noise(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(shape, np.float32)


def picture(patch: Patch, data: Array) -> Any:
    return patch.add("io.image_array", data=data)["out"]


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (31, 33), (32, 64)])
def test_halves_and_doubles(device: Device, shape: tuple[int, int]) -> None:
    """Half of an image, and twice that half, equal scipy's by Burt and Adelson's weights, for colours and numbers."""
    x = noise(*shape, 4)
    half = down(x.astype(float))
    np.testing.assert_allclose(
        apply("image.pyramid_down", {"image": x[..., 0].copy()}, device=device), half[..., 0], atol=1e-6
    )
    patch = Patch()
    halve, double = patch.add("image.pyramid_down"), patch.add("image.pyramid_up")
    source = picture(patch, x)
    patch.connect(source, halve["image"])
    patch.connect(halve["out"], double["image"])
    patch.connect(source, double["like"])
    small, large = run(patch, halve["out"], double["out"], device=device)
    np.testing.assert_allclose(small, half, atol=1e-6)
    np.testing.assert_allclose(large, up(half, x.shape), atol=1e-6)


def test_an_image_of_another_size_is_not_enlarged() -> None:
    """An image that is not half of the wanted size is refused, with the remedy."""
    patch = Patch()
    double = patch.add("image.pyramid_up")
    patch.connect(picture(patch, noise(8, 8, 4)), double["image"])
    patch.connect(picture(patch, noise(17, 16, 4)), double["like"])
    ((node, port, text),) = problems(patch)
    assert (node, port) == (double.id, "like") and "twice as large as image" in text


@pytest.mark.parametrize(("shape", "levels"), [((1, 1), 2), ((31, 33), 3), ((32, 7), 0), ((40, 40), 8)])
def test_blends_are_burt_and_adelsons(device: Device, shape: tuple[int, int], levels: int) -> None:
    """A blend is the sum of the mixed levels of two Laplacian pyramids; with no level, it is a mix."""
    a, b, mask = noise(*shape, 4), noise(*shape, 4, seed=1), noise(*shape, seed=2)
    firsts, seconds, masks = [a.astype(float)], [b.astype(float)], [mask.astype(float)[..., None]]
    for row in (firsts, seconds, masks):
        for _ in range(levels):
            row.append(down(row[-1]))
    expected = firsts[-1] + (seconds[-1] - firsts[-1]) * masks[-1]
    for n in reversed(range(levels)):
        first = firsts[n] - up(firsts[n + 1], firsts[n].shape)
        second = seconds[n] - up(seconds[n + 1], firsts[n].shape)
        expected = up(expected, firsts[n].shape) + first + (second - first) * masks[n]
    patch = Patch()
    node = patch.add("image.pyramid_blend", levels=levels)
    patch.connect(picture(patch, a), node["a"])
    patch.connect(picture(patch, b), node["b"])
    patch.connect(patch.add("io.array", data=mask)["out"], node["mask"])
    (found,) = run(patch, node["out"], device=device)
    np.testing.assert_allclose(found, expected, atol=3e-6)


def test_a_picture_can_be_the_mask() -> None:
    """The luminance of a picture, where it is opaque, is the mask; an image stays what it is where it is alone."""
    a, b = noise(16, 16, 4), noise(16, 16, 4, seed=1)
    mask = np.zeros((16, 16, 4), np.float32)
    for value, expected in ((1.0, b), (0.0, a)):
        mask[...] = value, value, value, 1
        patch = Patch()
        node = patch.add("image.pyramid_blend")
        for name, data in (("a", a), ("b", b), ("mask", mask)):
            patch.connect(picture(patch, data), node[name])
        np.testing.assert_allclose(run(patch, node["out"])[0], expected, atol=1e-6)


def test_a_mask_of_another_size_is_refused() -> None:
    """A mask of another size than the images is refused at its port."""
    patch = Patch()
    node = patch.add("image.pyramid_blend")
    for name, data in (("a", noise(8, 8, 4)), ("b", noise(8, 8, 4)), ("mask", noise(8, 9, 4))):
        patch.connect(picture(patch, data), node[name])
    assert any((found, port) == (node.id, "mask") for found, port, _ in problems(patch))
