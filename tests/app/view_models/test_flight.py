"""The view of the flight recorder."""

import time
from typing import Any

import numpy as np
import pytest

from warploom.app.view_models.profile.flight import PHASES, Flight, spent_text
from warploom.engine.diagnostics import warning
from warploom.engine.figures import format_time
from warploom.engine.profiling.recorder import FRAME_ROW, LATEST_FRAMES
from warploom.engine.protocol.flight_record import (
    FlightRecord,
    RecordedDiagnostics,
    RecordedUpdate,
    SlowFrame,
    Spent,
    SpentOn,
)
from warploom.engine.protocol.messages import UpdateLevel, UpdateRecord

MS = 1_000_000
NOON = time.mktime((2026, 1, 5, 12, 0, 0, 0, 0, -1))


def make_record(totals_ms: list[float], **more: Any) -> FlightRecord:
    """Return a record of consecutive frames from 1 s on, each half spent on the device."""
    rows, began = [], 1000 * MS
    for frame, total_ms in enumerate(totals_ms):
        whole = round(total_ms * MS)
        rows.append((frame, 0, began, 0, whole, whole // 4, whole // 4, whole - whole // 4 * 2))
        began += whole
    given = {"now_ns": began, "budget_ns": 16 * MS, **more}
    return FlightRecord(frames=np.array(rows, FRAME_ROW), **given)


def flight(totals_ms: list[float], **more: Any) -> Flight:
    return Flight(make_record(totals_ms, **more), NOON)


def test_the_phases_are_those_of_a_frame() -> None:
    """The phases of a frame add up to its whole time."""
    frames = flight([3, 40]).frames
    assert (sum(frames[phase] for phase in PHASES) == frames["late"] + frames["whole"]).all()


def test_the_summary_counts_slow_frames() -> None:
    assert flight([4, 4, 40]).summary == "3 frames in 48.0 ms · median 4.00 ms · 1 over 16.0 ms"
    assert flight([]).summary == ""


@pytest.mark.parametrize(
    ("totals_ms", "top_ms"),
    [([0.2] * 50, 0.5), ([4] * 50, 20), ([16] * 50, 20), ([30] * 50, 50), ([4] * 99 + [900], 20), ([], 16)],
)
def test_the_scale_has_room_for_nearly_all_frames_and_a_budget_that_is_near(
    totals_ms: list[float], top_ms: float
) -> None:
    """The scale's top fits nearly all frames, and a budget that is near."""
    assert flight(totals_ms).top_ns == top_ms * MS


@pytest.mark.parametrize("width", [1, 7, 300, 599, 600, 601, 1000, 1200])
@pytest.mark.parametrize("count", [1, 20, 599, 600])
def test_columns_show_the_slowest_of_their_frames(width: int, count: int) -> None:
    """Columns show frames in order and include the slowest; with enough columns, each frame has one."""
    totals = [1.0] * count
    totals[count // 2] = 30.0
    columns = flight(totals).columns(width)
    shown = columns[columns >= 0].tolist()
    assert len(columns) == width
    assert shown == sorted(shown)
    assert count // 2 in shown
    assert width < LATEST_FRAMES or set(shown) == set(range(count))
    assert count < LATEST_FRAMES or (columns >= 0).all()


def test_a_frame_tells_its_phases_and_what_happened_in_it() -> None:
    at_ns = 1005 * MS
    found = flight(
        [4, 8, 4],
        updates=(RecordedUpdate(1012 * MS, UpdateRecord(UpdateLevel.COLD, "<b> added", 9 * MS, 1, nodes=("b",))),),
        diagnostics=(RecordedDiagnostics(at_ns, (warning("full", node="a"),), ()),),
    )
    text = found.describe(1)
    assert "<b>Frame 1</b> · <b>8.00&nbsp;ms</b> · 11:59:59.9" in text
    assert "before the launch 2.00&nbsp;ms · launch 2.00&nbsp;ms · device 4.00&nbsp;ms" in text
    assert 'Cold: &lt;b&gt; added <a href="b">b</a>, by edit' in text
    assert 'Appeared: full <a href="a">a</a>' in text
    assert "Appeared" not in found.describe(0) and "Cold" not in found.describe(2)


def test_slow_frames_are_told_with_what_they_were_spent_on() -> None:
    """A slow frame is described by the causes of its time, even if it is older than the recorded frames."""
    old = SlowFrame(7, 500 * MS, 20 * MS, UpdateLevel.NONE, (Spent(SpentOn.COLLECTION, 15 * MS),))
    new = SlowFrame(
        1,
        1004 * MS,
        40 * MS,
        UpdateLevel.COLD,
        (Spent(SpentOn.UPDATE, 30 * MS, "b added"), Spent(SpentOn.DEVICE, 9 * MS), Spent(SpentOn.COMPILE, 0)),
    )
    found = flight([4, 40], slow=(old, new))
    assert found.slow_texts(old) == ("11:59:59.4", "20.0 ms", "garbage collection 15.0 ms")
    assert spent_text(new) == "Cold update 30.0 ms (b added); device 9.00 ms; while an update was prepared"
    assert [found.place_of(slow) for slow in (old, new)] == [None, 1]
    assert found.describe_slow(new) == found.describe(1)
    assert "garbage collection 15.0 ms" in found.describe_slow(old)


def test_every_kind_of_part_has_a_title() -> None:
    for kind in SpentOn:
        slow = SlowFrame(0, 0, 5, UpdateLevel.NONE, (Spent(kind, MS),))
        assert spent_text(slow).endswith(format_time(MS))
