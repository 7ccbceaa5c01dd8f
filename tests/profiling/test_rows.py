"""The hierarchy of a profile: which rows contain which, and which times add up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.profiling.spans import span
from tests.small_examples import small
from warploom import Engine, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.profiling.profile import Profile, SpanProfile
from warploom.engine.profiling.rows import RowKind, row_times, rows

SPANS = (
    span("", "upload frame", operation=0),
    span("mix/blur", "blur_x", operation=1, busy_ns=30),
    span("mix/blur", "blur_y", operation=2, busy_ns=20),
    span("loop", "begin_for", operation=3, busy_ns=2),
    span("loop", "region for", operation=4, busy_ns=100, is_region=True),
    span("loop", "turn_for", operation=5, busy_ns=6, turns=3, region="loop"),
    span("mix/inner", "region if", operation=6, busy_ns=40, is_region=True),
    span("mix/far/tone", "tone", operation=7, busy_ns=8, region="mix/inner", branch="else"),
    span("glow/tone", "tone", operation=8, busy_ns=60, turns=3, region="loop"),
    span("never", "never", operation=9, busy_ns=0, turns=0, mean_ns=5, region="loop"),
)


def profile_of(spans: tuple[SpanProfile, ...], sums_p99_ns: dict[str, int]) -> Profile:
    return Profile(0, ProfilingLevel.PER_KERNEL, 150, None, 0, 0, spans, {}, sums_p99_ns)


def test_regions_and_composites_hold_what_is_inside_them() -> None:
    """Regions and composites may contain each other; the graph and a region's loop have rows for their own work."""
    found = rows(SPANS)
    assert [("  " * row.depth + (row.name or row.node), str(row.kind), row.spans) for row in found] == [
        ("", "graph", (0,)),
        ("  upload frame", "operation", (0,)),
        ("mix", "composite", (1, 2, 6)),
        ("  mix/blur", "block", (1, 2)),
        ("    blur_x", "operation", (1,)),
        ("    blur_y", "operation", (2,)),
        ("  mix/inner", "region", (6,)),
        ("    mix/far", "composite", (7,)),
        ("      mix/far/tone", "block", (7,)),
        ("        tone", "operation", (7,)),
        ("loop", "region", (3, 4)),
        ("  begin_for", "operation", (3,)),
        ("  turn_for", "operation", (5,)),
        ("  glow", "composite", (8,)),
        ("    glow/tone", "block", (8,)),
        ("      tone", "operation", (8,)),
        ("  never", "block", (9,)),
        ("    never", "operation", (9,)),
    ]
    assert len({row.key for row in found}) == len(found)
    assert [row.branch for row in found if row.node == "mix/far/tone" and not row.name] == ["else"]
    for number, row in enumerate(found):
        assert row.parent < number
        assert row.depth == (found[row.parent].depth + 1 if row.parent >= 0 else 0)


def test_a_block_is_in_its_region_although_a_part_of_its_work_is_not() -> None:
    """A block whose buffer is cleared before the loop still belongs to the loop, and so does its composite."""
    spans = (
        span("glow/mix", "fill out with 0", operation=0, busy_ns=1),
        span("loop", "region for", operation=1, busy_ns=100, is_region=True),
        span("glow/mix", "mix", operation=2, busy_ns=60, turns=3, region="loop"),
    )
    found = rows(spans)
    assert [(row.node, row.depth, row.spans) for row in found if not row.name] == [
        ("loop", 0, (1,)),
        ("glow", 1, (0, 2)),
        ("glow/mix", 2, (0, 2)),
    ]


