"""Medians, sharper images, parts, distances and edges, compared with scipy and closed forms."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.blocks.running import WHOLE, apply_each
from warploom import Engine, Patch
from warploom.engine.device.device import Device

SIZES = [(1, 1), (1, 31), (33, 1), (5, 7), (32, 47)]
LIGHT = np.array([0.2126, 0.7152, 0.0722])


def outputs(device: Device, block: str, data: Any, *ports: str, name: str = "image", **parameters: Any) -> list[Any]:
    """Return what a block makes of an array; an image has its colours along the third axis."""
    patch = Patch()
    node = patch.add(block, **parameters)
    source = patch.add("io.image_array" if data.ndim == 3 else "io.array", data=data)
    patch.connect(source["out"], node[name])
    with Engine(patch, device, profiling=WHOLE) as engine:
        assert not engine.step().diagnostics
        return [engine.read(node[port]) for port in ports or ("out",)]


def random(*shape: int, seed: int = 2) -> Any:
    """Return random numbers from 0 to 1."""
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.mark.parametrize("radius", [1, 2, 3])
@pytest.mark.parametrize("shape", SIZES)
def test_medians_are_scipys(device: Device, shape: tuple[int, int], radius: int) -> None:
    """Each channel equals scipy's median to the bit, also with equal values, and alpha stays."""
    image = random(*shape, 4)
    image[..., 1] = np.round(image[..., 1] * 3)
    (found,) = outputs(device, "filter.median", image, radius=radius)
    size = 2 * radius + 1
    wanted = [ndimage.median_filter(image[..., c], size, mode="nearest") for c in range(3)]
    np.testing.assert_array_equal(found, np.stack([*wanted, image[..., 3]], -1))
    (field,) = outputs(device, "filter.median", image[..., 0].copy(), radius=radius)
    np.testing.assert_array_equal(field, wanted[0])


def test_a_nan_is_larger_than_all_in_a_median(device: Device) -> None:
    """A single NaN vanishes, and a window with more of them than numbers has a NaN as its median."""
    field = random(9, 9)
    field[4, 4] = np.nan
    field[:2] = np.nan
    (found,) = outputs(device, "filter.median", field, radius=1)
    for y, x in ((4, 4), (3, 5), (7, 7)):
        window = np.sort(field[y - 1 : y + 2, x - 1 : x + 2].ravel())  # numpy sorts NaN to the end
        assert found[y, x] == window[4]
    assert np.isnan(found[:2]).all() and not np.isnan(found[2:]).any()


@pytest.mark.parametrize("shape", SIZES)
def test_bilateral_means_weigh_places_and_colours(device: Device, shape: tuple[int, int]) -> None:
    """Each pixel is the mean that its docstring says, and alpha stays."""
    image = random(*shape, 4)
    (found,) = outputs(device, "filter.bilateral", image, sigma=1.5, range=0.3, radius=3)
    wide = np.pad(image.astype(float), ((3, 3), (3, 3), (0, 0)), mode="edge")
    total, mean = np.zeros(shape), np.zeros((*shape, 3))
    for dy in range(7):
        for dx in range(7):
            there = wide[dy : dy + shape[0], dx : dx + shape[1], :3]
            apart = ((there - image[..., :3]) ** 2).sum(-1)
            weight = np.exp(-((dx - 3) ** 2 + (dy - 3) ** 2) / (2 * 1.5**2) - apart / (2 * 0.3**2))
            total += weight
            mean += weight[..., None] * there
    np.testing.assert_allclose(found[..., :3], mean / total[..., None], atol=1e-5)
    np.testing.assert_array_equal(found[..., 3], image[..., 3])


def test_sharpening_adds_the_detail_beyond_a_threshold(device: Device) -> None:
    """The result is image + amount * (image - blurred) where the difference is large enough."""
    image = random(33, 47, 4)
    (found,) = outputs(device, "image.sharpen", image, sigma=2.0, amount=1.5, threshold=0.1)
    blurred = [ndimage.gaussian_filter(image[..., c].astype(float), 2.0, mode="nearest") for c in range(3)]
    detail = image[..., :3] - np.stack(blurred, -1)
    size = np.abs(detail @ LIGHT)
    sure = np.abs(size - 0.1) > 1e-4
    wanted = image[..., :3] + 1.5 * detail * (size >= 0.1)[..., None]
    np.testing.assert_allclose(found[sure, :3], wanted[sure], atol=2e-5)
    np.testing.assert_array_equal(found[..., 3], image[..., 3])


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("shape", [*SIZES, (64, 129)])
def test_labels_are_scipys(device: Device, shape: tuple[int, int], corners: bool) -> None:
    """Parts and their number are scipy's; a label is the first pixel of its part, plus 1."""
    around = np.ones((3, 3)) if corners else None
    for share in (0.3, 0.6, 1.0):
        mask = random(*shape) < share
        labels, number = outputs(device, "image.label", mask, "labels", "number", name="mask", corners=corners)
        parts, count = ndimage.label(mask, around)
        assert number.tolist() == [count]
        first = [np.flatnonzero(parts.ravel() == part)[0] + 1 for part in range(1, count + 1)]
        np.testing.assert_array_equal(labels, np.array([0, *first])[parts])


