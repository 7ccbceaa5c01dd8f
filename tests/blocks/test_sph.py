"""Water as particles, compared with sums over all pairs in f64, and the laws that it obeys."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device

STEP = 1 / 60
FREE: dict[str, Any] = {"half_width": 100.0, "half_depth": 100.0, "floor": -100.0}


def flows(
    device: Device, points: Any, frames: int, speed: float = 0.0, **parameters: Any
) -> list[tuple[Any, Any, Any]]:
    """Return the particles before and after each frame, and their densities."""
    patch = Patch()
    full = np.concatenate([points, np.ones((len(points), 1))], 1).astype(np.float32)
    vectors, before = patch.add("buffer.reinterpret", dtype="float4"), patch.add("buffer.copy")
    source = patch.add("particles.scatter", count=len(points), size=1.0, height=0.0, speed=speed)
    water = patch.add("particles.sph", **(FREE | parameters))
    patch.connect(patch.add("io.array", data=full.ravel())["out"], vectors["x"])
    patch.connect(vectors["out"], source["points"])
    patch.connect(source["particles"], before["x"])
    patch.connect(source["particles"], water["particles"])
    found = []
    with Engine(patch, device, time_step_s=STEP) as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            found.append(tuple(engine.read(port) for port in (before["out"], water["out"], water["density"])))
    return found


def oracle(at: Any, way: Any, spacing: float, sound: float, viscosity: float, gravity: float, step: float) -> Any:
    """Return densities, and positions and velocities after a step, of particles without walls."""
    reach = 2 * spacing
    ways = at[None] - at[:, None]
    far = np.linalg.norm(ways, axis=2)
    inside = far < reach
    density = (inside * 315 / (64 * np.pi * reach**9) * (reach**2 - far**2) ** 3).sum(1) * spacing**3
    pressure = min(sound, 0.3 * reach / step) ** 2 * np.maximum(density - 1, 0) / density**2
    other = inside & (far > 0)
    slope = other * 45 / (np.pi * reach**6) * (reach - far) ** 2 * spacing**3
    push = -(slope * (pressure[:, None] + pressure[None]) / np.where(other, far, 1))[..., None] * ways
    curve = other * 45 / (np.pi * reach**6) * (reach - far) * spacing**3
    thick = min(viscosity, 0.1 * spacing**2 / step)
    drag = (2 * thick * curve / (density[:, None] + density[None]))[..., None] * (way[None] - way[:, None])
    way = way + step * ((push + drag).sum(1) - [0, gravity, 0])
    return density, at + step * way, way


@pytest.mark.parametrize("count", [1, 2, 31, 257])
def test_steps_are_sums_over_all_pairs(device: Device, count: int) -> None:
    """Densities, velocities and positions are numpy's, though the block only looks into the cells around."""
    points = np.random.default_rng(count).uniform(-1, 1, (count, 3)) * 0.03 * count ** (1 / 3)
    fluid = {"spacing": 0.05, "sound": 12.0, "viscosity": 0.05, "gravity": 3.0}
    ((before, after, density),) = flows(device, points, 1, speed=0.5, steps=2, **fluid)
    at, way = before["position"].astype(float), before["velocity"].astype(float)
    for _ in range(2):
        weight, at, way = oracle(at, way, **fluid, step=STEP / 2)
    np.testing.assert_allclose(density, weight, rtol=2e-4)
    np.testing.assert_allclose(after["velocity"], way, atol=2e-3 * (1 + np.abs(way).max()))
    np.testing.assert_allclose(after["position"], at, atol=1e-4)


def test_a_lattice_has_the_density_of_its_sum(device: Device) -> None:
    """Inside a lattice, the density is the sum of the kernel over the 27 places in reach."""
    axis = np.arange(-4, 5) * 0.1
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3) + 0.01
    ((_, _, density),) = flows(device, points, 1, steps=1, spacing=0.1, gravity=0.0)
    shares = [(1, 0.0), (6, 1.0), (12, 2.0), (8, 3.0)]  # how many, and the square of the distance in spacings
    expected = 315 / (64 * np.pi * 8) * sum(n * (1 - square / 4) ** 3 for n, square in shares)
    inner = (np.abs(points - 0.01) < 0.25).all(1)
    np.testing.assert_allclose(density[inner], expected, rtol=1e-4)
    assert expected == pytest.approx(1, abs=0.01) and density.min() > 0.3


def test_momentum_stays_and_energy_does_not_grow(device: Device) -> None:
    """Without gravity and walls, a splash keeps its momentum, and its pressure only turns into speed."""
    points = np.random.default_rng(3).uniform(-0.12, 0.12, (400, 3))
    found = flows(device, points, 20, speed=1.0, gravity=0.0, viscosity=0.1)
    first = found[0][0]["velocity"].sum(0, dtype=float)
    for _, after, _ in found:
        np.testing.assert_allclose(after["velocity"].sum(0, dtype=float), first, atol=2e-2)
    speeds = [np.linalg.norm(after["velocity"], axis=1).max() for _, after, _ in found]
    assert np.isfinite(speeds).all() and speeds[-1] <= max(speeds)
    kinetic = [(after["velocity"].astype(float) ** 2).sum() for _, after, _ in found]
    assert kinetic[-1] < 1.02 * max(kinetic[2:8])


def test_water_comes_to_rest_in_its_box(device: Device) -> None:
    """After some time, a column has fallen to the height that its volume fills, and nothing leaves the box."""
    axis = np.arange(5) * 0.1
    points = np.stack(np.meshgrid(axis - 0.2, np.arange(12) * 0.1 + 0.05, axis - 0.2, indexing="ij"), -1).reshape(-1, 3)
    box: dict[str, Any] = {"half_width": 0.5, "half_depth": 0.25, "floor": 0.0, "bounce": 0.0}
    fluid: dict[str, Any] = {"spacing": 0.1, "viscosity": 0.3, "steps": 4}
    found = flows(device, points, 240, **fluid, **box)
    at, way = found[-1][1]["position"], found[-1][1]["velocity"]
    assert np.abs(at[:, 0]).max() <= 0.5 and np.abs(at[:, 2]).max() <= 0.25 and at[:, 1].min() >= 0
    # The particles' volume fills 0.6 m; those at the walls are packed closer, since nothing pushes from beyond.
    assert 0.25 < at[:, 1].max() < 0.6 and np.linalg.norm(way, axis=1).mean() < 0.2
    energy = [(9.8 * after["position"][:, 1] + (after["velocity"] ** 2).sum(1) / 2).sum() for _, after, _ in found]
    assert max(energy) <= 1.05 * energy[0] and energy[-1] < energy[0]


def test_runs_are_equal_to_the_bit(device: Device) -> None:
    """Two runs are equal to the bit, whatever order threads have."""
    points = np.random.default_rng(1).uniform(-0.15, 0.15, (500, 3))
    one, other = (flows(device, points, 5) for _ in range(2))
    assert one[-1][1].tobytes() == other[-1][1].tobytes()
