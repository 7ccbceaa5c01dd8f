"""Blocks that change colours pixel by pixel, and shapes, compared with their formulas in double precision."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.test_warps import SIZES, image_of, warped
from warploom import Engine, Patch
from warploom.engine.device.device import Device

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def smooth(t: Any) -> Any:
    """Return the smooth step of numbers that are first kept between 0 and 1."""
    t = np.clip(t, 0, 1)
    return t * t * (3 - 2 * t)


def test_levels(device: Device) -> None:
    """One range is spread over another by a power; alpha stays, and an empty range is a step."""
    image = image_of((33, 47)) * 2 - np.float32(0.5)
    for low, high, gamma, low_out, high_out in ((0, 1, 1, 0, 1), (0.2, 0.7, 2.2, -0.5, 3), (0.9, 0.1, 0.5, 1, 0)):
        values = {"low": low, "high": high, "gamma": gamma, "low_out": low_out, "high_out": high_out}
        found = warped(device, "image.levels", image, **{name: float(value) for name, value in values.items()})
        t = np.clip((image[..., :3].astype(float) - low) / (high - low), 0, 1) ** (1 / gamma)
        np.testing.assert_allclose(found[..., :3], t * (high_out - low_out) + low_out, atol=2e-4)
        np.testing.assert_array_equal(found[..., 3], image[..., 3])
    step = warped(device, "image.levels", image, low=0.5, high=0.5)
    np.testing.assert_array_equal(step[..., :3], image[..., :3] > 0.5)


CHANNELS = {
    "luminance": lambda c: c[..., :3] @ LUMINANCE,
    "red": lambda c: c[..., 0],
    "green": lambda c: c[..., 1],
    "blue": lambda c: c[..., 2],
    "alpha": lambda c: c[..., 3],
    "largest": lambda c: c[..., :3].max(-1),
    "smallest": lambda c: c[..., :3].min(-1),
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_thresholds(device: Device, channel: str) -> None:
    """White begins at the level, or is reached smoothly; a NaN is black, and alpha stays."""
    image = image_of((33, 47))
    image[3, 4, :3] = np.nan
    value = CHANNELS[channel](image.astype(float))
    for softness in (0.0, 0.5):
        found = warped(device, "image.threshold", image, channel=channel, level=0.5, softness=softness)
        wanted = smooth((value - 0.5) / softness + 0.5) if softness else np.asarray(value >= 0.5, float)
        wanted = np.where(np.isnan(value), 0, wanted)
        near = np.abs(value - 0.5) < 1e-6  # where f32 may decide otherwise
        for at in range(3):
            np.testing.assert_allclose(found[..., at][~near], wanted[~near], atol=1e-5)
        np.testing.assert_array_equal(found[..., 3], image[..., 3])


@pytest.mark.parametrize("shape", SIZES)
def test_posterized_colours_are_the_nearest(device: Device, shape: tuple[int, int]) -> None:
    """Each colour is the nearest of all steps."""
    image = image_of(shape) * 1.5 - np.float32(0.2)
    for steps in (2, 3, 256):
        found = warped(device, "image.posterize", image, steps=steps)
        allowed = np.linspace(0, 1, steps)
        distance = np.abs(image[..., :3, None].clip(0, 1) - allowed)
        np.testing.assert_allclose(np.abs(found[..., :3] - image[..., :3].clip(0, 1)), distance.min(-1), atol=1e-6)
        assert np.abs(found[..., :3, None] - allowed).min(-1).max() < 1e-6


def test_ordered_dither_uses_each_threshold_once(device: Device) -> None:
    """In 8 x 8 pixels of one grey, the number of white ones is 64 times the grey, by Bayer's matrix."""
    bayer = np.array([[0]])
    for _ in range(3):  # Bayer's rule: each step has four copies
        bayer = np.block([[4 * bayer, 4 * bayer + 2], [4 * bayer + 3, 4 * bayer + 1]])
    for grey in (0.0, 1 / 128, 0.1, 0.5, 0.77, 1.0):
        image = np.full((16, 24, 4), grey, np.float32)
        found = warped(device, "image.dither", image)[..., 0]
        np.testing.assert_array_equal(found, np.tile(grey + (bayer + 0.5) / 64 >= 1, (2, 3)))


