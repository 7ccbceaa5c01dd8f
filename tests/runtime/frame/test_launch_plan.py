"""The plan of a frame: whether it overlaps, how many are launched together, and whether it leaves a report."""

from itertools import product
from typing import Any

import pytest

from warploom.engine.compiler.frame import MOST_BURSTS
from warploom.engine.protocol.pacing import Pacing, PacingMode
from warploom.engine.runtime.frame.launch_plan import LaunchPlan, plan_launches

FREE, AT_RATE = Pacing.free(), Pacing.fixed(60.0)


def plan(**facts: Any) -> LaunchPlan:
    """Return the plan of a free frame like the previous ones, without a report."""
    usual = {"is_busy": True, "can_overlap": True, "pacing": FREE, "is_report_due": False}
    return plan_launches(**{**usual, **facts})


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_frame_that_cannot_overlap_is_waited_for_and_reported(is_busy: bool) -> None:
    """Stepped frames, frames on the host, and frames before a sentinel that freezes never overlap."""
    for pacing, yes, burst in product([FREE, AT_RATE, Pacing.free(overlap=True)], [True, False], [1, 4]):
        facts = {"is_live": yes, "has_status": yes, "is_updated": yes, "is_special": yes, "burst": burst}
        found = plan(can_overlap=False, is_busy=is_busy, pacing=pacing, **facts)
        assert found == LaunchPlan(waits=is_busy, burst=1, in_flight=1, reports=True)


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("overlap", [True, False, None])
@pytest.mark.parametrize("rate", [None, 60.0])
def test_frames_overlap_if_a_person_says_so_or_nobody_waits(
    rate: float | None, overlap: bool | None, is_live: bool
) -> None:
    """Without a choice, free frames overlap except for a while after an edit, and frames at a rate don't overlap."""
    mode = PacingMode.FREE if rate is None else PacingMode.FIXED
    found = plan(pacing=Pacing(mode, rate, overlap), is_live=is_live)
    overlaps = overlap if overlap is not None else rate is None and not is_live
    assert (found.in_flight, found.waits) == ((MOST_BURSTS, False) if overlaps else (1, True))


def test_an_overlapping_frame_is_waited_for_to_read_status_words() -> None:
    """An overlapping frame with status words is launched alone and waited for."""
    assert plan(has_status=True, burst=4) == LaunchPlan(waits=True, burst=1, in_flight=MOST_BURSTS, reports=False)


@pytest.mark.parametrize("is_busy", [True, False])
def test_without_a_launch_only_earlier_frames_are_waited_for(is_busy: bool) -> None:
    """A frame without a launch waits for the frames in flight."""
    found = plan(is_launched=False, is_busy=is_busy, has_status=True, burst=4)
    assert (found.waits, found.burst) == (is_busy, 1)


def test_short_frames_are_launched_in_bursts() -> None:
    """A burst is as long as the launcher allows, and three bursts are in flight."""
    assert plan(burst=4) == LaunchPlan(waits=False, burst=4, in_flight=4 * MOST_BURSTS, reports=False)


@pytest.mark.parametrize(
    "facts",
    [
        {"is_updated": True},
        {"is_special": True},
        {"frames_left": 9},
        {"has_status": True},
        {"pacing": Pacing(PacingMode.FIXED, 60.0, overlap=True)},
    ],
)
def test_a_frame_unlike_the_next_ones_is_launched_alone(facts: dict[str, Any]) -> None:
    """A frame with an edit, a saved file, counted frames, status words or a rate is launched alone."""
    assert plan(burst=4, **facts).burst == 1


@pytest.mark.parametrize("facts", [{"is_updated": True}, {"frames_left": 1}, {"is_report_due": True}])
def test_what_is_new_is_reported_at_once(facts: dict[str, Any]) -> None:
    """A frame leaves a report only after an update, as the last of counted frames, or when one is due."""
    assert plan(**facts).reports
    assert not plan().reports and not plan(frames_left=2).reports
