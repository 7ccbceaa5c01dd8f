"""Springs between particles, compared with numpy and with the swing of two bodies."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import problems
from warploom import Engine, Patch
from warploom.engine.device.device import Device

STEP = 1 / 60


def swings(
    device: Device, points: Any, edges: Any, frames: int, speed: float = 0.0, step: float = STEP, **parameters: Any
) -> list[tuple[Any, Any]]:
    """Return the particles before and after the springs in each frame, in which Integrate moves them."""
    patch = Patch()
    full = np.concatenate([points, np.ones((len(points), 1))], 1).astype(np.float32)
    vectors, before = patch.add("buffer.reinterpret", dtype="float4"), patch.add("buffer.copy")
    source = patch.add("particles.scatter", count=len(points), size=1.0, height=0.0, speed=speed)
    springs, move = patch.add("particles.springs", **parameters), patch.add("particles.integrate", floor=-10.0)
    patch.connect(patch.add("io.array", data=full.ravel())["out"], vectors["x"])
    patch.connect(vectors["out"], source["points"])
    patch.connect(patch.add("io.array", data=np.asarray(edges, np.int32))["out"], springs["edges"])
    patch.connect(source["particles"], before["x"])
    patch.connect(source["particles"], springs["particles"])
    patch.connect(springs["out"], move["particles"])
    found = []
    with Engine(patch, device, time_step_s=step) as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            found.append((engine.read(before["out"]), engine.read(move["out"])))
    return found


@pytest.mark.parametrize(("count", "corners"), [(2, 2), (33, 2), (33, 3), (257, 3)])
def test_velocities_change_by_the_sum_of_the_springs(device: Device, count: int, corners: int) -> None:
    """Each end changes by what its springs do, and both by the same; wrong indices are left out; momentum stays."""
    rng = np.random.default_rng(count)
    points, edges = rng.normal(size=(count, 3)), rng.integers(-1, count + 1, (2 * count, corners))
    force = {"stiffness": 300.0, "damping": 3.0, "stretch": 0.9}
    found = swings(device, points, edges, 3, speed=0.5, **force)
    first = found[0][0]["position"].astype(float)
    pairs = edges if corners == 2 else np.concatenate([edges[:, [0, 1]], edges[:, [1, 2]], edges[:, [2, 0]]])
    pairs = pairs[((pairs >= 0) & (pairs < count)).all(1) & (pairs[:, 0] != pairs[:, 1])]
    rest = np.linalg.norm(first[pairs[:, 1]] - first[pairs[:, 0]], axis=1)
    for before, after in found:
        at, was = before["position"].astype(float), before["velocity"].astype(float)
        way = at[pairs[:, 1]] - at[pairs[:, 0]]
        far = np.linalg.norm(way, axis=1)
        drag = 3.0 * ((was[pairs[:, 1]] - was[pairs[:, 0]]) * way).sum(1) / far
        change = (STEP * (300 * (far - 0.9 * rest) + drag) / far)[:, None] * way
        expected = was.copy()
        np.add.at(expected, pairs[:, 0], change)
        np.add.at(expected, pairs[:, 1], -change)
        np.testing.assert_allclose(after["velocity"], expected, atol=1e-4 * (1 + np.abs(expected).max()))
        np.testing.assert_allclose(after["velocity"].sum(0, dtype=float), was.sum(0), atol=1e-4 * count)


def test_bodies_at_one_place_are_pulled_back_there(device: Device) -> None:
    """A spring that begins without a length has none at rest."""
    found = swings(device, np.zeros((2, 3)), [[0, 1]], 3, speed=1.0, stiffness=100.0, damping=0.0)
    before, after = found[1]
    way = before["position"][1] - before["position"][0]
    assert np.linalg.norm(way) > 0.01
    change = after["velocity"] - before["velocity"]
    np.testing.assert_allclose(change, np.outer([1, -1], way) * 100 * STEP, atol=1e-4)


def test_two_bodies_swing_with_their_period_and_keep_their_energy(device: Device) -> None:
    """The period of two bodies of mass 1 is 2 pi / sqrt(2 stiffness), and the energy stays."""
    points = np.array([[-0.5, 0, 0], [0.5, 0, 0]])
    step = 1 / 2000
    found = swings(device, points, [[0, 1]], 500, step=step, stiffness=400.0, damping=0.0, stretch=0.8)
    far = np.array([after["position"][1, 0] - after["position"][0, 0] for _, after in found], float)
    t = np.arange(1, 501) * step
    np.testing.assert_allclose(far, 0.8 + 0.2 * np.cos(np.sqrt(800) * t), atol=6e-3)
    speed = np.array([after["velocity"][0, 0] for _, after in found], float)
    energy = speed**2 + 200 * (far - 0.8) ** 2
    np.testing.assert_allclose(energy, energy[0], rtol=0.03)


def test_the_stiffest_net_stays_where_it_is_stable(device: Device) -> None:
    """A net whose inner particles have eight springs does not gain energy at the largest stiffness."""
    i = np.arange(81).reshape(9, 9)
    rows = [(i[:, :-1], i[:, 1:]), (i[:-1], i[1:]), (i[:-1, :-1], i[1:, 1:]), (i[:-1, 1:], i[1:, :-1])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in rows])
    points = np.stack([i.ravel() % 9 * 0.1, i.ravel() // 9 * 0.1, 0 * i.ravel()], 1) + 1.0
    found = swings(device, points, edges, 120, speed=0.3, stiffness=1e6, damping=0.0)
    energies = [(after["velocity"].astype(float) ** 2).sum() for _, after in found]
    assert max(energies) < 3 * energies[0]


def test_rows_of_another_length_are_refused() -> None:
    """The message names the port and the rule."""
    patch = Patch()
    source, springs = patch.add("particles.scatter", count=5), patch.add("particles.springs")
    patch.connect(source["particles"], springs["particles"])
    patch.connect(patch.add("io.array", data=np.zeros((2, 4), np.int32))["out"], springs["edges"])
    ((where, port, text), *_) = problems(patch)
    assert (where, port) == (springs.id, "edges") and "rows of two or three particles" in text