@pytest.mark.parametrize("pattern", ["ordered", "noise", "moving noise"])
def test_dither_keeps_the_mean(device: Device, pattern: str) -> None:
    """Each colour is one of its two neighbours among the steps, and the mean of many stays."""
    image = np.full((128, 128, 4), 0.3, np.float32)
    image[..., 1] = 0.71
    found = warped(device, "image.dither", image, pattern=pattern, steps=5)
    assert set(np.unique(found[..., 0])) == {0.25, 0.5} and set(np.unique(found[..., 1])) == {0.5, 0.75}
    np.testing.assert_allclose(found.mean((0, 1)), image[0, 0], atol=0.25 / 128 * 3)


def frames(block: str, image: Any, count: int, **parameters: Any) -> list[Any]:
    """Return what a block makes of an image in some frames."""
    patch = Patch()
    node = patch.add(block, **parameters)
    patch.connect(patch.add("io.image_array", data=image)["out"], node["image"])
    with Engine(patch, device="host") as engine:
        return [engine.read(node["out"]) for _ in range(count) if engine.step()]


def test_noise_of_a_dither_moves_if_asked() -> None:
    """The pattern of noise stays, and that of moving noise is another one in each frame."""
    image = np.full((32, 32, 4), 0.5, np.float32)
    still, moving = (frames("image.dither", image, 2, pattern=pattern) for pattern in ("noise", "moving noise"))
    np.testing.assert_array_equal(*still)
    assert 0.3 < (moving[0] != moving[1])[..., 0].mean() < 0.7


def test_grain_is_a_sum_of_three_uniform_numbers(device: Device) -> None:
    """Grain has mean 0 and its deviation, is alike in all channels and within a grain, and is bounded."""
    from scipy.stats import kstest  # importing it takes seconds

    image = np.full((120, 160, 4), 5, np.float32)
    found = warped(device, "image.film_grain", image, amount=0.5, size=2)
    grain = found[..., 0].astype(float) - 5
    np.testing.assert_array_equal(found[..., 1], found[..., 2])
    np.testing.assert_array_equal(grain, np.repeat(np.repeat(grain[::2, ::2], 2, 0), 2, 1))
    single = grain[::2, ::2].ravel()
    assert kstest(single / 0.5, np.random.default_rng(1).random((3, 200_000)).sum(0) * 2 - 3).pvalue > 1e-4
    assert np.abs(single).max() <= 1.5
    one, other = frames("image.film_grain", image, 2, amount=0.5)
    assert abs(np.corrcoef((one - 5)[..., 0].ravel(), (other - 5)[..., 0].ravel())[0, 1]) < 0.03
    dark = warped(device, "image.film_grain", np.zeros((9, 9, 4), np.float32), amount=1.0)
    assert dark.min() == 0 and dark.max() > 0


@pytest.mark.parametrize("shape", SIZES)
def test_a_vignette_darkens_corners(device: Device, shape: tuple[int, int]) -> None:
    """The factor falls smoothly with the distance from the middle, which is 1 at the corners."""
    image, (height, width) = image_of(shape), shape
    y, x = np.mgrid[:height, :width]
    distance = np.hypot((x + 0.5) / width - 0.5, (y + 0.5) / height - 0.5) / np.hypot(0.5, 0.5)
    wanted = image.astype(float)
    wanted[..., :3] *= (1 - 0.8 * smooth((distance - 0.3) / 0.5))[..., None]
    found = warped(device, "image.vignette", image, amount=0.8, radius=0.3, softness=0.5)
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_keying_takes_out_the_key(device: Device) -> None:
    """The key is transparent at any brightness, other hues stay, and the key's tint is removed from what stays."""
    key = np.array([0.05, 0.6, 0.05])
    image = np.ones((1, 6, 4), np.float32)
    image[0, :, :3] = key, [0.6, 0.05, 0.05], [0.5, 0.5, 0.5], [0.05, 0.05, 0.6], [0.3, 0.5, 0.3], key + 0.3
    found = warped(device, "image.chroma_key", image).astype(float)
    np.testing.assert_array_equal(found[0, [0, 5], 3], 0)  # also with as much white light on it
    np.testing.assert_array_equal(found[0, 1:4, 3], 1)
    np.testing.assert_allclose(found[0, 1:4, :3], image[0, 1:4, :3], atol=1e-6)
    np.testing.assert_allclose(found[0, 4, :3], 0.3, atol=1e-6)
    blue = warped(device, "image.chroma_key", image, red=0.05, green=0.05, blue=0.6)
    np.testing.assert_array_equal(blue[0, :4, 3], [1, 1, 1, 0])
    np.testing.assert_allclose(blue[0, 4, :3], image[0, 4, :3], atol=1e-6)
    kept = warped(device, "image.chroma_key", image, spill=0.0)
    np.testing.assert_allclose(kept[..., :3], image[..., :3], atol=1e-6)