def test_times_of_rows_add_up() -> None:
    """A region's span includes the spans inside it, shares are of all work, and the p99 of a group is the profile's."""
    found, idle = rows(SPANS), tuple(replace(each, mean_ns=0) for each in SPANS)
    profile = profile_of(SPANS, {"mix": 92})
    work_ns = sum(each.mean_ns for each in SPANS if not each.region)
    assert profile.work_ns == work_ns
    times = {row.key: time for row, time in zip(found, row_times(found, profile), strict=True)}
    assert (times["mix"].busy_ns, times["mix"].turns, times["mix"].p99_ns) == (90, 1, 92)
    assert (times["loop"].busy_ns, times["loop"].share) == (102, pytest.approx(102 / work_ns))
    assert (times["glow"].busy_ns, times["glow"].turns, times["glow"].p99_ns) == (60, 3, 61)
    assert (times["never"].busy_ns, times["never"].mean_ns, times["never"].p99_ns) == (0, 5, 6)
    assert (times[""].share, times["mix"].share) == pytest.approx((10 / work_ns, 90 / work_ns))
    assert {time.share for time in row_times(found, replace(profile, spans=idle))} == {None}


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
def test_rows_of_an_example_follow_its_regions(device: Device, level: ProfilingLevel) -> None:
    """A block in a branch in a loop has the same rows at both levels of profiling."""
    with Engine(small("nested"), device, profiling=level) as engine:
        for _ in range(3):
            engine.step()
        spans = engine.core.profiler.profile().spans
    found = [row for row in rows(spans) if row.kind not in (RowKind.OPERATION, RowKind.GRAPH)]
    assert [(row.node, str(row.kind), row.depth) for row in found] == [
        ("turns", "region", 0),
        ("every", "block", 1),
        ("rain", "region", 1),
        ("drop", "block", 2),
        ("step", "block", 1),
        ("relief", "block", 0),
        ("viewer", "block", 0),
    ]


def test_a_profile_without_spans_has_no_rows() -> None:
    """A profile at the summary level has no rows."""
    assert rows(()) == ()
    assert row_times((), profile_of((), {})) == []


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
def test_the_p99_of_a_group_is_that_of_its_sums(device: Device, level: ProfilingLevel) -> None:
    """The p99 of a group is that of its sum in each frame, as numpy computes it; only single spans have no group."""
    with Engine(small("nested"), device, profiling=level) as engine:
        profiler, samples = engine.core.profiler, list[np.ndarray[Any, Any]]()
        profiler.every_frame = True
        for number in range(12):
            engine.step()
            profile = profiler.profile()
            if number == 1:
                samples.clear()  # the first frame of a graph counts only until there is a second one
            samples.append(np.array([span.busy_ns for span in profile.spans]))
    found = rows(profile.spans)
    for row, times in zip(found, row_times(found, profile), strict=True):
        sums = np.stack(samples)[:, row.spans].sum(axis=1)
        assert times.p99_ns == np.quantile(sums, 0.99, method="inverted_cdf")
    assert profile.sums_p99_ns.keys() == {row.key for row in found if len(row.spans) > 1}
    assert profile.sums_p99_ns or level is ProfilingLevel.PER_BLOCK


@st.composite
def measured(draw: st.DrawFn) -> tuple[SpanProfile, ...]:
    """Draw the spans of a frame: nested blocks and loops, where the inside takes no longer than the loop."""
    found: list[SpanProfile] = []

    def body(region: str, left_ns: int, depth: int) -> None:
        for number in range(draw(st.integers(0, 3))):
            node, is_region = f"{region}n{number}", depth < 2 and draw(st.booleans())
            mean_ns = draw(st.integers(0, left_ns)) if region else draw(st.integers(0, 10**6))
            left_ns -= mean_ns if region else 0
            at = len(found)
            found.append(span(node, "work", operation=at, busy_ns=mean_ns, region=region, is_region=is_region))
            if is_region:
                body(node, mean_ns, depth + 1)

    body("", 0, 0)
    return tuple(found)


@given(measured())
def test_shares_add_up_to_one_and_nothing_is_more_than_what_is_around_it(spans: tuple[SpanProfile, ...]) -> None:
    """In any measurement, shares refer to the work of the same frames and add up to one; no row exceeds its parent."""
    found, profile = rows(spans), profile_of(spans, {})
    times = row_times(found, profile)
    top = [time.share for row, time in zip(found, times, strict=True) if row.parent < 0]
    assert top == [None] * len(top) or sum(share or 0 for share in top) == pytest.approx(1)
    for number in range(len(found)):
        inside = [times[at] for at, other in enumerate(found) if other.parent == number]
        assert sum(time.mean_ns for time in inside) <= times[number].mean_ns
        assert sum(time.share or 0 for time in inside) <= (times[number].share or 0) + 1e-9
