"""Particles, alone and selected into append buffers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.blocks.running import run
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.patch.document import NodeRef

STEP = 1 / 60
COUNT = 1000
CALM = {"gravity": 0.0, "drag": 0.0, "turbulence": 0.0, "attraction": 0.0}


@contextmanager
def _simulation(
    emitter: dict[str, Any], forces: dict[str, Any] | None = None, **integrate: Any
) -> Iterator[tuple[Engine, NodeRef, Patch]]:
    patch = Patch()
    source = patch.add("particles.emitter", **{"count": COUNT, **emitter})
    push = patch.add("particles.forces", **CALM | (forces or {}))
    move = patch.add("particles.integrate", **{"floor": -10.0, **integrate})
    patch.connect(source["particles"], push["particles"])
    patch.connect(push["out"], move["particles"])
    with Engine(patch, device="host", time_step_s=STEP) as engine:
        yield engine, move, patch


def _run(frames: int, emitter: dict[str, Any], forces: dict[str, Any] | None = None, **integrate: Any) -> Any:
    with _simulation(emitter, forces, **integrate) as (engine, move, _):
        for _ in range(frames):
            report = engine.step()
            assert not report.diagnostics, report.diagnostics
        return engine.read(move["out"])


def _alive(particles: Any) -> Any:
    return particles[particles["age"] < particles["life"]]


@pytest.mark.parametrize(("rate", "frames"), [(90.0, 7), (3000.0, 5), (61.0, 120)])
def test_as_many_are_born_as_the_rate_says(rate: float, frames: int) -> None:
    """After some frames floor(time * rate) particles are born, give or take one, without gaps."""
    particles = _run(frames, {"rate": rate, "life": 30.0})
    born = particles["life"] > 0
    assert abs(born.sum() - rate * frames * STEP) <= 1
    assert born[: born.sum()].all()


def test_births_are_spread_over_the_frame() -> None:
    """The ages of newborn particles differ by 1 / rate, within a frame and across frames."""
    rate = 900.0
    particles = _alive(_run(10, {"rate": rate, "life": 30.0}))
    np.testing.assert_allclose(np.diff(particles["age"]), -1 / rate, atol=2e-5)
    assert 0 <= particles["age"].min() < 1.1 / rate


def test_the_oldest_make_room() -> None:
    """After more births than the buffer has places, it contains the newest particles."""
    particles = _run(90, {"count": 100, "rate": 120.0, "life": 30.0})
    np.testing.assert_allclose(np.sort(particles["age"]), (np.arange(100) + 0.5) / 120, atol=0.6 / 120)


@pytest.mark.parametrize("rate", [3001.0, 601.0])
def test_the_last_births_of_a_frame_stay(rate: float) -> None:
    """Of more births in a frame than there are places, the buffer contains the newest, as after many frames."""
    particles = _run(4, {"count": 7, "rate": rate, "life": 30.0})
    born = np.ceil(4 * STEP * rate)
    np.testing.assert_allclose(np.sort(particles["age"]), 4 * STEP - (born - 1 - np.arange(7)) / rate, atol=1e-5)


def test_a_birth_replaces_the_oldest_while_the_rate_changes() -> None:
    """With another rate in each frame, the buffer contains the newest births, and each is as old as its rate says."""
    rates = np.random.default_rng(5).choice([0.0, 61.0, 900.0, 2500.0], 40)
    due = np.append(0, np.cumsum(rates * STEP))
    births = []
    for frame, rate in enumerate(rates):
        numbers = np.arange(np.ceil(due[frame]), np.ceil(due[frame + 1]))
        births += list(frame * STEP + (numbers - due[frame]) / rate) if rate else []
    with _simulation({"count": 99, "life": 30.0}) as (engine, move, patch):
        for rate in rates:
            patch.set("emitter", rate=float(rate))
            engine.step()
        ages = engine.read(move["out"])["age"]
    np.testing.assert_allclose(np.sort(ages), len(rates) * STEP - np.array(births[:-100:-1]), atol=1e-5)


def test_births_follow_the_time_of_uneven_frames() -> None:
    """In frames of any length, particle n is born at n / rate seconds, and its jet has turned until then.

    The jets turn on from where they are when their speed changes.
    """
    steps = np.random.default_rng(3).uniform(0.002, 0.03, 60)
    starts = np.cumsum(steps) - steps[0]
    jet = {"count": 9999, "rate": 700.0, "life": 30.0, "jets": 1, "lean": 45.0, "spread": 0.0, "swirl": 0.0}
    with _simulation({**jet, "turn": 90.0}) as (engine, move, patch):
        for frame, start in enumerate(starts):
            if frame == 40:
                patch.set("emitter", turn=-300.0)
            engine.step(time_s=start)
        found = _alive(engine.read(move["out"]))
    ends = STEP + np.append(0, np.cumsum(np.diff(starts)))  # the first frame lasts the usual step
    born = np.arange(len(found)) / 700
    np.testing.assert_allclose(ends[-1] - born, found["age"], atol=1e-4)
    turned = 90 * born - 390 * np.maximum(born - ends[39], 0)
    around = np.degrees(np.arctan2(found["velocity"][:, 2], found["velocity"][:, 0]))
    np.testing.assert_allclose((around - turned + 180) % 360, 180, atol=0.1)


def test_no_births_without_a_rate() -> None:
    """With a rate of 0, the buffer contains only zeros."""
    assert not _run(5, {"rate": 0.0}).tobytes().strip(b"\0")


def test_particles_die_at_the_end_of_their_life() -> None:
    """Particles live for 60 to 100 % of the longest life, and stop moving when they die."""
    life = 0.2
    particles = _run(60, {"rate": 600.0, "life": life})
    lives = particles["life"][particles["life"] > 0]
    assert 0.6 * life <= lives.min() < 0.65 * life and 0.95 * life < lives.max() <= life * 1.0001
    assert (particles["age"][: len(lives)] <= lives + STEP).all()
    assert len(_alive(particles)) == pytest.approx(600 * 0.8 * life, abs=12)


def test_jets_leave_at_their_angle() -> None:
    """Three jets without spread lean by 30 degrees and are a third of a turn apart."""
    jets = {"jets": 3, "lean": 30.0, "spread": 0.0, "turn": 0.0, "swirl": 0.0, "speed": 10.0}
    velocity = _alive(_run(4, {"rate": 3000.0, **jets}))["velocity"]
    speed = np.linalg.norm(velocity, axis=1)
    assert 9 <= speed.min() < 9.2 and 10.8 < speed.max() <= 11.0001
    np.testing.assert_allclose(velocity[:, 1] / speed, np.cos(np.radians(30)), atol=1e-5)
    around = np.degrees(np.arctan2(velocity[:, 2], velocity[:, 0])) % 360
    np.testing.assert_allclose((around - 120 * np.arange(len(around)) + 180) % 360, 180, atol=1e-3)


def test_jets_turn_with_time() -> None:
    """At a quarter turn a second, a particle's direction follows from its time of birth."""
    jets = {"jets": 1, "lean": 45.0, "spread": 0.0, "turn": 90.0, "swirl": 0.0}
    particles = _alive(_run(60, {"rate": 500.0, "life": 30.0, **jets}))
    around = np.degrees(np.arctan2(particles["velocity"][:, 2], particles["velocity"][:, 0]))
    np.testing.assert_allclose(around, 90 * (1 - particles["age"]), atol=0.05)