def made(device: Device, block: str, **parameters: Any) -> Any:
    """Return an image that a block makes."""
    patch = Patch()
    node = patch.add(block, **parameters)
    with Engine(patch, device) as engine:
        engine.step()
        return engine.read(node["out"])


@pytest.mark.parametrize(("width", "height"), [(1, 1), (31, 17), (64, 33)])
def test_a_radial_gradient(device: Device, width: int, height: int) -> None:
    """Colours go from the first to the last with the distance from the middle, in heights of the image."""
    found = made(device, "image.radial_gradient", width=width, height=height, center_x=0.25, red_from=1.0, red_to=0.0)
    y, x = np.mgrid[:height, :width] + 0.5
    t = np.clip(np.hypot(x - 0.25 * width, y - 0.5 * height) / (0.5 * height), 0, 1)
    np.testing.assert_allclose(found[..., 0], 1 - t, atol=1e-5)
    assert (found[..., 3] == 1).all()


def polygon(radii: list[float], size: int, turn: float) -> Any:
    """Return where a polygon with corners at these radii, clockwise from the top, covers an image."""
    angles = np.radians(turn) + np.arange(len(radii)) * 2 * np.pi / len(radii)
    corners = np.stack([np.sin(angles), -np.cos(angles)], 1) * np.array(radii)[:, None] + size / 2
    y, x = np.mgrid[:size, :size] + 0.5
    inside = np.zeros((size, size), bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):  # how often a ray crosses it
        crosses = ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0 + 1e-30) + x0)
        inside ^= crosses
    return inside


@pytest.mark.parametrize("kind", ["circle", "ring", "square", "polygon", "star"])
def test_shapes_cover_what_they_should(device: Device, kind: str) -> None:
    """Pixels more than one pixel inside are opaque; two outside, where a thin tip may end, they are transparent."""
    size, angle = 101, 17.0
    radius = 0.8 * size / 2
    y, x = np.mgrid[:size, :size] + 0.5 - size / 2
    far = np.hypot(x, y)
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    inside = {
        "circle": far < radius,
        "ring": np.abs(far - radius) < 0.2 * radius,
        "square": np.maximum(np.abs(cos * x + sin * y), np.abs(cos * y - sin * x)) < radius,
        "polygon": polygon([radius] * 5, size, angle),
        "star": polygon([radius, 0.4 * radius] * 5, size, angle),
    }[kind]
    found = made(device, "image.shape", kind=kind, width=size, height=size, size=0.8, angle=angle, blue=0.25)
    sure = ndimage.binary_erosion(inside, np.ones((3, 3))), ndimage.binary_dilation(inside, np.ones((5, 5)))
    assert (found[sure[0], 3] == 1).all() and (found[~sure[1], 3] == 0).all()
    assert sure[0].sum() > 500 and 0 < found[..., 3].mean() < 1
    assert abs(found[..., 3].sum() - inside.sum()) < 0.02 * inside.sum()
    np.testing.assert_allclose(found[..., :3], np.broadcast_to([1, 1, 0.25], (size, size, 3)))
