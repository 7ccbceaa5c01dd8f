"""The timeline of a measured frame: a bar for each row of its table, with parallel work in separate lanes."""

from collections.abc import Sequence
from typing import NamedTuple

from warploom.app.view_models.profile.table import ProfileTable
from warploom.engine.profiling.rows import RowKind

#: Steps between the marks of a ruler, as multiples of powers of ten.
_STEPS = (1, 2, 5, 10)


class Bar(NamedTuple):
    """A row, by its number, in a lane counted from the top; its inner rows lie in the lanes below."""

    first_ns: int
    last_ns: int
    lane: int
    row: int


class Timeline(NamedTuple):
    """The bars by start, the number of lanes, and the end of the last bar in nanoseconds."""

    bars: tuple[Bar, ...] = ()
    lanes: int = 0
    end_ns: int = 0


def lay_out(table: ProfileTable) -> Timeline:
    """Return the timeline of a table. Overlapping work lies in different lanes; work that did not run has no bar.

    All turns of a loop are one bar, so blocks of one loop overlap, and each has its own lane. The graph's own work
    spans the whole frame, so only its operations have bars.
    """
    top: list[int] = []
    for number in table.children[-1]:
        top += table.children[number] if table.rows[number].kind is RowKind.GRAPH else [number]
    bars, lanes = _pack(table, top)
    return Timeline(tuple(sorted(bars)), lanes, max((bar.last_ns for bar in bars), default=0))


def _pack(table: ProfileTable, numbers: Sequence[int]) -> tuple[list[Bar], int]:
    """Put rows, with all inner rows, into as few lanes as a greedy pass from start to end needs."""
    bars: list[Bar] = []
    lanes = 0
    running: list[tuple[int, int, int]] = []  # first lane, lane after the last one, end
    ran = [number for number in numbers if table.times[number].turns]
    for number in sorted(ran, key=lambda number: table.times[number].first_ns):
        times, inside = table.times[number], table.children[number]
        below, height = _pack(table, inside) if inside else ([], 0)
        running = [each for each in running if each[2] > times.first_ns]
        lane = _free_lane(running, height + 1)
        running.append((lane, lane + height + 1, times.last_ns))
        running.sort()
        bars.append(Bar(times.first_ns, times.last_ns, lane, number))
        bars += (bar._replace(lane=bar.lane + lane + 1) for bar in below)
        lanes = max(lanes, lane + height + 1)
    return bars, lanes


def _free_lane(running: Sequence[tuple[int, int, int]], height: int) -> int:
    """Return the first lane from which `height` lanes are free."""
    lane = 0
    for first, after, _ in running:
        if lane + height <= first:
            break
        lane = max(lane, after)
    return lane


def ruler(first_ns: float, last_ns: float, most: int) -> list[int]:
    """Return the times of a ruler's marks from `first_ns` to `last_ns`: round numbers, about `most` of them."""
    length_ns = last_ns - first_ns
    if length_ns <= 0 or most < 1:
        return []
    size = 1
    while size * _STEPS[-1] < length_ns / most:
        size *= 10
    step = next((size * step for step in _STEPS if size * step >= length_ns / most), size * _STEPS[-1])
    return list(range(-(-int(first_ns) // step) * step, int(last_ns) + 1, step))
