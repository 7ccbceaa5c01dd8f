"""The profiler's table and timeline as data."""

from itertools import pairwise

import pytest

from tests.app.app_support import make_report
from tests.profiling.spans import span
from warploom.app.view_models.profile.table import ProfileColumn, ProfileTable, cost_text, why_empty
from warploom.app.view_models.profile.timeline import lay_out, ruler
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile, SpanProfile

SPANS = (
    span("", "upload", operation=0, busy_ns=5_000),
    span("a", "blur", operation=1, first_ns=5_000, busy_ns=30_000),
    span("b", "relief", operation=2, first_ns=10_000, busy_ns=10_000, mean_ns=40_000),
    span("loop", first_ns=40_000, busy_ns=20_000, is_region=True),
    span("c", "step", operation=3, region="loop", first_ns=40_000, busy_ns=20_000, turns=4),
)


def profile_of(*spans: SpanProfile, sums_p99_ns: dict[str, int] | None = None) -> Profile:
    return Profile(0, ProfilingLevel.PER_KERNEL, 80_000, None, 0, 0, spans, {}, sums_p99_ns or {})


def table_of(*spans: SpanProfile) -> ProfileTable:
    table = ProfileTable()
    table.show(profile_of(*spans))
    return table


def numbers(table: ProfileTable) -> dict[str, int]:
    return {row.key: number for number, row in enumerate(table.rows)}


def test_rows_are_sorted_within_the_row_around_them() -> None:
    """Rows sort within their parent row, so a block in a loop stays below the loop."""
    table = table_of(*SPANS)
    order = table.order(ProfileColumn.MEAN, descending=True)
    assert [table.title(number) for number in order[-1]] == ["b", "a", "loop", "Graph"]
    loop = numbers(table)["loop"]
    assert [table.title(number) for number in order[loop]] == ["c"]


def test_cells_tell_times_turns_and_shares() -> None:
    """Cells show times, turns and shares of the frame's work, such as 40 of 95 µs."""
    table = table_of(*SPANS)
    found = numbers(table)
    assert [table.text(found["b"], column) for column in ProfileColumn] == [
        *("b", "10.0 µs", "40.0 µs", "40.0 µs", "1", "42.1%")
    ]
    assert table.text(found["c"], ProfileColumn.TURNS) == "4"
    assert "20.0 µs in 4 turns of 5.00 µs" in table.tooltip(found["c"])


def test_a_group_tells_the_p99_of_its_sums() -> None:
    """A group's cell, tooltip and sort order use the p99 of its sums."""
    table = ProfileTable()
    inside = (span("mix/b", busy_ns=30_000), span("mix/a", busy_ns=20_000))
    table.show(profile_of(*inside, span("c", busy_ns=45_000), sums_p99_ns={"mix": 44_000}))
    found = numbers(table)
    assert table.text(found["mix"], ProfileColumn.P99) == "44.0 µs"
    assert "p99 44.0 µs" in table.tooltip(found["mix"])
    assert [table.title(number) for number in table.order(ProfileColumn.P99, descending=True)[-1]] == ["c", "mix"]


def test_what_did_not_run_has_no_time_and_no_bar() -> None:
    """A block that did not run shows a dash instead of times, and has no bar."""
    table = table_of(span("a", busy_ns=10), span("b", busy_ns=0, turns=0))
    assert table.text(1, ProfileColumn.NOW) == table.text(1, ProfileColumn.TURNS) == "–"
    assert {bar.row for bar in lay_out(table).bars} == {0}


def test_the_same_rows_take_other_times() -> None:
    """A frame of the same graph keeps the row objects; a graph with other spans needs other rows."""
    table = table_of(*SPANS)
    before, later = table.rows, tuple(span(each.node, each.name, operation=each.operation) for each in SPANS[:3])
    assert table.has_rows_of(SPANS)
    assert not table.has_rows_of(later)
    table.show(profile_of(*SPANS))
    assert table.rows is before


def test_parallel_work_lies_in_lanes_of_its_own() -> None:
    """Parallel work is drawn in separate lanes without overlaps, and no bar of the graph itself covers the frame."""
    table = table_of(*SPANS, span("", "download", operation=9, first_ns=60_000, busy_ns=5_000))
    timeline = lay_out(table)
    for lane in range(timeline.lanes):
        bars = [bar for bar in timeline.bars if bar.lane == lane]
        assert all(one.last_ns <= other.first_ns for one, other in pairwise(bars))
    lanes = {table.rows[bar.row].key: bar.lane for bar in timeline.bars}
    assert "" not in lanes
    assert lanes["a"] != lanes["b"]
    assert lanes["c"] > lanes["loop"] == 0
    assert timeline.end_ns == 65_000


@pytest.mark.parametrize(("length", "most"), [(1, 3), (999, 7), (12_345_678, 5)])
def test_rulers_are_round_and_sparse(length: int, most: int) -> None:
    """A ruler's marks are round numbers from 0, at most one more than requested."""
    marks = ruler(0, length, most)
    assert 0 < len(marks) <= most + 1
    assert marks[0] == 0


def test_the_cost_of_measuring_is_told() -> None:
    """The cost of measuring is shown as a share of the time, with how many of the frames are measured."""
    profile = Profile(1, ProfilingLevel.PER_BLOCK, 2_100_000, 2_400_000, 1_200_000, 100_000_000)
    assert cost_text(profile, 60.0) == "2.10 ms a frame · measuring takes 1.2%, one frame in 6"
    assert cost_text(None, 60.0) == ""


def test_empty_places_say_what_to_do() -> None:
    """An empty table says what to do: choose a level that measures blocks, play, restart the engine, or wait."""
    assert "Choose Each block" in why_empty(ProfilingLevel.NONE, None)
    assert "Choose Each block" in why_empty(ProfilingLevel.SUMMARY, make_report())
    assert "Play or step" in why_empty(ProfilingLevel.PER_BLOCK, make_report(running=False))
    assert "Restart" in why_empty(ProfilingLevel.PER_BLOCK, make_report(failed=True))
    assert "moment after" in why_empty(ProfilingLevel.PER_BLOCK, make_report())
