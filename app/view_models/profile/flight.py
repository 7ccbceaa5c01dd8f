"""A view of the flight record: bars of the last frames, the texts of one frame, and the slow frames."""

import math
import time
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np

from warploom.engine.figures import format_time, plural
from warploom.engine.profiling.recorder import LATEST_FRAMES
from warploom.engine.protocol.flight_record import FlightRecord, SlowFrame, Spent, SpentOn
from warploom.engine.protocol.messages import UpdateLevel

#: The phases of a frame from the bottom of its bar to the top, as columns of `FRAME_ROW`, with their titles.
PHASES = {"late": "late", "before": "before the launch", "launch": "launch", "wait": "device"}
_SPENT = {
    SpentOn.UPDATE: "update",
    SpentOn.COMPILE: "while an update was prepared",
    SpentOn.COLLECTION: "garbage collection",
    SpentOn.MEASURING: "measuring",
    SpentOn.LAUNCH: "launch",
    SpentOn.DEVICE: "device",
    SpentOn.PICTURES: "pictures and files",
    SpentOn.LATE: "late start",
}
#: What is shown in place of the times of blocks.
UNMEASURED = "Times of blocks were not measured: Run > Profiling > Per block"
#: A frame's details list so many blocks.
_MOST_NODES = 5
#: The percentage of frames that fit into the scale of the bars; higher bars are cut off.
_FITTING = 98


class Measured(NamedTuple):
    """A measured frame: its number, the time of each node, and of all work outside of regions."""

    frame: int
    times_ns: dict[str, int]
    work_ns: int


