"""Blocks that move pixels, compared with numpy's indices and scipy's interpolation."""

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError

SIZES = [(1, 1), (1, 31), (32, 1), (7, 5), (33, 47)]
MODES = {"extend": "nearest", "repeat": "grid-wrap", "mirror": "reflect", "transparent": "grid-constant"}


def image_of(shape: tuple[int, int], seed: int = 3) -> Any:
    """Return a random image."""
    return np.random.default_rng(seed).random((*shape, 4), np.float32)


def warped(device: Device, block: str, image: Any, other: Any = None, **parameters: Any) -> Any:
    """Return what a block makes of an image."""
    patch = Patch()
    node = patch.add(block, **parameters)
    patch.connect(patch.add("io.image_array", data=image)["out"], node["image"])
    if other is not None:
        patch.connect(patch.add("io.image_array", data=other)["out"], node["map"])
    with Engine(patch, device) as engine:
        engine.step()
        return engine.read(node["out"])


def at(image: Any, x: Any, y: Any, edge: str) -> Any:
    """Return an image at positions, where whole numbers are the centres of pixels."""
    place = [y.astype(float), x.astype(float)]
    channels = [
        ndimage.map_coordinates(image[..., c].astype(float), place, order=1, mode=MODES[edge]) for c in range(4)
    ]
    return np.stack(channels, -1)


def grid(shape: tuple[int, int]) -> tuple[Any, Any]:
    """Return the columns and rows of all pixels."""
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    return x, y


@pytest.mark.parametrize("edge", MODES)
@pytest.mark.parametrize("shape", SIZES)
def test_a_transform_is_scaled_turned_and_moved(device: Device, shape: tuple[int, int], edge: str) -> None:
    """The inverse of a scale, a turn and a move, in this order, leads from each pixel to where it comes from."""
    image, (height, width) = image_of(shape), shape
    move, scale, angle = np.array([0.13, -0.29]) * (width, height), 0.7, 37.5
    turn = np.array([[np.cos(t := np.radians(angle)), -np.sin(t)], [np.sin(t), np.cos(t)]])  # clockwise: y goes down
    middle = (np.array([width, height]) - 1) / 2
    inverse = np.linalg.inv(turn * scale)
    x, y = grid(shape)
    places = np.einsum("ij,j...->i...", inverse, np.stack([x, y]) - (middle + move)[:, None, None])
    wanted = at(image, *(places + middle[:, None, None]), edge)
    found = warped(device, "image.transform", image, move_x=0.13, move_y=-0.29, scale=scale, angle=angle, edge=edge)
    np.testing.assert_allclose(found, wanted, atol=5e-5)


@pytest.mark.parametrize("edge", MODES)
@pytest.mark.parametrize("shape", SIZES)
def test_a_map_names_places_in_an_image(device: Device, shape: tuple[int, int], edge: str) -> None:
    """Red and green of a map of any size are places in an image, from 0 to 1 between its edges and beyond."""
    image, way = image_of(shape), image_of((9, 5), seed=4) * 2 - 0.5
    found = warped(device, "image.remap", image, way, edge=edge)
    wanted = at(image, way[..., 0] * shape[1] - 0.5, way[..., 1] * shape[0] - 0.5, edge)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("shape", SIZES)
def test_a_transform_at_rest_changes_no_bit(device: Device, shape: tuple[int, int]) -> None:
    """With the defaults, each pixel is its own; after a move by whole pixels, it is another one."""
    image = image_of(shape)
    np.testing.assert_array_equal(warped(device, "image.transform", image), image)
    if shape == (32, 1):
        moved = warped(device, "image.transform", image, move_y=0.25, edge="repeat")
        np.testing.assert_array_equal(moved, np.roll(image, 8, axis=0))