def test_particles_leave_from_the_disc() -> None:
    """Particles begin within the disc's radius and at its height, spread evenly over its area."""
    where = {"radius": 2.0, "height": 1.5, "spread": 40.0, "swirl": 3.0}
    particles = _alive(_run(20, {"rate": 3000.0, **where}))
    origin = particles["position"] - particles["velocity"] * particles["age"][:, None]
    reach = np.hypot(origin[:, 0], origin[:, 2])
    np.testing.assert_allclose(origin[:, 1], 1.5, atol=1e-4)
    assert reach.max() <= 2.001
    assert (reach < np.sqrt(2)).mean() == pytest.approx(0.5, abs=0.06)


def test_without_forces_particles_move_straight() -> None:
    """Without forces, a particle from a point is at velocity times age."""
    particles = _alive(_run(30, {"rate": 1000.0, "radius": 0.0, "life": 30.0}))
    np.testing.assert_allclose(
        particles["position"], particles["velocity"] * particles["age"][:, None], rtol=1e-4, atol=1e-4
    )


def _burst(frames: int, forces: dict[str, Any]) -> tuple[Any, Any]:
    """Return velocities right after birth in the first frame, and those of the same particles `frames` frames later."""
    with _simulation({"rate": 6000.0, "life": 30.0, "spread": 60.0}, forces) as (engine, move, patch):
        engine.step()
        patch.set("emitter", rate=0.0)
        first = _alive(engine.read(move["out"]))
        for _ in range(frames):
            engine.step()
        return first, engine.read(move["out"])[: len(first)]


