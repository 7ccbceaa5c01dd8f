"""Smooth, Map, Slider, Switch and Counter compared with their laws."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.values.running import Running, moments, place, record
from warploom import Patch
from warploom.engine.blocktypes.updated_blocks import Moment
from warploom.engine.diagnostics import PatchError

NUMBERS = st.floats(-1000, 1000)


@pytest.mark.parametrize("step_s", [1 / 240, 1 / 60, 1 / 7])
def test_exponential_smooth_decays_as_e_does(step_s: float) -> None:
    """After a jump to 1 at time 0, the value is 1 - exp(-t / time) at any frame rate."""
    block = place("value.smooth", time=0.3)
    frames = round(2 / step_s)
    got = record(block, frames, step_s=step_s, before=lambda frame: block.set("input", float(frame > 0)))
    # The input jumps between frame 0 and 1, and keeps its value for that whole step.
    np.testing.assert_allclose(got, 1 - np.exp(-np.arange(frames) * step_s / 0.3), atol=1e-9)


@pytest.mark.parametrize("step_s", [1 / 240, 1 / 60, 1 / 7])
def test_damped_smooth_is_a_critically_damped_spring(step_s: float) -> None:
    """With w = 2 / time, x(t) = 1 - (1 + w t) exp(-w t) and its speed is w^2 t exp(-w t), at any frame rate."""
    block, w = place("value.smooth", time=0.5, mode="damped"), 4.0
    frames = round(3 / step_s)
    t = np.arange(frames) * step_s
    got = record(block, frames, step_s=step_s, before=lambda frame: block.set("input", float(frame > 0)))
    np.testing.assert_allclose(got, 1 - (1 + w * t) * np.exp(-w * t), atol=1e-9)
    assert (np.diff(got) >= 0).all()
    assert block.speed == pytest.approx(w * w * t[-1] * np.exp(-w * t[-1]))  # type: ignore[attr-defined]


@given(st.sampled_from(["exponential", "damped"]), NUMBERS, st.floats(0, 2))
def test_smooth_starts_at_its_input_and_stays(mode: str, value: float, time_s: float) -> None:
    """A constant input of Smooth is output unchanged."""
    block = place("value.smooth", mode=mode, input=value, time=time_s)
    np.testing.assert_allclose(record(block, 10), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["exponential", "damped"])
@pytest.mark.parametrize("time_s", [0.0, 5e-324, 1e-300, 1e-12])
def test_smooth_with_no_time_follows_at_once(mode: str, time_s: float) -> None:
    """With a time of 0, or a tiny one, the output follows the input at once."""
    block = place("value.smooth", time=time_s, mode=mode)
    assert list(record(block, 5, before=lambda frame: block.set("input", float(frame)))) == [0, 1, 2, 3, 4]


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.booleans())
def test_map_is_the_line_through_both_ends(
    value: float, low: float, high: float, to_low: float, to_high: float, clamp: bool
) -> None:
    """Where Map clamps, it equals numpy's interp; otherwise the line continues."""
    block = place("value.map", input=value, from_low=low, from_high=high, to_low=to_low, to_high=to_high, clamp=clamp)
    if low == high:
        with pytest.raises(PatchError, match="must differ"):
            record(block, 1)
        return
    part = (value - low) / (high - low)
    if abs(part) > 1e6:
        return  # far outside, rounding decides
    if clamp:
        part = np.interp(part, [0, 1], [0, 1])
    assert record(block, 1)[0] == pytest.approx(to_low + (to_high - to_low) * part, rel=1e-6, abs=1e-6)


@given(st.floats(0, 1), NUMBERS, NUMBERS, st.floats(0, 10))
@example(1.0, 0.0, 1.0, 5e-324)
@example(0.4375, 0.45, 0.45, 0.0)
def test_slider_stays_in_its_range_on_whole_steps(setting: float, low: float, high: float, step: float) -> None:
    """The output is the nearest to the slider's position among the ends and the whole steps from low."""
    value = record(place("value.slider", setting=setting, low=low, high=high, step=step), 1)[0]
    assert min(low, high) <= value <= max(low, high)
    exact = low + setting * (high - low)
    assert abs(value - exact) <= step / 2 + 1e-6
    if step > 1e-3 and value not in (low, high):
        assert abs((value - low) / step - round((value - low) / step)) < 1e-6


