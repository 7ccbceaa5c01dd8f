"""Hashes, noise and sampling agree with numpy, and noise obeys its laws."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from tests.ops.reference import assert_same
from tests.ops.reference_numbers import Array
from tests.ops.running import run
from warploom.engine.device.device import Device
from warploom.engine.ops import OpGraphBuilder

_F = np.float32


def _mixed(h: Array) -> Array:
    h = (h ^ h >> 16) * np.uint32(0x7FEB352D)
    h = (h ^ h >> 15) * np.uint32(0x846CA68B)
    return h ^ h >> 16


def _hash(seed: int, *place: Array) -> Array:
    h = _mixed(np.full(np.shape(place[0]), seed, np.uint32) + np.uint32(0x9E3779B9))
    for coordinate in reversed(place):
        h = _mixed(h + coordinate.astype(np.int32).view(np.uint32))
    return h


def _share(h: Array) -> Array:
    return (h >> 8).astype(_F) * _F(2**-24)


def _dot(h: Array, offset: list[Array]) -> Array:
    parts = [((h >> 10 * at & 1023).astype(_F) * _F(2 / 1023) - _F(1)) * o for at, o in enumerate(offset)]
    return sum(parts[1:], parts[0])


def _lattice_noise(kind: str, seed: int, place: list[Array]) -> Array:
    """Return noise as the ops' help and Perlin's "Improving noise" define it."""
    floors = [np.floor(x) for x in place]
    offsets = [x - below for x, below in zip(place, floors, strict=True)]
    weights = [t * t * t * (t * (t * _F(6) - _F(15)) + _F(10)) for t in offsets]
    corners = {}
    for bits in itertools.product((0, 1), repeat=len(place)):
        h = _hash(seed, *(below.astype(np.int64) + bit for below, bit in zip(floors, bits, strict=True)))
        corner = [o - _F(bit) for o, bit in zip(offsets, bits, strict=True)]
        corners[bits] = _share(h) if kind == "value" else _dot(h, corner)
    for weight in weights:
        rest = {bits[1:] for bits in corners}
        corners = {bits: corners[0, *bits] * (_F(1) - weight) + corners[1, *bits] * weight for bits in rest}
    return corners[()]


def test_hashes_and_random_numbers_depend_on_all_coordinates(device: Device) -> None:
    """Hashes equal numpy's, and random numbers are spread evenly over [0, 1)."""
    g = OpGraphBuilder()
    i = g.add("op.index")["index"]
    other = g.add("op.negate", x=i)["out"]
    for name in ("hash", "random"):
        whole = g.add(f"op.{name}", x=i, y=other, z=7.0, seed=2.0)["out"]
        g.add("op.output", name, value=whole)
    found = run(device, g.graph(), {}, 100_003)
    n = np.arange(100_003)
    h = _hash(2, n, -n, np.full_like(n, 7))
    assert_same(found["hash"], h, "hash")
    assert_same(found["random"], _share(h), "random")
    counts = np.histogram(found["random"], 16, (0, 1))[0]
    assert abs(counts - 100_003 / 16).max() < 5 * np.sqrt(100_003 / 16)
    assert len(np.unique(h)) > 99_900


def test_noise_is_what_its_formula_says(device: Device) -> None:
    """Noise in 1 to 3 dimensions equals its formula; at integer positions gradient noise is 0."""
    size = 1027
    random = np.random.default_rng(4)
    place = {axis: (random.uniform(-40, 40, size)).astype(_F) for axis in "xyz"}
    place["x"][:100] = np.arange(-50, 50)
    place["y"][:100] = place["z"][:100] = 3
    g = OpGraphBuilder()
    ports = {axis: g.add("op.input", axis)["value"] for axis in "xyz"}
    for kind, dimensions in itertools.product(("value", "gradient"), "123"):
        noise = g.add(f"op.{kind}_noise", **ports, seed=5.0, dimensions=dimensions)
        g.add("op.output", f"{kind}_{dimensions}", value=noise["out"])
    for name, found in run(device, g.graph(), place, size).items():
        kind, _, dimensions = name.partition("_")
        expected = _lattice_noise(kind, 5, [place[axis] for axis in "xyz"[: int(dimensions)]])
        assert_same(found, expected, name)
        if kind == "gradient":
            np.testing.assert_array_equal(found[:100], 0)
            assert -1 <= found.min() < -0.3 and 0.3 < found.max() <= 1
        else:
            assert 0 <= found.min() < 0.1 and 0.9 < found.max() <= 1