def test_gravity_accelerates() -> None:
    """Velocity increases by gravity times time, and does not change sideways."""
    first, later = _burst(30, {"gravity": -9.81})
    change = later["velocity"] - first["velocity"]
    np.testing.assert_allclose(change[:, 1], -9.81 * 30 * STEP, rtol=1e-4)
    np.testing.assert_allclose(change[:, [0, 2]], 0, atol=1e-5)


def test_drag_draws_towards_the_wind() -> None:
    """The difference between velocity and wind decays by exp(-drag t), for any drag."""
    first, later = _burst(20, {"drag": 4.0, "wind_x": 2.0, "wind_z": -5.0})
    wind = np.array([2, 0, -5])
    np.testing.assert_allclose(
        later["velocity"] - wind, (first["velocity"] - wind) * np.exp(-4 * 20 * STEP), rtol=1e-3, atol=1e-4
    )


def test_the_attractor_pulls_towards_itself() -> None:
    """One frame changes velocities by the attractor's strength, along the softened direction towards it."""
    height, strength = 3.0, 12.0
    first, later = _burst(1, {"attraction": strength, "attractor_height": height})
    toward = np.array([0, height, 0]) - first["position"]
    pull = strength * toward / np.sqrt((toward**2).sum(1) + 0.25)[:, None]
    np.testing.assert_allclose(later["velocity"] - first["velocity"], pull * STEP, rtol=2e-4, atol=2e-5)


def test_turbulence_stirs_but_does_not_gather() -> None:
    """Turbulence pushes particles in all directions, with a mean push that is small beside its size."""
    first, later = _burst(1, {"turbulence": 10.0, "turbulence_scale": 0.1})
    kick = (later["velocity"] - first["velocity"]) / STEP
    assert np.linalg.norm(kick, axis=1).mean() > 5
    assert kick.std(axis=0).min() > 2


def test_particles_bounce_off_the_floor() -> None:
    """No particle is below the floor; a bounce reverses the fall, and reduces the speeds by their shares."""
    jet = {"rate": 60.0, "speed": 5.0, "spread": 0.0, "lean": 90.0, "height": 0.001, "radius": 0.0, "life": 30.0}
    particles = _alive(_run(60, jet, {"gravity": -10.0}, floor=0.0, bounce=0.5, friction=0.2))
    assert particles["position"][:, 1].min() >= 0
    with _simulation({**jet, "jets": 1}, {"gravity": -10.0}, floor=0.0, bounce=0.5, friction=0.2) as (engine, move, p):
        engine.step()
        p.set("emitter", rate=0.0)
        before = engine.read(move["out"])[0]
        engine.step()
        after = engine.read(move["out"])[0]
    falling = before["velocity"][1] - 10 * STEP
    np.testing.assert_allclose(after["velocity"][1], -0.5 * falling, rtol=1e-4)
    np.testing.assert_allclose(after["velocity"][[0, 2]], 0.8 * before["velocity"][[0, 2]], rtol=1e-4, atol=1e-5)


