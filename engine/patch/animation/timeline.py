"""The timeline: a patch as a film, with a rate, a length, and the frames between which it plays."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError

#: The key of the timeline among a patch's annotations.
TIMELINE = "timeline"
#: The lowest and highest rates, and the most frames.
RATES, LONGEST = (0.01, 10_000.0), 10_000_000


class Timeline(msgspec.Struct, frozen=True, kw_only=True, tag_field="note", tag=True):
    """The frames of a film: frame n is at n / rate seconds.

    The film plays from frame `first` (in) to frame `last` (out), None for its end, and begins again with `loop`. While
    it plays in real time, late frames are left out, unless `every_frame` is to be shown. Renderings have every frame.
    """

    kind: ClassVar[str] = "timeline"

    rate: float = 60.0
    length: int = 600
    first: int = 0
    last: int | None = None
    loop: bool = True
    every_frame: bool = False
    extra: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The key among all annotations."""
        return TIMELINE

    @property
    def end(self) -> int:
        """The last frame that plays."""
        return self.length - 1 if self.last is None else self.last

    def time_s(self, frame: int) -> float:
        """Return the time of a frame."""
        return frame / self.rate

    def frame_at(self, time_s: float) -> int:
        """Return the frame that is nearest to a time."""
        return round(time_s * self.rate)


def checked_timeline(note: Timeline) -> Timeline:
    """Return the timeline. Raise PatchError that names a wrong field."""
    rate, low, high = note.rate, *RATES
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not low <= rate <= high:
        raise PatchError(f"rate of a timeline must be from {low:g} to {high:g} frames a second, got {shown(rate)}")
    if type(note.length) is not int or not 1 <= note.length <= LONGEST:
        raise PatchError(f"length of a timeline must be from 1 to {LONGEST:,} frames, got {shown(note.length)}")
    for name, frame in (("in", note.first), ("out", note.end)):
        if type(frame) is not int or not 0 <= frame < note.length:
            raise PatchError(f"{name} of a timeline must be a frame from 0 to {note.length - 1:,}, got {shown(frame)}")
    if note.first > note.end:
        raise PatchError(f"in of a timeline must be at most its out {note.end:,}, got {note.first:,}")
    for name in ("loop", "every_frame"):
        if not isinstance(getattr(note, name), bool):
            raise PatchError(f"{name} of a timeline must be True or False, got {shown(getattr(note, name))}")
    last = None if note.last == note.length - 1 else note.last
    return msgspec.structs.replace(note, rate=float(rate), last=last)