@pytest.mark.parametrize("dimensions", ["2", "3"])
def test_simplex_noise_is_smooth_bounded_and_even(device: Device, dimensions: str) -> None:
    """The steps of the noise shrink with the distance, it stays within 1, and its mean is 0."""
    steps = 400
    g = OpGraphBuilder()
    p = g.add("op.position")
    scale = g.add("op.parameter", "scale")["out"]
    ports = {axis: g.add("op.multiply", a=p[axis], b=scale)["out"] for axis in "xy"}
    noise = g.add("op.simplex_noise", **ports, z=ports["y"], dimensions=dimensions)
    g.add("op.output", "noise", value=noise["out"])
    coarse, fine = (run(device, g.graph(), {}, (steps, steps), scale=s)["noise"] for s in (0.37, 0.01))
    assert np.abs(coarse).max() < 1
    assert coarse.std() > 0.15
    assert abs(coarse.mean()) < 0.02
    assert max(np.abs(np.diff(fine, axis=axis)).max() for axis in (0, 1)) < 0.12


@pytest.mark.parametrize(("dtype", "channels"), [("f32", 1), ("uchar4", 4)])
def test_samples_blend_neighbours(device: Device, dtype: str, channels: int) -> None:
    """Samples equal scipy's map_coordinates of order 1 and 0, with the boundary's rule beyond the edge."""
    modes = {"clamp": "nearest", "wrap": "grid-wrap", "mirror": "reflect", "zero": "grid-constant"}
    random = np.random.default_rng(2)
    shape = (7, 11) if channels == 1 else (7, 11, channels)
    image = random.integers(0, 256, shape).astype(np.float32 if channels == 1 else np.uint8)
    size = 1023
    inputs = {"image": image, "u": random.uniform(-2, 3, size).astype(_F), "v": random.uniform(-2, 3, size).astype(_F)}
    g = OpGraphBuilder()
    source = g.add("op.input", "image", type=dtype)["buffer"]
    u, v = (g.add("op.input", name)["value"] for name in "uv")
    for boundary, (kind, filter_) in itertools.product(modes, (("unit", "linear"), ("elements", "nearest"))):
        sample = g.add("op.sample", buffer=source, u=u, v=v, boundary=boundary, coordinates=kind, filter=filter_)
        g.add("op.output", f"{boundary}_{filter_}", value=sample["out"])
    found = run(device, g.graph(), inputs, size)
    planes = image[..., None] if channels == 1 else image
    for (boundary, mode), filter_ in itertools.product(modes.items(), ("linear", "nearest")):
        x, y = inputs["u"].astype(float), inputs["v"].astype(float)
        if filter_ == "linear":
            x, y = x * 11 - 0.5, y * 7 - 0.5
        expected = [
            ndimage.map_coordinates(plane.astype(float), [y, x], order=filter_ == "linear", mode=mode)
            for plane in np.moveaxis(planes, -1, 0)
        ]
        array = found[f"{boundary}_{filter_}"].reshape(size, channels)
        np.testing.assert_allclose(array, np.stack(expected, axis=-1), atol=0.01, err_msg=f"{boundary} {filter_}")


def test_a_table_is_sampled_along_one_axis(device: Device) -> None:
    """Samples equal np.interp between the centres of the first and the last element, and the end values beyond."""
    g = OpGraphBuilder()
    table = g.add("op.input", "table", type="double2")
    u = g.add("op.input", "u")["value"]
    g.add("op.output", "out", value=g.add("op.sample_1d", buffer=table["buffer"], u=u)["out"])
    values = np.random.default_rng(1).normal(size=(9, 2))
    place = np.linspace(-0.5, 1.5, 1027, dtype=_F)
    found = run(device, g.graph(), {"table": values, "u": place}, 1027)["out"]
    for at in range(2):
        expected = np.interp(place.astype(float) * 9 - 0.5, np.arange(9), values[:, at])
        np.testing.assert_allclose(found[:, at], expected, atol=1e-5)
