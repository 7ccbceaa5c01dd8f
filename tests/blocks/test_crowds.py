"""Particles that see each other, compared with sums over all pairs in f64, and the laws that they obey."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device

STEP = 1 / 60


def crowd(device: Device, block: str, frames: int, scatter: dict[str, Any], **parameters: Any) -> list[tuple[Any, Any]]:
    """Return the particles before and after a block in each frame, in which Integrate moves them."""
    patch = Patch()
    source, node = patch.add("particles.scatter", **scatter), patch.add(block, **parameters)
    move, before = patch.add("particles.integrate", floor=-10.0), patch.add("buffer.copy")
    patch.connect(source["particles"], before["x"])
    patch.connect(source["particles"], node["particles"])
    patch.connect(node["out"], move["particles"])
    found = []
    with Engine(patch, device, time_step_s=STEP) as engine:
        for _ in range(frames):
            assert not engine.step().diagnostics
            found.append((engine.read(before["out"]), engine.read(move["out"])))
    return found


def places(device: Device, points: Any = None, **scatter: Any) -> Any:
    """Return scattered particles."""
    patch = Patch()
    source = patch.add("particles.scatter", **scatter)
    if points is not None:
        vectors = patch.add("buffer.reinterpret", dtype="float4")
        patch.connect(patch.add("io.array", data=points.ravel())["out"], vectors["x"])
        patch.connect(vectors["out"], source["points"])
    with Engine(patch, device) as engine:
        for _ in range(2):
            assert not engine.step().diagnostics
        return engine.read(source["particles"])


def test_shapes_are_filled_evenly(device: Device) -> None:
    """Half of a ball, a disc and a box lies within the radius that has half of the volume, and seeds repeat."""
    look = {"count": 4001, "size": 2.0, "height": 1.0, "speed": 3.0}
    for shape, half in (("ball", 2 * 0.5 ** (1 / 3)), ("disc", 2 * 0.5**0.5), ("box", 2 * 0.5 ** (1 / 3))):
        found = places(device, shape=shape, **look)
        at = found["position"].astype(float) - [0, 1, 0]
        if shape == "disc":
            assert np.abs(at[:, 1]).max() <= 0.05
            at[:, 1] = 0
        far = np.abs(at).max(1) if shape == "box" else np.linalg.norm(at, axis=1)
        assert far.max() <= 2.0001 and (far < half).mean() == pytest.approx(0.5, abs=0.03)
        assert np.abs(at.mean(0)).max() < 0.1
        np.testing.assert_allclose(np.linalg.norm(found["velocity"], axis=1), 3.0, rtol=1e-5)
        assert (found["age"] < found["life"]).all()
    assert found.tobytes() == places(device, shape="box", **look).tobytes()
    assert found.tobytes() != places(device, shape="box", seed=2, **look).tobytes()


def test_particles_begin_on_points_and_swirl(device: Device) -> None:
    """Places are those of the points, one after another, and the swirl is across the way from the axis."""
    points = np.random.default_rng(1).normal(size=(7, 4)).astype(np.float32)
    found = places(device, points, count=33, size=2.0, height=1.0, speed=0.0, swirl=3.0)
    at = points[np.arange(33) % 7, :3].astype(float)
    np.testing.assert_allclose(found["position"], 2 * at + [0, 1, 0], rtol=1e-5)
    far = np.hypot(at[:, 0], at[:, 2])
    speed = np.linalg.norm(found["velocity"], axis=1)
    np.testing.assert_allclose(speed, 3 * np.sqrt(far), rtol=1e-5)
    np.testing.assert_allclose((found["velocity"] * at).sum(1), 0, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 31, 257])
def test_gravity_is_newtons(device: Device, count: int) -> None:
    """Each particle's velocity changes by the sum over all others, and all together keep their momentum."""
    look = {"count": count, "size": 1.0}
    for before, after in crowd(device, "particles.gravitate", 3, look, strength=0.02, softening=0.1):
        at, was = before["position"].astype(float), before["velocity"].astype(float)
        ways = at[None] - at[:, None]
        pull = (ways / ((ways**2).sum(2) + 0.01)[..., None] ** 1.5).sum(1)
        np.testing.assert_allclose(after["velocity"], was + 0.02 * STEP * pull, atol=1e-5)
        np.testing.assert_allclose(after["velocity"].sum(0, dtype=float), was.sum(0), atol=1e-4 * count)


def test_two_stars_keep_their_energy(device: Device) -> None:
    """Two bodies that circle each other have the same energy after a second."""
    points = np.array([[0.5, 0, 0, 1], [-0.5, 0, 0, 1]], np.float32)
    patch = Patch()
    source = patch.add("particles.scatter", count=2, size=1.0, height=0.0, speed=0.0, swirl=1.0)
    pull = patch.add("particles.gravitate", strength=2.0, softening=0.0)
    move, vectors = patch.add("particles.integrate", floor=-10.0), patch.add("buffer.reinterpret", dtype="float4")
    patch.connect(patch.add("io.array", data=points.ravel())["out"], vectors["x"])
    patch.connect(vectors["out"], source["points"])
    patch.connect(source["particles"], pull["particles"])
    patch.connect(pull["out"], move["particles"])
    energies = []
    with Engine(patch, device, time_step_s=1 / 960) as engine:
        for _ in range(240):
            engine.step()
            stars = engine.read(move["out"])
            far = np.linalg.norm(np.diff(stars["position"].astype(float), axis=0))
            energies.append((stars["velocity"].astype(float) ** 2).sum() / 2 - 2.0 / far)
    np.testing.assert_allclose(energies, energies[0], rtol=5e-3)


