"""The patch's time: fixed steps, real time, and pauses."""

import math
from dataclasses import astuple
from fractions import Fraction
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.messages import SetTime
from warploom.engine.runtime.frame.clock import LONGEST_STEP_S, Clock


class Wall:
    """A wall clock that the test moves."""

    def __init__(self) -> None:
        self.now_ns = 10**15

    def pass_s(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def done(clock: Clock, wall: Wall, *, real: bool = False) -> tuple[int, float, float]:
    """Begin a frame and return its number, time and step."""
    clock.begin(wall.now_ns, advance=True, real=real)
    moment = astuple(clock.moment)
    clock.end()
    return moment  # type: ignore[return-value]  # a moment has these three fields


def test_fixed_time_is_the_frame_times_the_step_however_long_frames_take() -> None:
    """After a million frames of a third of a second, no error has accumulated."""
    wall = Wall()
    clock = Clock(1 / 3)
    assert done(clock, wall) == (0, 0.0, 1 / 3)
    wall.pass_s(5)
    assert clock.is_set
    assert done(clock, wall) == (1, 1 / 3, 1 / 3)
    clock.moment.frame = 1_000_000
    assert done(clock, wall)[1] == pytest.approx(float(Fraction(1_000_000, 3)), rel=1e-15)


def test_real_time_follows_the_wall_clock() -> None:
    """Real time begins at 0 with a nominal step, and then follows the wall clock."""
    wall = Wall()
    clock = Clock(1 / 60)
    assert done(clock, wall, real=True) == (0, 0.0, 1 / 60)
    for step_s, time_s in ((0.02, 0.02), (0.005, 0.025), (0.0, 0.025)):
        wall.pass_s(step_s)
        assert done(clock, wall, real=True)[1:] == (time_s, step_s)


def test_a_stall_is_one_step_of_bounded_length() -> None:
    """After an hour of sleep, the patch's time advances by only a tenth of a second."""
    wall = Wall()
    clock = Clock()
    done(clock, wall, real=True)
    wall.pass_s(3600)
    assert done(clock, wall, real=True) == (1, LONGEST_STEP_S, LONGEST_STEP_S)
    wall.pass_s(0.01)
    assert done(clock, wall, real=True) == (2, 0.11, 0.01)


@pytest.mark.parametrize("how", ["hold", "paused frame", "fixed frame"])
def test_the_patchs_time_stands_still_while_nothing_plays(how: str) -> None:
    """Time stands still during a pause, and the first frame after it takes a nominal step."""
    wall = Wall()
    clock = Clock(0.01)
    for _ in range(3):
        frame, time_s, _ = done(clock, wall, real=True)
        wall.pass_s(0.02)
    if how == "hold":
        clock.hold()
    elif how == "paused frame":
        clock.begin(wall.now_ns, advance=False, real=True)
        assert astuple(clock.moment) == (frame + 1, pytest.approx(time_s + 0.01), 0.0)
    else:
        frame, time_s, step_s = done(clock, wall)
        assert (time_s, step_s) == (pytest.approx(0.05), 0.01)
    wall.pass_s(9)
    assert done(clock, wall, real=True) == (frame + 1, pytest.approx(time_s + 0.01), 0.01)
    wall.pass_s(0.03)
    assert done(clock, wall, real=True) == (frame + 2, pytest.approx(time_s + 0.04), 0.03)


def test_reset_goes_back_to_the_beginning() -> None:
    """A reset sets real and fixed time back to frame 0 and time 0, in the same moment object."""
    wall = Wall()
    clock = Clock(0.5)
    moment = clock.moment
    for real in (True, False, True):
        done(clock, wall, real=real)
        wall.pass_s(0.05)
    clock.reset()
    assert clock.moment is moment
    assert astuple(moment) == (0, 0.0, 0.5)
    wall.pass_s(1)
    assert done(clock, wall, real=True) == (0, 0.0, 0.5)


@given(
    st.lists(
        st.tuples(st.sampled_from(["real", "fixed", "paused", "repeated"]), st.floats(0, 0.2)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([1 / 60, 1 / 25, 0.001]),
)
def test_time_is_the_sum_of_the_steps_since_frame_0(frames: list[tuple[str, float]], step_s: float) -> None:
    """Time is the sum of the steps for any mixture of real, fixed and paused frames; a paused frame has no step.

    A frame that is repeated has its number and time again. A clock that is set for a fixed frame has its moment
    already, and a frame that did not finish begins again.
    """
    wall = Wall()
    clock = Clock(step_s)
    total, count = 0.0, 0
    for kind, pause_s in frames:
        wall.pass_s(pause_s)
        if kind == "repeated":
            if clock.repeat():
                assert (clock.moment.frame, clock.moment.time_step_s) == (count - 1, 0)
                assert math.isclose(clock.moment.time_s, total, abs_tol=1e-8)
                clock.resume()
            assert clock.next_frame == clock.moment.frame == count
            continue
        if kind == "fixed" and clock.is_set:
            moment = astuple(clock.moment)
            clock.begin(wall.now_ns, advance=True, real=False)
            assert astuple(clock.moment) == moment
            clock.end()
            clock.back()
        clock.begin(wall.now_ns, advance=kind != "paused", real=kind == "real")
        moment = clock.moment
        assert moment.frame == count
        if kind == "paused":
            assert moment.time_step_s == 0
            continue
        assert 0 <= moment.time_step_s <= max(step_s, LONGEST_STEP_S)
        total += moment.time_step_s if count else 0.0
        assert math.isclose(moment.time_s, total, abs_tol=1e-8)
        clock.end()
        count += 1


def test_a_time_that_is_given_in_a_pause_is_that_of_the_next_frame() -> None:
    """The last frame is shown again first."""
    wall, clock = Wall(), Clock(0.5)
    done(clock, wall)
    clock.set_time(7.0)
    assert clock.repeat() and astuple(clock.moment) == (0, 0.0, 0.0)
    clock.resume()
    assert not clock.is_set and done(clock, wall) == (1, 7.0, LONGEST_STEP_S)


def test_real_time_is_exact_after_a_year() -> None:
    """After a year of frames of odd lengths, real time is exact to the nanosecond."""
    wall = Wall()
    clock = Clock()
    clock._origin_ns = 365 * 86_400 * 10**9
    done(clock, wall, real=True)
    for _ in range(1000):
        wall.now_ns += 16_666_667
        done(clock, wall, real=True)
    assert clock._origin_ns == 365 * 86_400 * 10**9 + 1000 * 16_666_667


@pytest.mark.parametrize("step_s", [0.0, -1.0, math.nan, math.inf])
def test_invalid_time_steps_are_refused(step_s: float) -> None:
    """A time step that is not positive is refused with the rule, the value and a usual step."""
    with pytest.raises(
        WarploomError, match=rf"time step must be a positive number of seconds, got {step_s}; a usual one is 1/60"
    ):
        Clock(step_s)


def test_frames_at_given_times_last_from_one_to_the_next() -> None:
    """A given time counts once; the step is at most a tenth of a second and never negative, and fixed steps go on."""
    wall, clock = Wall(), Clock(1 / 4)
    for given_s, expected in (
        (7.5, (0, 7.5, 1 / 4)),  # the first frame has none before
        (7.53125, (1, 7.53125, 0.03125)),
        (9.0, (2, 9.0, LONGEST_STEP_S)),
        (3.0, (3, 3.0, 0.0)),
        (None, (4, 3.25, 1 / 4)),
        (3.28125, (5, 3.28125, 0.03125)),
    ):
        if given_s is not None:
            clock.set_time(given_s)
            assert not clock.is_set
        clock.begin(wall.now_ns, advance=False, real=False)  # a frame that is shown again takes none
        assert done(clock, wall) == expected
    clock.set_time(1.0)
    wall.pass_s(0.02)
    assert done(clock, wall, real=True)[1] == 1.0
    wall.pass_s(0.02)
    assert done(clock, wall, real=True)[1:] == (1.02, 0.02)
    clock.set_time(1.0)
    clock.reset()
    assert done(clock, wall) == (0, 0.0, 1 / 4)
    clock.set_film(24)
    clock.set_time(5.0)
    assert done(clock, wall)[1] == 1 / 24


def test_engines_that_are_given_the_same_times_are_in_step() -> None:
    """Two engines on threads of their own, one of which began earlier, give the frames of the same moments."""
    patches = [Patch(), Patch()]
    nodes = []
    for patch in patches:
        node = patch.add("kernel.expression", expression="x + time")
        patch.connect(patch.add("io.array", data=np.zeros(3, np.float32))["out"], node["x"])
        nodes.append(node["out"])
    with Engine(patches[0], device="host") as one, Engine(patches[1], device="host") as other, ThreadPool(2) as pool:
        for _ in range(5):
            one.step()
        for time_s in (2.5, 2.53125, 1.0):
            reports = pool.map(lambda engine, time_s=time_s: engine.step(time_s=time_s), (one, other))
            assert [report.time_s for report in reports] == [time_s] * 2
            assert [engine.read(port).tolist() for engine, port in zip((one, other), nodes, strict=True)] == [
                [time_s] * 3
            ] * 2
        one.start(rate=200)
        one.post(SetTime(100.0))  # as a message to an engine that plays
        until(lambda: one.read(nodes[0])[0] >= 100)
        one.stop()
        for wrong in (-1.0, float("nan"), float("inf"), "2"):
            with pytest.raises(WarploomError, match="time_s"):
                other.step(time_s=wrong)  # type: ignore[arg-type]
        patches[1].set_timeline(rate=25)
        with pytest.raises(WarploomError, match="time_s must be left out for a patch with a timeline"):
            other.step(time_s=3.0)
