"""Curves through points, and images whose colours they change."""

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from tests.blocks.running import run
from warploom import Engine, Patch
from warploom.blocks.color.curve_points import STRAIGHT, along_curve, points_text, read_points
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.types import Array


def encoded(light: Array) -> Array:
    light = np.maximum(light, 0)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def decoded(code: Array) -> Array:
    return np.where(code <= 0.04045, code / 12.92, ((np.maximum(code, 0) + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_curves_are_scipys(count: int) -> None:
    """Between its points a curve equals scipy's monotone cubic; beyond them it stays level."""
    rng = np.random.default_rng(count)
    x = np.sort(rng.choice(np.arange(2, 100), count, replace=False)) / 100
    for y in (rng.random(count), np.sort(rng.random(count)), np.round(rng.random(count))):
        places = np.linspace(0, 1, 333)
        found = along_curve(list(zip(x.tolist(), y.tolist(), strict=True)), places)
        expected = PchipInterpolator(x, y)(places.clip(x[0], x[-1]))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_one_point_is_a_level() -> None:
    """A curve of one point is the same everywhere."""
    assert (along_curve([(0.3, 0.7)], np.linspace(0, 1, 5)) == 0.7).all()


def test_points_are_read_and_written() -> None:
    """Points are sorted by their place, and their text gives them back."""
    points = read_points(" 1 0.5,0 0 , .25 .75", "all")
    assert points == [(0, 0), (0.25, 0.75), (1, 0.5)]
    assert read_points(points_text(points), "all") == points


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'red must be points such as "0 0, 1 1"'),
        ("0 0, 1", "red must be points"),
        ("0 0, 1 nan", "numbers from 0 to 1"),
        ("0 0, 2 1", "numbers from 0 to 1"),
        ("0 0, 0 1", "each place once"),
    ],
)
def test_what_is_no_curve_is_refused(text: str, words: str) -> None:
    """Each mistake in a text of points is told by the name of the parameter."""
    with pytest.raises(PatchError, match=words):
        read_points(text, "red")


def image(*shape: int) -> Array:
    return np.random.default_rng(1).random((*shape, 4), np.float32)


def test_colours_follow_their_curves(device: Device) -> None:
    """Each colour follows the curve of all and then its own, encoded or linear; luminance keeps the hue."""
    x = image(31, 33)
    given = {"all": "0 0, 0.3 0.15, 0.7 0.9, 1 1", "red": "0 0.2, 1 0.8", "blue": "0 1, 1 0"}

    def along(name: str, values: Array) -> Array:
        return along_curve(read_points(given.get(name, STRAIGHT), name), values.clip(0, 1))

    def own(code: Array) -> Array:
        return np.stack([along(name, code[..., c]) for c, name in enumerate(("red", "green", "blue"))], axis=-1)

    light = x[..., :3].astype(float)
    grey = light @ (0.2126, 0.7152, 0.0722)
    brighter = light * (decoded(along("all", encoded(grey))) / grey)[..., None]
    expected = {
        ("colours", "sRGB"): decoded(own(along("all", encoded(light)))),
        ("colours", "linear"): own(along("all", light)),
        ("luminance", "sRGB"): decoded(own(encoded(brighter))),
    }
    patch = Patch()
    source = patch.add("io.image_array", data=x)
    nodes = {how: patch.add("image.curves", by=how[0], space=how[1], amount=0.5, **given) for how in expected}
    for node in nodes.values():
        patch.connect(source["out"], node["image"])
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        for how, node in nodes.items():
            found = engine.read(node["out"])
            np.testing.assert_array_equal(found[..., 3], x[..., 3])
            np.testing.assert_allclose(found[..., :3], (light + expected[how]) / 2, atol=2e-5)


def test_straight_curves_change_nothing(device: Device) -> None:
    """Straight curves leave an image as it is, down to black."""
    x = image(3, 5)
    x[0, 0] = 0
    patch = Patch()
    source = patch.add("io.image_array", data=x)
    for by in ("colours", "luminance"):
        node = patch.add("image.curves", by=by)
        patch.connect(source["out"], node["image"])
        np.testing.assert_allclose(run(patch, node["out"], device=device)[0], x, atol=2e-6)
