"""LFO, Ramp, Random and Time compared with closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values.running import STEP_S, place, record
from warploom.engine.blocktypes.updated_blocks import Moment

T = np.arange(240) * STEP_S
NUMBERS = st.floats(-100, 100)


def wave(shape: str, turns: np.ndarray) -> np.ndarray:
    """Return a wave from -1 to 1, computed with numpy; `turns` may be any numbers."""
    turn = turns % 1.0
    if shape == "sine":
        return np.cos(2 * np.pi * (turn - 0.25))
    if shape == "triangle":
        return np.interp(turn, [0, 0.25, 0.75, 1], [0, 1, -1, 0])
    return np.where(turn < 0.5, 1.0, -1.0) if shape == "square" else np.interp(turn, [0, 1], [-1, 1])


@pytest.mark.parametrize("shape", ["sine", "triangle", "saw", "square"])
@pytest.mark.parametrize(("frequency", "phase"), [(0.73, 0.0), (-1.37, 0.31), (29.77, -0.871), (0.0, 0.13)])
def test_lfo_is_its_wave(shape: str, frequency: float, phase: float) -> None:
    """The LFO's value is offset + amplitude * wave(frequency * t + phase)."""
    block = place("value.lfo", shape=shape, frequency=frequency, phase=phase, amplitude=3.0, offset=-2.0)
    expected = -2.0 + 3.0 * wave(shape, frequency * T + phase)
    np.testing.assert_allclose(record(block, 240), expected, atol=1e-9)


def test_lfo_begins_as_its_help_says() -> None:
    """Sine and triangle begin in the middle and rise, saw begins at the bottom, and square at the top."""
    first = {shape: record(place("value.lfo", shape=shape, frequency=1.0), 2) for shape in ("sine", "triangle")}
    assert all(values[0] == 0 and values[1] > 0 for values in first.values())
    assert record(place("value.lfo", shape="saw"), 1)[0] == -1
    assert record(place("value.lfo", shape="square"), 1)[0] == 1


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=20))
def test_a_new_frequency_never_makes_the_lfo_jump(frequencies: list[float]) -> None:
    """After a change of frequency, the slope between two frames is at most 2 pi times the frequency."""
    block = place("value.lfo")
    values = record(block, len(frequencies), before=lambda frame: block.set("frequency", frequencies[frame]))
    most = 2 * np.pi * np.abs(frequencies) * STEP_S + 1e-9
    assert (np.abs(np.diff(values)) <= most[1:]).all()


def test_a_reset_lfo_starts_again() -> None:
    """After `begin` the LFO outputs its first values again, though time continues."""
    block = place("value.lfo", frequency=1.7)
    first = record(block, 50)
    block.begin()
    np.testing.assert_array_equal(record(block, 50), first)


def test_a_paused_lfo_stands_still_and_follows_its_amplitude() -> None:
    """While time stands still an LFO keeps its phase, and a new amplitude still shows."""
    block = place("value.lfo", frequency=1.0)
    record(block, 11)
    now = 10 * STEP_S
    still = block.value  # type: ignore[attr-defined]  # an output of the LFO
    block.set("amplitude", 5.0)
    for _ in range(3):
        block.update(Moment(10, now, 0.0))
        assert block.value == pytest.approx(5 * still)  # type: ignore[attr-defined]


@given(NUMBERS, NUMBERS, st.floats(0.05, 5))
def test_a_ramp_that_loops(low: float, high: float, duration: float) -> None:
    """A looping ramp repeats the line between both ends."""
    block = place("value.ramp", from_value=low, to_value=high, duration=duration)
    part = (T[:60] / duration) % 1.0
    got, expected = record(block, 60), low + (high - low) * part
    # Rounding decides whether a frame at the very end of a ramp belongs to the next one.
    at_end = np.minimum(part, 1 - part) < 1e-9
    np.testing.assert_allclose(got[~at_end], expected[~at_end], atol=1e-6)