@pytest.mark.parametrize("shape", SIZES)
def test_mirrors(device: Device, shape: tuple[int, int]) -> None:
    """Flips are those of numpy, and one half of a symmetric image is that of the original."""
    image, (height, width) = image_of(shape), shape
    right, down = (width + 1) // 2, (height + 1) // 2
    halves = {
        "flip left and right": image[:, ::-1],
        "flip top and bottom": image[::-1],
        "left half": np.hstack([image[:, :right], image[:, : width // 2][:, ::-1]]),
        "right half": np.hstack([image[:, right:][:, ::-1], image[:, width // 2 :]]),
        "top half": np.vstack([image[:down], image[: height // 2][::-1]]),
        "bottom half": np.vstack([image[down:][::-1], image[height // 2 :]]),
    }
    for mode, wanted in halves.items():
        np.testing.assert_array_equal(warped(device, "image.mirror", image, mode=mode), wanted)


@pytest.mark.parametrize("shape", SIZES)
def test_a_kaleidoscope_repeats_its_sector(device: Device, shape: tuple[int, int]) -> None:
    """Each pixel is that of the folded angle at the same distance from the middle."""
    image, (height, width) = image_of(shape), shape
    x, y = grid(shape)
    x, y = x + 0.5 - 0.4 * width, y + 0.5 - 0.6 * height
    sector, start = 2 * np.pi / 5, np.radians(20)
    folded = np.abs((np.arctan2(y, x) - start + sector / 2) % sector - sector / 2) + start
    radius = np.hypot(x, y)
    place = 0.4 * width + radius * np.cos(folded) - 0.5, 0.6 * height + radius * np.sin(folded) - 0.5
    found = warped(device, "image.kaleidoscope", image, segments=5, angle=20.0, center_x=0.4, center_y=0.6)
    np.testing.assert_allclose(found, at(image, *place, "mirror"), atol=2e-4)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("shape", SIZES)
def test_tiles(device: Device, shape: tuple[int, int], mirrored: bool) -> None:
    """Copies are the image at multiples of the position, again or mirrored beyond its edges."""
    image = image_of(shape)
    x, y = grid(shape)
    wanted = at(image, (x + 0.5) * 2.5 - 0.5, (y + 0.5) * 3 - 0.5, "mirror" if mirrored else "repeat")
    found = warped(device, "image.tile", image, across=2.5, down=3.0, mirrored=mirrored)
    np.testing.assert_allclose(found, wanted, atol=5e-5)


@pytest.mark.parametrize("edge", MODES)
def test_displacing(device: Device, edge: str) -> None:
    """A pixel shows the image where red and green of the map lead; a smaller map is extended."""
    image, way = image_of((33, 47)), image_of((20, 30), 4)
    whole = np.pad(way, ((0, 13), (0, 17), (0, 0)), mode="edge").astype(float)
    x, y = grid((33, 47))
    wanted = at(image, x + (whole[..., 0] - 0.25) * 40, y + (whole[..., 1] - 0.25) * 40, edge)
    found = warped(device, "image.displace", image, way, amount=40.0, middle=0.25, edge=edge)
    np.testing.assert_allclose(found, wanted, atol=5e-5)


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_squares_have_the_colour_of_their_middle(device: Device, shape: tuple[int, int], size: int) -> None:
    """All pixels of a square are the one in its middle, or the nearest to that in the image."""
    image = image_of(shape)
    rows, columns = (np.minimum(np.arange(n) // size * size + size // 2, n - 1) for n in shape)
    np.testing.assert_array_equal(warped(device, "image.pixelate", image, size=size), image[rows][:, columns])


@pytest.mark.parametrize("corner", [(0, 0), (3, -2), (-9, 40), (500, 0)])
def test_crops_are_transparent_outside(device: Device, corner: tuple[int, int]) -> None:
    """A rectangle has the image's pixels, and zeros outside of it."""
    image, (left, top) = image_of((33, 47)), corner
    wide = np.pad(image, ((600, 600), (600, 600), (0, 0)))
    found = warped(device, "image.crop", image, left=left, top=top, width=31, height=17)
    np.testing.assert_array_equal(found, wide[600 + top :, 600 + left :][:17, :31])


@pytest.mark.parametrize("shape", SIZES)
def test_fringes(device: Device, shape: tuple[int, int]) -> None:
    """Red is larger and blue smaller about the middle; green and alpha stay as they are."""
    image = image_of(shape)
    x, y = grid(shape)
    found = warped(device, "image.chromatic_aberration", image, amount=0.1)
    middle_x, middle_y = (shape[1] - 1) / 2, (shape[0] - 1) / 2
    for channel, scale in ((0, 1.1), (2, 0.9)):
        place = middle_x + (x - middle_x) / scale, middle_y + (y - middle_y) / scale
        np.testing.assert_allclose(found[..., channel], at(image, *place, "extend")[..., channel], atol=5e-5)
    np.testing.assert_array_equal(found[..., [1, 3]], image[..., [1, 3]])


def test_sliders_of_warps_are_live() -> None:
    """A turn of an image costs one write; another edge is another kernel."""
    patch = Patch()
    node = patch.add("image.transform")
    patch.connect(patch.add("io.image_array", data=image_of((7, 5)))["out"], node["image"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(node, angle=10.0, scale=2.0)
        assert engine.step().update_level.name == "HOT"
        with pytest.raises(PatchError, match="edge"):
            patch.set(node, edge="nowhere")
