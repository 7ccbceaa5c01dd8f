"""The laws of the slime mould: nothing is lost, agents go a step at a time, food attracts them, and seeds repeat."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.device import Device

#: Parameters with which the trail counts the arrivals in each pixel.
COUNTING: dict[str, Any] = {"deposit": 1.0, "spread": 0.0, "decay": 0.0}


def trails(device: Device, frames: int, food: Any = None, **parameters: Any) -> list[Any]:
    """Return the trail after each frame."""
    patch = Patch()
    mould = patch.add("field.slime_mould", **parameters)
    if food is not None:
        patch.connect(patch.add("io.array", data=food)["out"], mould["food"])
    with Engine(patch, device) as engine:
        found = []
        for _ in range(frames):
            assert not engine.step().diagnostics
            found.append(engine.read(mould["trail"]))
    return found


@pytest.mark.parametrize("born", ["anywhere", "disc"])
@pytest.mark.parametrize(("width", "height", "agents"), [(1, 1, 3), (5, 7, 1), (31, 1, 33), (47, 33, 1023)])
def test_each_agent_arrives_once_in_a_step(device: Device, width: int, height: int, agents: int, born: str) -> None:
    """After n steps the trail has n arrivals of each agent, though steps are longer than some fields."""
    size = {"width": width, "height": height, "agents": agents, "born": born}
    for frame, trail in enumerate(trails(device, 4, speed=3.0, sense=5.0, **size, **COUNTING), 1):
        assert trail.shape == (height, width) and (trail == np.round(trail)).all() and trail.min() >= 0
        assert trail.sum(dtype=float) == frame * agents


def test_agents_are_born_inside(device: Device) -> None:
    """The largest random number, which agent 3414 of seed 508 draws for its row, is inside."""
    (trail,) = trails(device, 1, width=3, height=5, agents=5000, seed=508, speed=0.0, **COUNTING)
    assert trail.sum() == 5000 and trail.min() > 200


def test_an_agent_goes_a_step_at_a_time(device: Device) -> None:
    """From frame to frame an agent is a step away, give or take the corners of pixels, or stays at the edge."""
    found = np.stack(trails(device, 60, width=61, height=43, agents=1, speed=4.0, seed=7, **COUNTING))
    places = np.stack([np.argwhere(step)[0] for step in np.diff(found, axis=0, prepend=0)])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert ((abs(steps - 4) < 1.5) | (steps == 0)).all() and (steps > 0).mean() > 0.5


def test_food_attracts_agents(device: Device) -> None:
    """There is more trail around food than elsewhere, and without food there is not."""
    food = np.zeros((64, 96), np.float32)
    food[12:20, 70:78] = 5.0
    size = {"width": 96, "height": 64, "agents": 2000, "sense": 12.0}
    share = [trails(device, 80, given, **size)[-1] for given in (None, food)]
    near = [trail[8:24, 66:82].mean() / trail.mean() for trail in share]
    assert near[1] > 2 and near[1] > 2 * near[0]


def test_trails_spread_and_fade(device: Device) -> None:
    """What one step leaves is blurred over 3 x 3 pixels by its share, then fades; the sum only by the decay."""
    size = {"width": 40, "height": 40, "agents": 1, "speed": 0.0, "born": "disc"}
    first, second = trails(device, 2, deposit=1.0, spread=0.9, decay=0.25, **size)
    place = tuple(np.argwhere(first)[0])
    assert first[place] == pytest.approx(0.75) and first.sum() == pytest.approx(0.75)
    assert second.sum(dtype=float) == pytest.approx(0.75 * 1.75)
    around = second[place[0] - 1 : place[0] + 2, place[1] - 1 : place[1] + 2].copy()
    assert around[1, 1] == pytest.approx(0.75 * (0.75 * (0.1 + 0.9 / 9) + 1))
    around[1, 1] = around[0, 0]
    np.testing.assert_allclose(around, 0.75 * 0.75 * 0.9 / 9, rtol=1e-5)


def test_seeds_repeat(device: Device) -> None:
    """The same seed gives the same trail to the bit in another engine, and another seed does not."""
    a, b, c = (trails(device, 5, width=48, height=32, agents=500, seed=seed)[-1] for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)
