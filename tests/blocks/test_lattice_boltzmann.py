"""The lattice Boltzmann method, compared with numpy in f64, and with flows that have a closed form."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device

#: Steps of the directions, x before y, with their weights.
STEPS = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1)])
WEIGHTS = np.array([4 / 9, *[1 / 9] * 4, *[1 / 36] * 4])


def flows(device: Device, frames: int, given: dict[str, Any], **parameters: Any) -> list[tuple[Any, Any]]:
    """Return velocities and densities after each frame, in f64."""
    patch = Patch()
    fluid = patch.add("field.lattice_boltzmann", **parameters)
    for name, array in given.items():
        data = patch.add("io.array", data=np.ascontiguousarray(array, np.float32))
        if array.ndim == 3:
            pairs = patch.add("buffer.reinterpret", dtype="float2")
            flat = patch.add("buffer.reshape", shape=", ".join(map(str, array.shape[:2])))
            patch.connect(data["out"], pairs["x"])
            patch.connect(pairs["out"], flat["x"])
            data = flat
        patch.connect(data["out"], fluid[name])
    found = []
    with Engine(patch, device) as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            velocity, density = (engine.read(fluid[name]) for name in ("velocity", "density"))
            found.append((velocity.astype(float), density.astype(float)))
    return found


def balanced(density: Any, velocity: Any) -> Any:
    """Return what each direction has in balance."""
    along = 3 * np.einsum("ik,yxk->iyx", STEPS, velocity)
    return WEIGHTS[:, None, None] * density * (1 + along + along**2 / 2 - 1.5 * (velocity**2).sum(2))


def stepped(parts: Any, solid: Any, push: Any, viscosity: float, eddies: float, border: str, speed: float) -> Any:
    """Return the parts after a step, with the velocities and densities of the collisions."""
    height, width = solid.shape
    wind = balanced(np.ones((1, 1)), np.full((1, 1, 2), (speed, 0.0)))[:, 0, 0]
    come = np.empty_like(parts)
    for i, (dx, dy) in enumerate(STEPS):
        for y in range(height):
            for x in range(width):
                column, row = x - dx, y - dy
                outside = not (0 <= column < width and 0 <= row < height)
                left, right = column < 0, column >= width
                column, row = x if right and border == "wind tunnel" else column % width, row % height
                if (outside and border == "walls") or solid[row, column]:
                    opposite = np.flatnonzero(((-dx, -dy) == STEPS).all(1))[0]
                    come[i, y, x] = parts[opposite, y, x]
                else:
                    come[i, y, x] = wind[i] if left and border == "wind tunnel" else parts[i, row, column]
    density = come.sum(0)
    velocity = (np.einsum("ik,iyx->yxk", STEPS, come) + push / 2) / density[..., None]
    apart = come - balanced(density, velocity)
    stress = np.einsum("ia,ib,iyx->yxab", STEPS, STEPS, apart)
    usual = 3 * viscosity + 0.5
    strain = np.sqrt(2 * (stress**2).sum((2, 3)))
    time = (usual + np.sqrt(usual**2 + 18 * eddies**2 * strain / density)) / 2
    relative = STEPS[:, None, None, :] - velocity
    along = np.einsum("ik,yxk->iyx", STEPS, velocity)[..., None]
    pull = ((3 * relative + 9 * along * STEPS[:, None, None, :]) * push).sum(3)
    after = come - apart / time + (1 - 0.5 / time) * WEIGHTS[:, None, None] * pull
    after[:, solid] = WEIGHTS[:, None]
    velocity[solid], density[solid] = 0, 1
    return after, velocity, density


@pytest.mark.parametrize("border", ["torus", "walls", "wind tunnel"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 33), (17, 9)])
def test_steps_are_numpys(device: Device, shape: tuple[int, int], border: str) -> None:
    """Velocities and densities after some steps are those of numpy, with obstacles and forces."""
    chance = np.random.default_rng(2)
    solid, push = chance.random(shape) < 0.15, chance.normal(0, 1e-3, (*shape, 2))
    start = chance.normal(0, 0.03, (*shape, 2))
    fluid = {"viscosity": 0.03, "eddies": 0.2, "speed": 0.08, "border": border}
    size = {"width": shape[1], "height": shape[0], "steps": 3}
    found = flows(device, 2, {"solid": solid, "push": push, "start": start}, force_x=1e-3, **size, **fluid)
    parts = balanced(np.ones(shape), start.astype(np.float32).astype(float))
    for velocity, density in found:
        for _ in range(3):
            parts, wanted, mass = stepped(parts, solid, push + np.array([1e-3, 0]), **fluid)
        np.testing.assert_allclose(velocity, wanted, atol=2e-6)
        np.testing.assert_allclose(density, mass, atol=2e-6)


def test_mass_and_momentum_stay(device: Device) -> None:
    """On a torus, neither mass nor momentum changes, but by the force, which adds itself in each step."""
    start = np.random.default_rng(1).normal(0, 0.05, (31, 47, 2))
    size: dict[str, Any] = {"width": 47, "height": 31, "steps": 10, "border": "torus", "viscosity": 0.01}
    for force in (0.0, 1e-4):
        found = flows(device, 4, {"start": start}, force_y=force, **size)
        first = start.sum((0, 1))
        for frame, (velocity, density) in enumerate(found, 1):
            assert density.sum() == pytest.approx(31 * 47, rel=1e-6)
            # The velocity that is seen includes half of the force of the step.
            added = np.array([0, force * 31 * 47 * (10 * frame - 0.5)])
            momentum = (velocity * density[..., None]).sum((0, 1))
            np.testing.assert_allclose(momentum, first + added, atol=2e-3)


def test_vortices_fade_as_taylor_and_green_say(device: Device) -> None:
    """The velocity of a lattice of vortices falls by exp(-2 k² viscosity) in each step."""
    size, k = 48, 2 * np.pi / 48
    y, x = np.mgrid[:size, :size] + 0.5
    start = 0.01 * np.stack([np.cos(k * x) * np.sin(k * y), -np.sin(k * x) * np.cos(k * y)], -1)
    fluid: dict[str, Any] = {"width": size, "height": size, "steps": 50, "border": "torus", "eddies": 0.0}
    (_, (velocity, _)) = flows(device, 2, {"start": start}, viscosity=0.05, **fluid)
    np.testing.assert_allclose(velocity, start * np.exp(-2 * k**2 * 0.05 * 100), atol=2e-4 * 0.5)


def test_a_channel_has_the_profile_of_poiseuille(device: Device) -> None:
    """Between two walls, a force leads to a parabola, with the walls half a cell beyond the fluid."""
    solid = np.zeros((18, 3))
    solid[0] = solid[-1] = 1
    force, viscosity = 1e-5, float(np.sqrt(3 / 16)) / 3  # the one for which the walls are exactly there
    fluid: dict[str, Any] = {"width": 3, "height": 18, "steps": 200, "border": "torus", "eddies": 0.0}
    velocity, _ = flows(device, 20, {"solid": solid}, viscosity=viscosity, force_x=force, **fluid)[-1]
    y = np.arange(16) + 0.5
    expected = force / (2 * viscosity) * y * (16 - y)
    np.testing.assert_allclose(velocity[1:-1, 1, 0], expected, rtol=2e-3)
    assert np.abs(velocity[..., 1]).max() < 1e-7


def test_a_tunnel_blows_with_its_speed(device: Device) -> None:
    """Without obstacles, the wind is even; behind one it is slower, and the flow stays finite at a low viscosity."""
    tunnel: dict[str, Any] = {"width": 64, "height": 32, "steps": 100, "speed": 0.12, "viscosity": 0.0005}
    velocity, density = flows(device, 1, {}, **tunnel)[-1]
    np.testing.assert_allclose(velocity, np.broadcast_to((0.12, 0), velocity.shape), atol=1e-5)
    y, x = np.mgrid[:32, :64]
    velocity, density = flows(device, 6, {"solid": (x - 16) ** 2 + (y - 15) ** 2 < 25}, **tunnel)[-1]
    assert velocity[13:18, 22:26, 0].mean() < 0.06 < 0.12 < velocity[:4, 10:22, 0].mean()
    assert np.isfinite(density).all() and 0.8 < density.min() < density.max() < 1.2
