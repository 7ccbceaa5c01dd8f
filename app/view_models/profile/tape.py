"""The tape: what viewers, thumbnails and values showed in the last frames; and a moment of it."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Mapping

import numpy as np
from msgspec.structs import replace

from warploom.app.view_models.profile.flight import UNMEASURED, Flight
from warploom.engine.figures import format_bytes, plural
from warploom.engine.protocol.messages import FrameReport
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling

#: The tape keeps so many bytes in all, so many of one picture, and at most so many things of a name a second.
MOST_BYTES, MOST_OF_ONE, RATE = 64 << 20, 256 << 10, 10
#: Things without data, such as values, count as so many bytes.
_LEAST_BYTES = 1 << 10
_VALUES = "values"

_Entry = tuple[int, Sample | Mapping[str, float] | None]


class Tape:
    """Keeps small copies of what is shown, by name; the oldest go first."""

    def __init__(self) -> None:
        self._tracks: dict[str, list[_Entry]] = {}
        self._put_s: dict[str, float] = {}
        self._order: deque[tuple[str, _Entry, int]] = deque()
        self.size_bytes = 0

    @property
    def text(self) -> str:
        """How much is recorded, as a text."""
        names = sum(1 for name in self._tracks if name != _VALUES)
        if not names:
            return ""
        return f"{plural(names, 'output')} recorded, {format_bytes(self.size_bytes)} of {format_bytes(MOST_BYTES)}"

    def put(self, shown: Sample, now_s: float) -> None:
        """Record something that is shown at a time in seconds, unless the last one of its name was just before."""
        name = shown.name
        if now_s - self._put_s.get(name, -1.0) >= 1 / RATE and (made := small(shown)) is not None:
            self._put_s[name] = now_s
            self._add(name, made.frame, made, _size(made))

    def put_values(self, report: FrameReport) -> None:
        """Record the values of a report, if they are others."""
        last = self._tracks.get(_VALUES)
        if report.values and not (last and last[-1][1] is report.values):  # the last one may have gone, too
            self._add(_VALUES, report.frame, report.values, _LEAST_BYTES + 64 * len(report.values))

    def keep_only(self, names: Collection[str]) -> None:
        """Record only these names from now on; a later frame shows nothing of the others."""
        for name, track in self._tracks.items():
            if name not in names and name != _VALUES and track and track[-1][1] is not None:
                self._add(name, track[-1][0] + 1, None, _LEAST_BYTES)

    def clear(self) -> None:
        """Forget everything: another patch or engine follows."""
        self._tracks.clear()
        self._put_s.clear()
        self._order.clear()
        self.size_bytes = 0

    def copy(self) -> "Tape":
        """Return a copy, which shares the pictures."""
        made = Tape()
        made._tracks = {name: track.copy() for name, track in self._tracks.items()}
        made.size_bytes = self.size_bytes
        return made

    def find(self, name: str, frame: int, sampling: Sampling | None = None) -> Sample | None:
        """Return what was last shown under a name until a frame.

        With `sampling`, it is of that port and kind, and else one that was shown under another name.
        """
        found = self._at(name, frame)
        if sampling is None or _fits(found, sampling):
            return found
        others = (self._at(other, frame) for other in self._tracks if other != name)
        fitting = (each for each in others if each is not None and _fits(each, sampling))
        return next((replace(each, name=name) for each in fitting), None)

    def values(self, frame: int) -> Mapping[str, float]:
        """Return the values after a frame."""
        found = self._entry(_VALUES, frame)
        return found if isinstance(found, Mapping) else {}

    def _at(self, name: str, frame: int) -> Sample | None:
        found = self._entry(name, frame)
        return None if isinstance(found, Mapping) else found

    def _entry(self, name: str, frame: int) -> Sample | Mapping[str, float] | None:
        track = self._tracks.get(name, [])
        place = bisect_right(track, frame, key=lambda entry: entry[0])
        return track[place - 1][1] if place else None

    def _add(self, name: str, frame: int, shown: Sample | Mapping[str, float] | None, size_bytes: int) -> None:
        track, entry = self._tracks.setdefault(name, []), (frame, shown)
        if track and track[-1][0] > frame:  # the engine began again at frame 0
            track.clear()
        elif track and track[-1][0] == frame:
            track.pop()
        track.append(entry)
        self._order.append((name, entry, size_bytes))
        self.size_bytes += size_bytes
        while self.size_bytes > MOST_BYTES:
            gone, oldest, size = self._order.popleft()
            self.size_bytes -= size
            if (first := self._tracks.get(gone)) and first[0] is oldest:
                del first[0]


def small(shown: Sample) -> Sample | None:
    """Return a copy of something that is shown, with few enough bytes; None if it can't be made so small."""
    if shown.data is None:
        return None
    axes, step = len(shown.shape), _step(shown.data.nbytes)
    data = shown.data
    if step > 1 and axes >= 2 and shown.sampling.reduction in (Reduction.MEAN, Reduction.PICTURE):
        every, rest = slice(None, None, step), (slice(None),) * (data.ndim - axes)
        data = data[(slice(None),) * (axes - 2) + (every, every) + rest]
    elif step > 1 and axes == 1 and shown.sampling.reduction is Reduction.PICK:
        data = data[:: step * step]
    elif step > 1:
        return None
    return replace(shown, data=data.copy(), probed=None)