class Flight:
    """A record that arrived at `now_s`, a time of `time.time`."""

    def __init__(self, record: FlightRecord, now_s: float) -> None:
        self.record = record
        #: The frames as `FRAME_ROW`, oldest first.
        self.frames = record.frames
        #: The time from when each frame was due to its end, in nanoseconds.
        self.totals: np.ndarray[Any, Any] = self.frames["late"] + self.frames["whole"]
        self._ends: np.ndarray[Any, Any] = self.frames["began"] + self.frames["whole"]
        self._origin_s = now_s - record.now_ns / 1e9
        #: The times of nodes in the measured frames, by index; None until `take_times`.
        self._measured: dict[int, Measured] | None = None

    @property
    def has_times(self) -> bool:
        """Whether the times of nodes are known, if any were measured."""
        return self._measured is not None

    def take_times(self, later: FlightRecord) -> None:
        """Take the times of nodes from a later record of the same engine."""
        self._measured, times = {}, later.times
        for row, place in enumerate(times.places.tolist()) if times is not None else ():
            assert times is not None
            began, frame = int(later.frames["began"][place]), int(later.frames["frame"][place])
            here = int(np.searchsorted(self.frames["began"], began))
            if here < len(self.frames) and self.frames["began"][here] == began:
                pairs = zip(times.nodes, times.times_ns[row].tolist(), strict=True)
                known = {node: round(time_ns) for node, time_ns in pairs if not math.isnan(time_ns)}
                self._measured[here] = Measured(frame, known, int(times.work_ns[row]))

    def node_times(self, place: int) -> Measured | None:
        """Return the times of nodes in a frame, or else in the nearest one that was measured."""
        known = self._measured or {}
        nearest = min(known, key=lambda other: abs(other - place), default=None)
        return known[nearest] if nearest is not None else None

    @property
    def slowest(self) -> int | None:
        """The index of the frame that took longest."""
        return int(np.argmax(self.totals)) if len(self.totals) else None

    def began_s(self, place: int) -> float:
        """Return when a frame began, as a time of `time.time`."""
        return self._origin_s + int(self.frames["began"][place]) / 1e9

    @property
    def mark(self) -> tuple[int, int, int]:
        """A key that changes when the engine has run on, or has another budget."""
        return int(self._ends[-1]) if len(self._ends) else 0, len(self.record.updates), self.record.budget_ns

    @property
    def summary(self) -> str:
        """The line above the bars."""
        if not len(self.totals):
            return ""
        span_ns = int(self._ends[-1] - self.frames["began"][0])
        slow = int((self.totals > self.record.budget_ns).sum())
        parts = [f"{plural(len(self.totals), 'frame')} in {format_time(span_ns)}"]
        parts.append(f"median {format_time(float(np.median(self.totals)))}")
        parts.append(f"{slow:,} over {format_time(self.record.budget_ns)}")
        return " · ".join(parts)

    @cached_property
    def top_ns(self) -> int:
        """The top of the scale: 1, 2 or 5 times a power of 10, above nearly all bars and above a nearby budget."""
        if not len(self.totals):
            return self.record.budget_ns or 1
        wanted = 1.2 * max(float(np.percentile(self.totals, _FITTING)), 1000.0)
        if wanted > self.record.budget_ns / 5:
            wanted = max(wanted, 1.2 * self.record.budget_ns)
        size = 10 ** math.floor(math.log10(wanted))
        return int(next(step * size for step in (1, 2, 5, 10) if step * size >= wanted))

    def columns(self, width: int) -> np.ndarray[Any, Any]:
        """Return the frame of each of `width` columns, -1 for none; the newest is at the right.

        There is space for all frames of a full record. If several share a column, it shows the slowest.
        """
        missing = LATEST_FRAMES - len(self.totals)
        slots = np.arange(width + 1) * LATEST_FRAMES // max(width, 1) - missing
        if width >= LATEST_FRAMES:
            return np.maximum(slots[:-1], -1)
        found = np.full(width, -1)
        for column in np.flatnonzero(slots[1:] > 0).tolist():
            first = max(int(slots[column]), 0)
            found[column] = first + int(np.argmax(self.totals[first : slots[column + 1]]))
        return found

    def place_of(self, slow: SlowFrame) -> int | None:
        """Return the index of a slow frame in the record; None when it is older."""
        place = int(np.searchsorted(self.frames["began"], slow.began_ns))
        return place if place < len(self.frames) and self.frames["began"][place] == slow.began_ns else None

    def slow_texts(self, slow: SlowFrame) -> tuple[str, str, str]:
        """Return the time of day of a slow frame, its duration, and what took the time."""
        return self._clock(slow.began_ns), format_time(slow.total_ns), spent_text(slow)

    def describe(self, place: int) -> str:
        """Return the details of a frame as HTML; nodes are links."""
        row = self.frames[place]
        lines = [self._title(int(row["frame"]), int(row["began"]), int(self.totals[place]))]
        times = [(title, int(row[name])) for name, title in PHASES.items() if row[name]]
        lines.append(" · ".join(f"{title} {_unbroken(format_time(time_ns))}" for title, time_ns in times))
        slow = next((slow for slow in self.record.slow if slow.began_ns == row["began"]), None)
        if slow is not None:
            lines.append(f"Slow: {escape(spent_text(slow))}")
        return "<br>".join(lines + self._happened(place) + self._slowest_nodes(place))

    def describe_slow(self, slow: SlowFrame) -> str:
        """Return the details of a slow frame as HTML, even if it is older than the record."""
        place = self.place_of(slow)
        if place is not None:
            return self.describe(place)
        title = self._title(slow.frame, slow.began_ns, slow.total_ns)
        return f"{title}<br>Slow: {escape(spent_text(slow))}"

    def _slowest_nodes(self, place: int) -> list[str]:
        """Return a line about the blocks that took longest."""
        found = self.node_times(place)
        if found is None:
            return [UNMEASURED] if self.has_times else []
        slowest = sorted(found.times_ns.items(), key=lambda each: -each[1])[:_MOST_NODES]
        blocks = " · ".join(f"{_link(node)[1:]}&nbsp;{_unbroken(format_time(t))}" for node, t in slowest if t)
        of = "" if found.frame == int(self.frames["frame"][place]) else f" in frame {found.frame:,}"
        return [f"Slowest blocks{of}: {blocks}"] if blocks else []

    def _happened(self, place: int) -> list[str]:
        """Return lines about updates and diagnostics of a frame."""
        end = int(self._ends[place])
        begin = int(self._ends[place - 1]) if place else int(self.frames["began"][0])
        lines = []
        for updated in self.record.updates:
            if begin < updated.at_ns <= end:
                update = updated.update
                waited = f", the frame waited {format_time(update.swap_ns)}"
                cause = f"{escape(update.cause)}{_link(update.nodes[0]) if update.nodes else ''}"
                lines.append(f"{update.level.name.capitalize()}: {cause}, by {escape(update.source)}{waited}")
        if not lines and self.frames[place]["level"] == UpdateLevel.HOT:
            lines.append("Hot: parameters were written")
        for changed in self.record.diagnostics:
            if begin < changed.at_ns <= end:
                for what, found in (("Appeared", changed.appeared), ("Resolved", changed.resolved)):
                    lines += [f"{what}: {escape(item.message)}{_link(item.node)}" for item in found]
        return lines

    def _title(self, frame: int, began_ns: int, total_ns: int) -> str:
        return f"<b>Frame {frame:,}</b> · <b>{_unbroken(format_time(total_ns))}</b> · {self._clock(began_ns)}"

    def _clock(self, at_ns: int) -> str:
        at_s = self._origin_s + at_ns / 1e9
        return f"{time.strftime('%H:%M:%S', time.localtime(at_s))}.{int(at_s % 1 * 10)}"


def spent_text(slow: SlowFrame) -> str:
    """Return what took the time of a slow frame, the longest first."""
    return "; ".join(_part(slow, part) for part in slow.spent)


def _part(slow: SlowFrame, part: Spent) -> str:
    title = _SPENT[part.kind]
    if part.kind is SpentOn.UPDATE and slow.level:
        title = f"{slow.level.name.capitalize()} update"
    time_text = f" {format_time(part.time_ns)}" if part.time_ns else ""
    return f"{title}{time_text}{f' ({part.text})' if part.text else ''}"


def _unbroken(figure: str) -> str:
    """Return a figure that is not separated from its unit by a line break."""
    return figure.replace(" ", "&nbsp;")


def _link(node: str | None) -> str:
    return f' <a href="{escape(node)}">{escape(node)}</a>' if node else ""