def test_a_winding_part_is_one(device: Device) -> None:
    """A spiral of one pixel's width is a single part, whose ends are far from each other."""
    mask = np.zeros((41, 41), bool)
    y, x, dy, dx = 0, 0, 0, 1
    for length in [40, *np.repeat(np.arange(40, 2, -2), 2)]:
        for _ in range(length):
            mask[y, x] = True
            y, x = min(y + dy, 40), min(x + dx, 40)
        dy, dx = dx, -dy
    labels, number = outputs(device, "image.label", mask, "labels", "number", name="mask")
    assert number.tolist() == [ndimage.label(mask)[1]] == [1] and set(np.unique(labels)) == {0, 1}


@pytest.mark.parametrize("dtype", ["bool", "u1", "i8", "f4"])
@pytest.mark.parametrize("shape", SIZES)
def test_distances_are_exact(device: Device, shape: tuple[int, int], dtype: str) -> None:
    """Distances equal scipy's, outside and, with a sign, inside; without anything to measure to they are 1e30."""
    masks = [(random(*shape) < share).astype(dtype) for share in (0.02, 0.5, 0.97, 0.0, 1.0)]
    cases = [("image.distance_field", {"mask": mask}, {"signed": signed}) for signed in (True, False) for mask in masks]
    found = apply_each(*cases, device=device)
    for mask, signed, plain in zip(masks, found[:5], found[5:], strict=True):
        inside = mask != 0
        outer = ndimage.distance_transform_edt(~inside) if inside.any() else np.full(shape, 1e30)
        inner = ndimage.distance_transform_edt(inside) if not inside.all() else np.full(shape, 1e30)
        np.testing.assert_allclose(plain, outer, rtol=1e-6)
        np.testing.assert_allclose(signed, np.where(inside, -inner, outer), rtol=1e-6)


def canny(light: Any, low: float, high: float) -> Any:
    """Return Canny's edges of a luminance, and which pixels depend on rounding."""
    gx, gy = (ndimage.sobel(light, axis, mode="nearest") for axis in (1, 0))
    size, steep = np.hypot(gx, gy), np.sqrt(2) - 1
    dx = np.where(np.abs(gx) < steep * np.abs(gy), 0, np.where(gx > 0, 1, -1))
    dy = np.where(np.abs(gy) < steep * np.abs(gx), 0, np.where(gy > 0, 1, -1))
    # Beyond the border lies the nearest pixel, whose gradient is that of the image continued there.
    far = np.pad(light, 3, mode="edge")
    wide = np.hypot(ndimage.sobel(far, 1, mode="nearest"), ndimage.sobel(far, 0, mode="nearest"))
    y, x = np.indices(light.shape) + 3
    ahead, behind = wide[y + dy, x + dx], wide[y - dy, x - dx]
    top = (size > ahead) & (size >= behind)
    parts, _ = ndimage.label(top & (size > 0) & (size >= low), np.ones((3, 3)))
    strong = np.unique(parts[(size >= high) & (parts > 0)])
    ties = [size - ahead, size - behind, size - low, size - high]
    ties += [np.abs(gx) - steep * np.abs(gy), np.abs(gy) - steep * np.abs(gx)]
    return np.isin(parts, strong) & (parts > 0), (np.abs(ties) < 1e-5).any(0) & (size > low - 1e-5)


def test_edges_are_cannys(device: Device) -> None:
    """Thin edges of a blurred image equal numpy's, and a weak edge that touches a strong one stays."""
    rng = np.random.default_rng(5)
    light = ndimage.gaussian_filter(rng.random((48, 67)), 2.0) * 4
    image = np.repeat(light[..., None], 4, axis=2).astype(np.float32)
    wanted, unsure = canny(image[..., :3].astype(float) @ LIGHT, 0.3, 0.8)
    (found,) = outputs(device, "image.thin_edges", image, low=0.3, high=0.8)
    assert not unsure.any() and 0.01 < wanted.mean() < 0.4
    np.testing.assert_array_equal(found[..., 0], wanted)
    np.testing.assert_array_equal(found[..., 3], image[..., 3])
    all_weak, _ = canny(image[..., :3].astype(float) @ LIGHT, 0.3, 0.3)
    assert wanted.sum() < all_weak.sum()


def test_canny_finds_the_outline_of_a_square(device: Device) -> None:
    """The edges of a grey square on black are a closed line around it, one pixel wide on its straight sides."""
    image = np.zeros((40, 50, 4), np.float32)
    image[10:30, 15:35, :3] = 0.6
    (found,) = outputs(device, "image.canny", image)
    edges = found[..., 0] > 0
    assert ndimage.label(edges, np.ones((3, 3)))[1] == 1 and ndimage.label(~edges)[1] == 2
    assert (edges[20].sum(), edges[:, 25].sum()) == (2, 2)


@pytest.mark.parametrize("shape", SIZES)
def test_the_automatic_level_divides_best(device: Device, shape: tuple[int, int]) -> None:
    """The level is one for which no other has a larger variance between both sides, and divides the image."""
    image = np.concatenate([random(*shape, 3) ** 3, np.ones((*shape, 1), np.float32)], -1)
    found, level = outputs(device, "image.automatic_threshold", image, "out", "level")
    light = image[..., :3].astype(float) @ LIGHT
    bins = np.floor(light * 255 + 0.5)
    scores = {}
    for edge in range(255):
        dark, bright = bins[bins <= edge], bins[bins > edge]
        if dark.size and bright.size:
            scores[edge] = dark.size * bright.size * (dark.mean() - bright.mean()) ** 2
    if scores:
        assert scores[int(level[0] * 255 - 0.25)] == pytest.approx(max(scores.values()), rel=1e-9)
    sure = np.abs(light - level[0]) > 1e-5
    np.testing.assert_array_equal(found[sure, 0], light[sure] >= level[0])
