"""Append buffers: the particles that something holds for, how many they are, and who draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import Engine, Patch
from tests.blocks.running import run

STEP = 1 / 60


def _fountain(**select: Any) -> tuple[Patch, Any, Any]:
    patch = Patch()
    emitter = patch.add("particles.emitter", count=3000, rate=20_000.0, life=0.2, spread=60.0)
    move = patch.add("particles.integrate")
    node = patch.add("particles.select", **select)
    patch.connect(emitter["particles"], move["particles"])
    patch.connect(move["out"], node["particles"])
    return patch, move, node


def _wanted(particles: Any, by: str, low: float, high: float) -> Any:
    """The particles in the range, selected by numpy in f64."""
    values = {
        "speed": np.linalg.norm(particles["velocity"].astype(np.float64), axis=1),
        "height": particles["position"][:, 1].astype(np.float64),
        "age": particles["age"] / np.maximum(particles["life"], 1e-9),
        "distance": np.linalg.norm(particles["position"].astype(np.float64), axis=1),
    }[by]
    alive = particles["age"] < particles["life"]
    return particles[alive & (values >= low) & (values < high)]


def _sorted(particles: Any) -> list[bytes]:
    return sorted(particle.tobytes() for particle in particles)


@pytest.mark.parametrize(
    ("by", "low", "high"),
    [
        ("speed", 5.9, 6.3),
        ("height", 0.3, 100.0),
        ("age", 0.25, 0.75),
        ("distance", 0.0, 0.4),
        ("speed", 900.0, 1000.0),
    ],
)
def test_the_selection_is_numpys(by: str, low: float, high: float) -> None:
    """The same particles, in any order, and their number; none is a selection too."""
    patch, move, node = _fountain(by=by, low=low, high=high, capacity=2999)
    everyone, found, count = run(patch, move["out"], node["selected"], node["selected_count"], frames=15)
    expected = _wanted(everyone, by, low, high)
    assert count.tolist() == [len(expected)]
    assert _sorted(found[: count[0]]) == _sorted(expected)


def test_more_than_there_is_room_for() -> None:
    """The buffer is full of matching particles, none twice; the count is the capacity, and a warning says so."""
    patch, move, node = _fountain(by="age", low=0.0, high=2.0, capacity=100)
    with Engine(patch, device="host") as engine:
        for _ in range(15):
            report = engine.step()
        everyone, found = engine.read(move["out"]), engine.read(node["selected"])
        assert engine.read(node["selected_count"]).tolist() == [100]
    expected = _sorted(_wanted(everyone, "age", 0.0, 2.0))
    assert len(expected) > 1000
    assert len(set(_sorted(found))) == 100 and set(_sorted(found)) <= set(expected)
    assert [(problem.node, problem.port) for problem in report.diagnostics] == [(node.id, "selected")]
    assert "for 100 places" in report.diagnostics[0].message


def test_only_as_many_are_drawn_as_were_found() -> None:
    """A buffer that held more in an earlier frame is only drawn up to its count."""
    patch, _, node = _fountain(by="age", low=0.0, high=2.0, capacity=3000)
    draw = patch.add("particles.render_points", width=160, height=96, background=0.0, glow=0.0, spin=0.0)
    patch.connect(node["selected"], draw["particles"])
    patch.connect(node["selected_count"], draw["count"])
    with Engine(patch, device="host") as engine:
        for _ in range(10):
            engine.step()
        assert engine.read(draw["image"])[..., :3].max() > 0.01
        patch.set(node, low=0.05)
        engine.step()
        (count,) = engine.read(node["selected_count"])
        image = engine.read(draw["image"])
        assert 0 < count < 3000
        # In the same frame of the same fountain, a buffer that those fill to the last place.
        exact, _, few = _fountain(by="age", low=0.05, high=2.0, capacity=int(count))
        all_of_them = exact.add("particles.render_points", width=160, height=96, background=0.0, glow=0.0, spin=0.0)
        exact.connect(few["selected"], all_of_them["particles"])
        with Engine(exact, device="host") as other:
            for _ in range(11):
                other.step()
            np.testing.assert_allclose(image, other.read(all_of_them["image"]), atol=1e-4)
        patch.set(node, low=1.5)  # a share that no living particle has
        engine.step()
        assert engine.read(node["selected_count"]).tolist() == [0]
        assert engine.read(draw["image"])[..., :3].max() == 0


def test_the_count_steers_a_loop() -> None:
    """A For that runs once for each found particle."""
    patch, _, node = _fountain(by="height", low=0.2, capacity=3000)
    loop = patch.add("control.for")
    inside = patch.add("buffer.copy", region=loop)
    patch.connect(node["selected_count"], loop["counts"])
    patch.connect(loop["index"], inside["x"])
    with Engine(patch, device="host") as engine:
        for _ in range(12):
            engine.step()
        count = int(engine.read(node["selected_count"])[0])
        assert engine.read(loop["index"]).tolist() == [count]
    assert count > 100