def test_a_ramp_that_runs_once_stays_and_is_done() -> None:
    """A ramp of half a second at 60 frames a second is done at frame 30, and stays at its end."""
    block = place("value.ramp", from_value=5.0, to_value=-5.0, duration=0.5, mode="once")
    got = record(block, 120)
    np.testing.assert_allclose(got, np.interp(T[:120], [0, 0.5], [5, -5]), atol=1e-9)
    assert block.done is True  # type: ignore[attr-defined]
    block.begin()
    assert not record(block, 29, "done").any()


def test_a_ping_pong_ramp() -> None:
    """A ping-pong ramp is the triangle between both ends."""
    got = record(place("value.ramp", duration=0.7, mode="ping-pong"), 240)
    np.testing.assert_allclose(got, np.interp(T % 1.4, [0, 0.7, 1.4], [0, 1, 0]), atol=1e-9)


def test_smooth_ramp_has_level_ends() -> None:
    """A smooth ramp begins and ends slowly, and meets the line at 0, 1/2 and 1."""
    got = record(place("value.ramp", duration=1.0, mode="once", easing="smooth"), 61)
    assert got[[0, 30, 60]] == pytest.approx([0, 0.5, 1])
    slopes = np.diff(got)
    assert (slopes >= 0).all() and slopes[0] < 0.1 * slopes[30] > slopes[-1]


def test_a_trigger_restarts_the_ramp_only_when_it_becomes_true() -> None:
    """A trigger that stays true starts the ramp once."""
    block = place("value.ramp", duration=10.0, mode="once")
    got = record(block, 40, before=lambda frame: block.set("trigger", 10 <= frame < 30))
    np.testing.assert_allclose(got, np.where(np.arange(40) < 10, T[:40], T[:40] - T[10]) / 10, atol=1e-9)


@given(st.integers(0, 2**31 - 1), st.floats(-50, 50), st.floats(0, 50))
def test_random_can_be_repeated_and_stays_in_its_range(seed: int, low: float, width: float) -> None:
    """The same seed produces the same numbers, and all of them lie between low and high."""
    runs = [record(place("value.random", seed=seed, low=low, high=low + width), 20) for _ in range(2)]
    np.testing.assert_array_equal(*runs)
    assert (runs[0] >= low).all() and (runs[0] <= low + width).all()


def test_random_is_spread_evenly() -> None:
    """Each tenth of the range gets a tenth of the numbers; successive numbers and seeds are uncorrelated."""
    block, other = place("value.random", seed=7), place("value.random", seed=8)
    a, b = record(block, 20_000), record(other, 20_000)
    counts, _ = np.histogram(a, 10, (0, 1))
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)
    for left, right in ((a[1:], a[:-1]), (a, b)):
        assert abs(np.corrcoef(left, right)[0, 1]) < 5 / np.sqrt(20_000)


def test_random_holds_for_its_interval() -> None:
    """With an interval of 6 frames, each run of 6 frames has one number, and each of ten runs has another."""
    got = record(place("value.random", interval=0.1, seed=3), 60).reshape(10, 6)
    assert (got == got[:, :1]).all() and len(np.unique(got)) == 10


def test_smooth_random_passes_through_what_is_picked() -> None:
    """Smooth random equals the held one at the start of each interval, and doesn't jump in between."""
    held, smooth = (record(place("value.random", interval=0.5, smooth=s, seed=3), 240) for s in (False, True))
    np.testing.assert_allclose(smooth[::30], held[::30], atol=1e-7)
    steps = np.abs(np.diff(smooth))
    assert steps.max() <= 1.5 / 30 + 1e-7  # the steepest slope of a smoothstep is 3/2
    between = np.repeat(held[::30], 30)[30:], np.repeat(held[::30], 30)[:-30]
    inside = smooth[:-30]
    assert (inside <= np.maximum(*between) + 1e-7).all() and (inside >= np.minimum(*between) - 1e-7).all()


def test_time_tells_the_moment() -> None:
    """The outputs of Time are the engine's seconds, frame and time step."""
    block = place("value.time")
    np.testing.assert_allclose(record(block, 30, "seconds"), T[:30])
    assert list(record(block, 3, "frame")) == [0, 1, 2]
    assert set(record(block, 5, "time_step")) == {STEP_S}
