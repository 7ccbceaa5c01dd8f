"""Optical flow equals its formula in numpy, and is the motion of pictures that moved."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from warploom import Engine, Patch
from warploom.engine.device.device import Device
from warploom.engine.protocol.messages import Reset
from warploom.engine.types import Array


def _grey(brightness: Array) -> Array:
    """Return a picture whose square root of luminance is this."""
    light = brightness**2
    return np.dstack([light, light, light, np.ones_like(light)]).astype(np.float32)


def _waves(height: int, width: int, moved: tuple[float, float] = (0.0, 0.0)) -> Array:
    """Return a smooth picture, moved to the right and downwards."""
    random = np.random.default_rng(1)
    y, x = np.mgrid[:height, :width].astype(float)
    waves = zip(random.normal(size=(24, 2)) * 0.25, random.uniform(0, 6.3, 24), strict=True)
    sums = [np.cos(k[0] * (x - moved[0]) + k[1] * (y - moved[1]) + phase) for k, phase in waves]
    return _grey(np.clip(0.5 + 0.9 * np.mean(sums, axis=0), 0.05, 1))


def _flows(device: Device | str, pictures: Iterable[Array], **parameters: Any) -> list[Array]:
    """Return the motion of each picture from the one before."""
    patch, flows = Patch(), []
    pictures = iter(pictures)
    image, flow = patch.add("io.image_array", data=next(pictures)), patch.add("image.optical_flow", **parameters)
    patch.connect(image["out"], flow["image"])
    with Engine(patch, device=device) as engine:
        assert not engine.step().diagnostics
        flows.append(engine.read(flow["out"]))
        for picture in pictures:
            patch.set(image, data=picture)
            assert not engine.step().diagnostics
            flows.append(engine.read(flow["out"]))
    return flows


def _half(fine: Array) -> Array:
    wide = np.pad(fine, ((1, 3), (1, 3)), mode="edge")
    for axis in (0, 1):
        wide = ndimage.correlate1d(wide, np.array([1, 3, 3, 1]) / 8, axis=axis, origin=-1)
    return wide[1 : fine.shape[0] + 1 : 2, 1 : fine.shape[1] + 1 : 2]


def _formula(before: Array, now: Array, *, radius: int, noise: float, levels: int, steps: int) -> Array:
    """Return the motion by pyramidal Lucas-Kanade in float64."""
    if levels > 1:
        coarse = _formula(_half(before), _half(now), radius=radius, noise=noise, levels=levels - 1, steps=steps)
    else:
        coarse = np.zeros((1, 1, 2))
    y, x = np.mgrid[: now.shape[0], : now.shape[1]].astype(float)
    motion = [2 * _between(coarse[..., axis], x / 2 - 0.25, y / 2 - 0.25) for axis in (0, 1)]
    slope_y, slope_x = (np.gradient(now, axis=axis) if now.shape[axis] > 1 else 0 * now for axis in (0, 1))
    weights = 1 - (np.arange(-radius, radius + 1) / (radius + 1)) ** 2
    pull = (noise * weights.sum()) ** 2
    for _ in range(steps):
        from_x, from_y = x - motion[0], y - motion[1]
        inside = (from_x >= 0) & (from_x <= x.max()) & (from_y >= 0) & (from_y <= y.max())
        along = slope_x * motion[0] + slope_y * motion[1] - (now - _between(before, from_x, from_y))
        terms = (slope_x**2, slope_x * slope_y, slope_y**2, slope_x * along, slope_y * along)
        xx, xy, yy, u, v = (_window(np.where(inside, term, 0), weights) for term in terms)
        matrix = np.stack([xx + pull, xy, xy, yy + pull], -1).reshape(*now.shape, 2, 2)
        wanted = np.stack([u + pull * motion[0], v + pull * motion[1]], -1)
        found = np.linalg.solve(matrix, wanted[..., None])[..., 0]
        motion = [old + np.clip(found[..., axis] - old, -2, 2) for axis, old in enumerate(motion)]
    return np.stack(motion, -1)


def _between(picture: Array, x: Array, y: Array) -> Array:
    found: Array = ndimage.map_coordinates(picture, [y, x], order=1, mode="nearest")
    return found


def _window(term: Array, weights: Array) -> Array:
    for axis in (0, 1):
        term = ndimage.correlate1d(term, weights, axis=axis, mode="constant")
    return term


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        ((37, 53), {"radius": 4, "noise": 0.02, "levels": 3, "steps": 2}),
        ((24, 64), {"radius": 9, "noise": 0.1, "levels": 1, "steps": 3}),
        ((5, 3), {"radius": 2, "noise": 0.05, "levels": 4, "steps": 1}),
        ((1, 40), {"radius": 3, "noise": 0.05, "levels": 2, "steps": 2}),
        ((1, 1), {"radius": 1, "noise": 0.01, "levels": 8, "steps": 1}),
    ],
)
def test_the_motion_is_the_formulas(device: Device, shape: tuple[int, int], values: dict[str, Any]) -> None:
    """Motion equals that of numpy in float64 within 0.01 px, but for pixels that just enter the picture."""
    pictures = [_waves(*shape), _waves(*shape, moved=(1.3, -0.8))]
    _, found = _flows(device, pictures, **values)
    before, now = (np.sqrt(picture[..., 0].astype(float)) for picture in pictures)
    apart = np.abs(found - _formula(before, now, **values)).max(-1)
    assert (apart < 0.01).mean() > 0.97 and np.median(apart) < 1e-4


@pytest.mark.parametrize("moved", [(0.3, -0.6), (-1.5, 1.0), (4.2, 3.1), (8.0, -6.0)])
def test_a_picture_that_moved_has_that_motion(device: Device, moved: tuple[float, float]) -> None:
    """Far enough from the border, motion is within 0.1 px of the truth, for any part of a pixel."""
    _, found = _flows(device, [_waves(101, 133), _waves(101, 133, moved)])
    apart = np.linalg.norm(found - moved, axis=-1)[20:-20, 20:-20]
    assert apart.max() < 0.1 and apart.mean() < 0.03


def test_only_what_moves_has_motion(device: Device) -> None:
    """A disc that moves over a resting background has its motion, and the background has none."""
    y, x = np.mgrid[:90, :120]
    still, moving = _waves(90, 120), [_waves(90, 120)[::-1], np.roll(_waves(90, 120)[::-1], 2, axis=1)]
    discs = [np.hypot(x - at, y - 45) < 25 for at in (58, 60)]
    _, found = _flows(device, [np.where(d[..., None], m, still) for d, m in zip(discs, moving, strict=True)])
    away = np.hypot(x - 60, y - 45)
    assert np.abs(found - (2, 0))[away < 12].max() < 0.1
    assert np.abs(found)[away > 60].max() < 0.02


def test_still_pictures_and_the_first_one_rest(device: Device) -> None:
    """Motion is exactly 0 in the first frame, for a repeated picture, and for colours without texture."""
    picture, flat = _waves(20, 31), np.full((20, 31, 4), 0.5, np.float32)
    first, repeated, _, brighter = _flows(device, [picture, picture, flat, flat * 2])
    assert not first.any() and not repeated.any() and not brighter.any()


def test_numbers_that_are_no_light_pass(device: Device) -> None:
    """Pictures with NaN, infinities and negative numbers leave finite motion, and none once they are gone."""
    wild = _waves(20, 31)
    wild[3:9, 4] = np.array([[np.nan], [np.inf], [-np.inf], [-1], [1e30], [0]])
    flows = _flows(device, [_waves(20, 31), wild, _waves(20, 31), _waves(20, 31)])
    assert all(np.isfinite(flow).all() for flow in flows) and not flows[-1].any()


def test_motion_stays_until_a_new_picture() -> None:
    """Without `is_new` the motion stays; then it is that since the last new picture. A reset forgets the pictures."""
    patch = Patch()
    image, flow = patch.add("io.image_array", data=_waves(40, 60)), patch.add("image.optical_flow", levels=2)
    patch.connect(image["out"], flow["image"])
    with Engine(patch, device="host") as engine:

        def motion(moved: float, is_new: bool) -> float:
            patch.set(image, data=_waves(40, 60, (moved, 0)))
            patch.set(flow, is_new=is_new)
            engine.step()
            return float(np.median(engine.read(flow["out"])[..., 0]))

        found = [motion(*each) for each in [(0, True), (1, True), (1.5, False), (3, True), (3, True)]]
        assert found == pytest.approx([0, 1, 1, 2, 0], abs=0.03)
        engine.post(Reset())
        assert motion(5, True) == 0 and motion(6, True) == pytest.approx(1, abs=0.03)
        patch.set(flow, levels=3)
        assert motion(7, True) == pytest.approx(1, abs=0.1)
        assert motion(8, True) == pytest.approx(1, abs=0.03)
