"""Heat, waves, drops, fractals and their pictures, compared with numpy."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.blocks import control_oracles as oracles
from tests.blocks.running import apply, run
from warploom import Engine, Patch

SHAPES = [(1, 1), (1, 9), (2, 7), (3, 3), (17, 33)]


def _noise(shape: tuple[int, ...], seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _on_copy(block: str, data: dict[str, Any], *ports: str, frames: int = 1, **parameters: Any) -> list[Any]:
    """Return the outputs of a block that works in place, on fresh copies of arrays."""
    patch = Patch()
    node = patch.add(block, **parameters)
    for name, array in data.items():
        copy = patch.add("buffer.copy")
        patch.connect(patch.add("io.array", data=array)["out"], copy["x"])
        patch.connect(copy["out"], node[name])
    return run(patch, *(node[port] for port in ports), frames=frames)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_jacobi_step_is_numpys(shape: tuple[int, ...]) -> None:
    """Field and largest change equal numpy's to the bit, also for fields without inner points."""
    u = _noise(shape)
    expected, change = oracles.jacobi_step(u)
    np.testing.assert_array_equal(apply("field.jacobi_step", {"u": u}), expected)
    assert apply("field.jacobi_step", {"u": u}, port="change").tolist() == [change]


def test_a_step_that_makes_nan_changes_a_lot() -> None:
    """The largest change of a field with a NaN is NaN."""
    u = np.zeros((5, 5), np.float32)
    u[2, 2] = np.nan
    assert np.isnan(apply("field.jacobi_step", {"u": u}, port="change")[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_edges_are_set(shape: tuple[int, ...]) -> None:
    """Edges are set to their values, with the rows' at the corners; inner points stay."""
    field = _noise(shape)
    (out,) = _on_copy("field.edges", {"field": field}, "out", top=1.0, bottom=2.0, left=3.0, right=4.0)
    expected = field.copy()
    expected[:, -1], expected[:, 0] = 4, 3
    expected[-1], expected[0] = 2, 1
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_wave_step_is_the_wave_equation(shape: tuple[int, ...]) -> None:
    """A step of the wave equation equals numpy's: velocities change first, then heights, and edges mirror."""
    heights, velocities = _noise(shape), _noise(shape, 2)
    data = {"heights": heights, "velocities": velocities}
    found = _on_copy("field.wave_step", data, "heights_out", "velocities_out", speed=0.4, damping=0.1)
    for out, expected in zip(found, oracles.wave_step(heights, velocities, 0.4, 0.1), strict=True):
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_waves_keep_their_energy() -> None:
    """Without damping, the waves' energy stays nearly the same over many frames."""
    patch = Patch()
    heights = patch.add("buffer.state", shape="24, 40")
    velocities = patch.add("buffer.state", shape="24, 40")
    first, once = patch.add("control.every", period=1_000_000), patch.add("control.if")
    drop = patch.add("field.drop", region=once, radius=8.0)
    step = patch.add("field.wave_step", speed=0.2, damping=0.0)
    patch.connect(first["due"], once["condition"])
    patch.connect(heights["out"], drop["field"])
    patch.connect(drop["out"], step["heights"])
    patch.connect(velocities["out"], step["velocities"])
    energies = []
    with Engine(patch, device="host") as engine:
        for _ in range(60):
            assert not engine.step().diagnostics
            h, v = (engine.read(step[port]).astype(np.float64) for port in ("heights_out", "velocities_out"))
            before = h - v
            slopes = [np.diff(h, axis=axis) * np.diff(before, axis=axis) for axis in (0, 1)]
            energies.append((v**2).sum() + 0.2 * sum(part.sum() for part in slopes))
    assert min(energies) > 0.1
    np.testing.assert_allclose(energies, energies[0], rtol=1e-4)


def test_drops_fall_in_other_places_each_time() -> None:
    """Drops differ in place and have their strength and radius; equal seeds repeat them, and another seed does not."""

    def fall(seed: int) -> list[Any]:
        patch = Patch()
        field = patch.add("buffer.state", shape="60, 90")
        drop = patch.add("field.drop", strength=2.0, radius=5.0, seed=seed)
        patch.connect(field["out"], drop["field"])
        with Engine(patch, device="host") as engine:
            fields = [np.zeros((60, 90), np.float32)]
            for _ in range(8):
                engine.step()
                fields.append(engine.read(drop["out"]))
        return [late - early for early, late in pairwise(fields)]

    drops = fall(1)
    places = set()
    for change in drops:
        assert -2.0 <= change.min() < -1.6 and change.max() <= 1e-5
        rows, columns = np.nonzero(change < -1e-5)
        assert np.ptp(rows) <= 10 and np.ptp(columns) <= 10
        places.add((round(rows.mean()), round(columns.mean())))
    assert len(places) == 8
    assert all((a == b).all() for a, b in zip(drops, fall(1), strict=True))
    assert any((a != b).any() for a, b in zip(drops, fall(2), strict=True))


@pytest.mark.parametrize(("width", "height"), [(16, 16), (33, 17)])
@pytest.mark.parametrize("steps", [1, 7])
def test_mandelbrot_steps_are_numpys(width: int, height: int, steps: int) -> None:
    """Points, counts and the number of active points equal numpy's to the bit, also with a small limit."""
    patch = Patch()
    points = patch.add("fractal.points", width=width, height=height)
    step = patch.add("fractal.mandelbrot_step", steps=steps, most=5)
    patch.connect(points["points"], step["points"])
    patch.connect(points["counts"], step["counts"])
    z, counts, active = run(patch, step["points_out"], step["counts_out"], step["active"])
    expected_z, expected_counts, inside = oracles.mandelbrot(z[..., 2:], min(steps, 5))
    np.testing.assert_array_equal(counts, expected_counts)
    np.testing.assert_array_equal(z[..., :2], expected_z)
    assert active.tolist() == [inside.sum() if steps < 5 else 0]


def test_points_span_the_plane() -> None:
    """The centre is in the middle, neighbours are span / width apart, and imaginary parts increase upwards."""
    z = apply("fractal.points", {}, port="points", width=17, height=19, real=0.25, imaginary=-0.5, span=3.4)
    np.testing.assert_allclose(z[9, 8], [0, 0, 0.25, -0.5])
    np.testing.assert_allclose(np.diff(z[..., 2], axis=1), 0.2, rtol=1e-5)
    np.testing.assert_allclose(np.diff(z[..., 3], axis=0), -0.2, rtol=1e-5)


def test_colors_of_values() -> None:
    """Values up to the low end are black, and values from the high end on get the palette's first colour."""
    x = np.linspace(-2, 4, 25, dtype=np.float32).reshape(1, -1)
    image = apply("image.color_ramp", {"x": x}, port="image", low=-1.0, high=3.0, palette="ice")[0]
    assert (image[:5, :3] == 0).all() and (image[..., 3] == 1).all()
    np.testing.assert_allclose(image[20:, :3], np.tile([0.95, 0.98, 1.0], (5, 1)), atol=1e-6)
    assert (np.diff(image[4:21, :3].sum(1)) > 0).all()


def test_relief_lights_slopes_that_face_the_light() -> None:
    """A slope that faces the light is brighter than a flat surface; one that faces away is darker."""
    y, x = np.mgrid[:16, :24].astype(np.float32)
    look = {"steepness": 1.0, "shine": 0.0, "red": 0.2, "green": 0.3, "blue": 0.4}

    def middle(heights: Any) -> Any:
        return apply("image.relief", {"heights": heights}, port="image", **look)[8, 12]

    flat = apply("image.relief", {"heights": np.zeros((16, 24), np.float32)}, port="image", **look)
    assert np.ptp(flat.reshape(-1, 4), axis=0).max() == 0
    np.testing.assert_allclose(flat[0, 0, :3], np.array([0.2, 0.3, 0.4]) * (0.15 + 1.25 / np.sqrt(3)), rtol=1e-5)
    assert middle(0.5 * (x + y))[0] > flat[0, 0, 0] > middle(-0.5 * (x + y))[0]
    # The half vector of a light along (-1, -1, 1) and an eye along (0, 0, 1), against a normal along (0, 0, 1).
    half = np.array([-1, -1, 1]) / np.sqrt(3) + [0, 0, 1]
    shiny = apply("image.relief", {"heights": np.zeros((16, 24), np.float32)}, port="image", **(look | {"shine": 1.0}))
    np.testing.assert_allclose(shiny[0, 0, :3] - flat[0, 0, :3], (half[2] / np.linalg.norm(half)) ** 32, rtol=5e-3)