@pytest.mark.parametrize("count", [1, 2, 33, 200])
def test_flocks_steer_by_all_neighbours_in_reach(device: Device, count: int) -> None:
    """Velocities change as a sum over all pairs says, though the block only looks into the cells around."""
    rules = {"reach": 0.5, "align": 2.0, "gather": 3.0, "avoid": 4.0, "distance": 0.2, "cruise": 1.5}
    look = {"count": count, "size": 1.2, "height": 0.5}
    for before, after in crowd(device, "particles.flock", 3, look, space=1.0, home=0.4, **rules):
        at, was = before["position"].astype(float), before["velocity"].astype(float)
        wish = np.zeros_like(at)
        for i in range(count):
            ways = at - at[i]
            far = np.linalg.norm(ways, axis=1)
            seen = (far < 0.5) & (np.arange(count) != i)
            near = seen & (far < 0.2)
            push = (far[near] - 0.2) / (far[near] * 0.2)
            wish[i] = 4.0 * (ways[near] * push[:, None]).sum(0)
            if seen.any():
                wish[i] += 3.0 * ways[seen].mean(0) + 2.0 * (was[seen] - was[i]).mean(0)
            home = np.array([0, 0.4, 0]) - at[i]
            outside = np.linalg.norm(home) - 1.0
            if outside > 0:
                wish[i] += 1.5 * min(outside, 1) * home / np.linalg.norm(home)
            speed = np.linalg.norm(was[i])
            wish[i] += 2 * (1.5 - speed) * was[i] / speed
        np.testing.assert_allclose(after["velocity"], was + STEP * wish, atol=2e-4)


def test_flocks_repeat_to_the_bit(device: Device) -> None:
    """Two runs are equal to the bit, whatever order threads have, and a flock flies more alike than at first."""
    look = {"count": 700, "size": 0.6}
    first, second = (crowd(device, "particles.flock", 60, look) for _ in range(2))
    assert all(a[1].tobytes() == b[1].tobytes() for a, b in zip(first, second, strict=True))
    early, late = (frame[1]["velocity"] for frame in (first[0], first[-1]))
    assert np.linalg.norm(late.mean(0)) > 2 * np.linalg.norm(early.mean(0))


def test_an_attractor_pulls_and_swirls_within_its_reach(device: Device) -> None:
    """The change of velocity is along the way and across it, and falls to 0 at the reach."""
    force = {"x": 0.3, "y": 0.2, "z": -0.1, "pull": 6.0, "swirl": 4.0, "reach": 1.0}
    look = {"count": 257, "size": 1.2, "height": 0.0}
    for before, after in crowd(device, "particles.attract", 3, look, **force):
        way = np.array([0.3, 0.2, -0.1]) - before["position"]
        far = np.linalg.norm(way, axis=1, keepdims=True)
        around = np.stack([-way[:, 2], np.zeros(257), way[:, 0]], -1)
        change = (6.0 * way + 4.0 * around) / far * np.maximum(1 - far, 0) * STEP
        assert 0.2 < (far < 1).mean() < 0.9
        np.testing.assert_allclose(after["velocity"], before["velocity"] + change, atol=1e-5)


def depth(at: Any, shape: str, size: float) -> Any:
    """Return the distance of points to a solid around the origin, negative inside."""
    if shape == "ball":
        return np.linalg.norm(at, axis=1) - size
    if shape == "ground":
        return at[:, 1]
    q = np.abs(at) - size
    return np.where(q.max(1) > 0, np.linalg.norm(np.maximum(q, 0), axis=1), q.max(1))


@pytest.mark.parametrize("hollow", [False, True])
@pytest.mark.parametrize("shape", ["ball", "box", "ground"])
def test_solids_throw_particles_back(device: Device, shape: str, hollow: bool) -> None:
    """Particles never end in the solid, those that do not reach it go on, and energy is only lost."""
    solid = {"shape": shape, "hollow": hollow, "y": 0.2, "size": 0.6, "bounce": 0.5, "friction": 0.25}
    look = {"count": 400, "size": 1.0, "height": 0.2, "speed": 2.0}
    sign, middle = -1 if hollow else 1, np.array([0, 0.2, 0])
    for before, after in crowd(device, "particles.collide", 20, look, **solid):
        was, velocity = before["position"].astype(float) - middle, before["velocity"].astype(float)
        ahead = sign * depth(was + STEP * velocity, shape, 0.6)
        free = ahead > 1e-5
        np.testing.assert_array_equal(after["velocity"][free], before["velocity"][free])
        old, new = (np.linalg.norm(each["velocity"].astype(float), axis=1) for each in (before, after))
        assert (new <= old + 1e-5).all()
        assert (sign * depth(after["position"] - middle, shape, 0.6)).min() > -1e-5
    assert (new < 1.99).any()


def test_a_bounce_is_split_at_the_surface(device: Device) -> None:
    """The speed towards the ground is turned and reduced, and the one along it is reduced by friction.

    A particle ends above the ground by the reduced way that it would go below it.
    """
    look = {"count": 200, "size": 0.5, "height": 0.0, "speed": 3.0}
    solid = {"shape": "ground", "y": 0.0, "bounce": 0.5, "friction": 0.25}
    (before, after), *_ = crowd(device, "particles.collide", 1, look, **solid)
    ahead = before["position"] + STEP * before["velocity"]
    down = (ahead[:, 1] < -1e-5) & (before["velocity"][:, 1] < 0)
    assert down.sum() > 20
    np.testing.assert_allclose(after["velocity"][down], before["velocity"][down] * [0.75, -0.5, 0.75], rtol=1e-5)
    np.testing.assert_allclose(after["position"][down], ahead[down] * [1, -0.5, 1], atol=1e-5)