def test_two_runs_give_the_same_particles() -> None:
    """Two runs give the same particles to the bit, and another seed gives others."""
    emitter = {"rate": 3000.0}
    first, second = (_run(6, emitter, {"turbulence": 2.0}) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert _run(6, {**emitter, "seed": 2}, {"turbulence": 2.0}).tobytes() != first.tobytes()


def _picture(**parameters: Any) -> tuple[Any, Patch]:
    """Return a picture of one particle, 4 m in front of the camera, at the camera's target."""
    patch = Patch()
    emitter: dict[str, Any] = {
        "rate": 60.0,
        "count": 1,
        "life": 1.0,
        "speed": 0.0,
        "radius": 0.0,
        "height": 0.0,
        "swirl": 0.0,
    }
    source = patch.add("particles.emitter", **emitter)
    view = {"width": 161, "height": 97, "distance": 4.0, "target": 0.0, "glow": 0.0, "background": 0.0}
    move = patch.add("particles.integrate", floor=-10.0)
    render = patch.add("particles.render_points", **view | parameters)
    patch.connect(source["particles"], move["particles"])
    patch.connect(move["out"], render["particles"])
    with Engine(patch, device="host", time_step_s=STEP) as engine:
        for _ in range(6):
            assert not engine.step().diagnostics
            patch.set(source, rate=0.0)
        return engine.read(render["image"]), patch


def test_a_particle_at_the_target_is_drawn_in_the_middle() -> None:
    """The particle is a round spot in the middle for all camera angles, and the rest is dark."""
    for orbit, elevation in ((0.0, 0.0), (130.0, 50.0), (-40.0, -80.0)):
        image, _ = _picture(orbit=orbit, elevation=elevation, point_size=100.0, brightness=5.0)
        light = image[..., :3].sum(2)
        rows, columns = np.nonzero(light > 0)
        assert (rows.min() + rows.max(), columns.min() + columns.max()) == (96, 160)
        focal = 0.5 * 97 / np.tan(np.radians(42 / 2))
        assert np.ptp(rows) + 1 == pytest.approx(2 * 0.1 * focal / 4, abs=2)
        np.testing.assert_allclose(light, light[::-1, ::-1], atol=1e-3)
    assert (image[..., 3] == 1).all()


def test_the_camera_looks_from_where_it_stands() -> None:
    """A camera that aims below the particle shows it higher, by focal length over distance."""
    image, _ = _picture(target=-0.5, elevation=0.0, point_size=60.0, brightness=5.0)
    rows, columns = np.nonzero(image[..., 0] > 0)
    focal = 0.5 * 97 / np.tan(np.radians(42 / 2))
    assert rows.mean() == pytest.approx(48 - 0.5 * focal / 4, abs=0.6)
    assert columns.mean() == pytest.approx(80, abs=0.6)


def test_glow_reaches_beyond_the_point() -> None:
    """With glow, light falls off with the distance from the spot and reaches far pixels."""
    image, _ = _picture(glow=4.0, point_size=100.0, brightness=10.0)
    light = image[48, :, :3].sum(1)
    assert light[60] > light[40] > 0


def test_a_view_without_particles_is_the_background() -> None:
    """A camera that looks away shows a dim blue background, brightest in the middle."""
    image, _ = _picture(target=15.0, background=1.0)
    light = image[..., :3].sum(2)
    assert (image[..., 2] > image[..., 0]).all()
    assert light[48, 80] == light.max() < 0.1


def test_camera_and_look_are_live() -> None:
    """A new camera and a new look are HOT updates."""
    patch = Patch()
    source = patch.add("particles.emitter", count=10)
    render = patch.add("particles.render_points", width=64, height=48)
    patch.connect(source["particles"], render["particles"])
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(render, orbit=90.0, elevation=3.0, point_size=30.0, exposure=1.0, glow=0.1)
        patch.set(source, rate=10.0, speed=1.0, jets=2)
        assert engine.step().update_level is UpdateLevel.HOT


def _fountain(**select: Any) -> tuple[Patch, Any, Any]:
    patch = Patch()
    emitter = patch.add("particles.emitter", count=3000, rate=20_000.0, life=0.2, spread=60.0)
    move = patch.add("particles.integrate")
    node = patch.add("particles.select", **select)
    patch.connect(emitter["particles"], move["particles"])
    patch.connect(move["out"], node["particles"])
    return patch, move, node


def _wanted(particles: Any, by: str, low: float, high: float) -> Any:
    """Return the particles in the range, selected by numpy in f64."""
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
    """The selection has the same particles as numpy's, in any order, and their count; it may be empty."""
    patch, move, node = _fountain(by=by, low=low, high=high, capacity=2999)
    everyone, found, count = run(patch, move["out"], node["selected"], node["selected_count"], frames=15)
    expected = _wanted(everyone, by, low, high)
    assert count.tolist() == [len(expected)]
    assert _sorted(found[: count[0]]) == _sorted(expected)


def test_more_than_there_is_room_for() -> None:
    """A full buffer has matching particles without duplicates, the capacity as its count, and a warning."""
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
    """A buffer is drawn only up to its count, even if an earlier frame filled more of it."""
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
        # A buffer that the selected particles fill exactly, in the same frame of the same fountain.
        exact, _, few = _fountain(by="age", low=0.05, high=2.0, capacity=int(count))
        all_of_them = exact.add("particles.render_points", width=160, height=96, background=0.0, glow=0.0, spin=0.0)
        exact.connect(few["selected"], all_of_them["particles"])
        with Engine(exact, device="host") as other:
            for _ in range(11):
                other.step()
            np.testing.assert_allclose(image, other.read(all_of_them["image"]), atol=1e-4)
        patch.set(node, low=1.5)  # an age share that no living particle has
        engine.step()
        assert engine.read(node["selected_count"]).tolist() == [0]
        assert engine.read(draw["image"])[..., :3].max() == 0


def test_the_count_steers_a_loop() -> None:
    """A For whose `counts` is the selection's count runs once for each selected particle."""
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