@given(st.integers(-40, 40), st.integers(1, 8), st.booleans())
def test_switch_picks_by_index(index: int, used: int, wrap: bool) -> None:
    """Switch wraps its index in both directions, or else clamps it."""
    values = {name: 10.0 * i for i, name in enumerate("abcdefgh")}
    block = place("value.switch", index=index, inputs_used=used, wrap=wrap, **values)
    expected = np.arange(used).take(index, mode="wrap" if wrap else "clip")
    assert record(block, 1)[0] == 10 * expected


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=30), st.integers(-2, 3), st.booleans())
def test_counter_counts_what_becomes_true(frames: list[tuple[bool, bool, bool]], low: int, wrap: bool) -> None:
    """A counter counts the rising edges of its inputs."""
    high = low + 3
    block = place("value.counter", low=low, high=high, wrap=wrap)
    count, before = low, (True, True)  # a value that is true in the first frame does not count
    for index, (up, down, reset) in enumerate(frames):
        for name, value in (("up", up), ("down", down), ("reset", reset)):
            block.set(name, value)
        block.update(Moment(index, index / 60, 1 / 60))
        moved = count + (up and not before[0]) - (down and not before[1])
        before = (up, down)
        if reset:
            moved = low
        count = low + (moved - low) % 4 if wrap else int(np.clip(moved, low, high))
        assert block.count == count  # type: ignore[attr-defined]
        assert block.wrapped == (moved not in range(low, high + 1))  # type: ignore[attr-defined]


def test_counter_counts_the_same_after_every_reset() -> None:
    """Values from before the reset, or from before the input was driven, neither count as events nor hide one."""
    patch = Patch()
    text, counter = patch.add("value.expression", text="frame % 2 < 1"), patch.add("value.counter")
    patch.connect(text["value"], counter["up"])
    running = Running(patch)
    runs = []
    for frames in (2, 3, 3):
        runs.append(list(running.run(frames, counter["count"])[:, 0]))
        running.graph.begin_again()
    assert runs == [[0, 0], [0, 0, 1], [0, 0, 1]]


def test_counter_does_not_count_what_is_true_when_it_starts() -> None:
    """A counter doesn't count an input that is true from the start."""
    assert list(record(place("value.counter", up=True), 3, "count")) == [0, 0, 0]


@pytest.mark.parametrize("type_id", ["value.counter"])
def test_counter_with_ends_the_wrong_way_round_stays_at_low(type_id: str) -> None:
    """A counter whose high end is below its low end stays at low."""
    block = place(type_id, low=5, high=2)
    assert set(record(block, 6, "count", before=lambda frame: block.set("up", frame % 2 == 1))) == {5}


@pytest.mark.parametrize("step_s", [1 / 240, 1 / 7])
def test_envelope_rises_and_falls_with_its_own_times(step_s: float) -> None:
    """A pulse rises as 1 - exp(-t / attack) and then falls as exp(-t / release), at any frame rate."""
    block = place("value.envelope", attack=0.1, release=0.5)
    frames = round(2 / step_s)
    up = frames // 2
    got = record(block, frames, step_s=step_s, before=lambda frame: block.set("input", float(0 < frame <= up)))
    t = np.arange(frames) * step_s
    rising = 1 - np.exp(-t / 0.1)
    np.testing.assert_allclose(got, np.where(t <= t[up], rising, rising[up] * np.exp(-(t - t[up]) / 0.5)), atol=1e-9)


@given(st.lists(NUMBERS, min_size=2, max_size=30), st.floats(0, 0.2), st.floats(0, 1000))
def test_peak_holds_and_falls(inputs: list[float], hold: float, fall: float) -> None:
    """A peak is at least the input, stays for its hold, and then falls at its speed until it meets the input."""
    block = place("value.peak", hold=hold, fall=fall)
    got = record(block, len(inputs), before=lambda frame: block.set("input", inputs[frame]))
    peak = 0
    for frame, value in enumerate(inputs):
        age_s = (frame - peak) / 60
        fallen = inputs[peak] - fall * max(age_s - hold, 0)
        assert got[frame] == pytest.approx(max(value, fallen), abs=1e-6)
        if value >= fallen:
            peak = frame


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0, 0.5), st.floats(0, 0.2))
def test_gate_opens_at_its_threshold_and_closes_below_its_margin(
    inputs: list[float], margin: float, hold: float
) -> None:
    """The gate is open from an input at the threshold to one below the margin, and for its hold at least."""
    block, frame_of_opening = place("value.gate", threshold=0.2, margin=margin, hold=hold), -1000
    was_open = False
    for now in moments(len(inputs)):
        value = inputs[now.frame]
        block.set("input", value)
        block.update(now)
        held = (now.frame - frame_of_opening) / 60 < hold - 1e-6
        is_open = value >= 0.2 or (was_open and (held or value >= 0.2 - margin))
        if abs((now.frame - frame_of_opening) / 60 - hold) < 1e-6:
            is_open = block.is_open  # type: ignore[attr-defined]  # either is right
        assert (block.is_open, block.opened) == (is_open, is_open and not was_open)  # type: ignore[attr-defined]
        assert block.value == (value if is_open else 0.0)  # type: ignore[attr-defined]
        frame_of_opening = now.frame if is_open and not was_open else frame_of_opening
        was_open = is_open