def _step(size_bytes: int) -> int:
    return max(1, math.ceil(math.sqrt(size_bytes / MOST_OF_ONE)))


def _size(shown: Sample) -> int:
    return _LEAST_BYTES + (shown.data.nbytes if shown.data is not None else 0)


def _fits(shown: Sample | None, sampling: Sampling) -> bool:
    if shown is None:
        return False
    other = shown.sampling
    return (other.port, other.reduction, other.field) == (sampling.port, sampling.reduction, sampling.field)


class Moment:
    """A recorded frame that the editor shows in place of the present: what was seen, and the times of nodes."""

    def __init__(self, flight: Flight, place: int, tape: Tape, now_s: float) -> None:
        self._flight, self._tape, self._now_s = flight, tape, now_s
        self.place, self.frame = place, int(flight.frames["frame"][place])
        #: Whether other frames of this number follow, since the engine began again.
        self._is_former = bool((flight.frames["frame"][place:] < self.frame).any())
        self.times = flight.node_times(place)

    @property
    def title(self) -> str:
        """Which frame is shown, as a text."""
        text = f"You see {self.mark(self.frame)}"
        if self.times is None:
            return f"{text}. {UNMEASURED}"
        if self.times.frame != self.frame:
            text += f"; times are those of frame {self.times.frame:,}, the nearest that was measured"
        return text

    def mark(self, frame: int) -> str:
        """Return how far back a frame is: "frame 1,234, 3.2 s ago"."""
        places = np.flatnonzero(self._flight.frames["frame"] == frame)
        if not len(places):
            return f"frame {frame:,}, earlier"
        return f"frame {frame:,}, {ago(self._now_s - self._flight.began_s(int(places[-1])))}"

    def shown(self, name: str, sampling: Sampling | None = None) -> Sample | None:
        """Return what was shown under a name, see `Tape.find`; None if nothing was recorded."""
        return None if self._is_former else self._tape.find(name, self.frame, sampling)

    def report(self, live: FrameReport) -> FrameReport:
        """Return a report with the times and values of this frame; its other fields are those of the present."""
        times = self.times.times_ns if self.times is not None else {}
        nodes = {node: replace(each, time_ns=times.get(node)) for node, each in live.nodes.items()}
        work_ns = self.times.work_ns if self.times is not None else None
        values = {} if self._is_former else dict(self._tape.values(self.frame))
        return replace(live, nodes=nodes, statistics=replace(live.statistics, work_ns=work_ns), values=values)


def ago(seconds: float) -> str:
    """Return a time that has passed: "3.2 s ago"."""
    if seconds < 100:
        return f"{max(seconds, 0.0):.1f} s ago"
    return f"{seconds / 60:.0f} min ago"
