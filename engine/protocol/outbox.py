"""The outbox: the newest report and samples, and events. A late reader misses reports; no one waits."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.diagnostics import Diagnostic
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import FrameReport, Frozen, Offered, Saved, StateCopy, UpdateRecord
from warploom.engine.protocol.sampling import Sample

#: Number of events kept for a reader that never reads.
EVENT_LIMIT = 1000
#: Returns a sample. The pixels of a picture are copied with the function that it gets.
MakeSample = Callable[[Callable[[Any], Any]], Sample]
Happening = Saved | Diagnostic | UpdateRecord | Frozen | StateCopy | Offered


class Outbox:
    """Written by one thread and read by another, without a lock: each operation is one atomic step on a container."""

    def __init__(self) -> None:
        self._report: deque[FrameReport] = deque(maxlen=1)
        self._profile: deque[Profile] = deque(maxlen=1)
        self._samples: dict[str, MakeSample] = {}
        self._events: deque[Happening] = deque(maxlen=EVENT_LIMIT)
        #: Called after a sample or an event was put, on the writer's thread.
        self.wake: Callable[[], object] = lambda: None
        #: Replaces the report.
        self.put_report: Callable[[FrameReport], None] = self._report.append
        #: Replaces the profile.
        self.put_profile: Callable[[Profile], None] = self._profile.append

    def put_sample(self, name: str, make: MakeSample) -> None:
        """Replace the sample of a name. The reader calls `make`, so a copy costs the engine no time."""
        self._samples[name] = make
        self.wake()

    def has_sample(self, name: str) -> bool:
        """True if the last sample of this name was not taken yet."""
        return name in self._samples

    def drop_sample(self, name: str) -> bool:
        """Remove a sample that is no longer wanted; False when there is none, or a reader has taken it."""
        return self._samples.pop(name, None) is not None

    def put_event(self, event: Happening) -> None:
        """Add an event."""
        self._events.append(event)
        self.wake()

    def take_report(self) -> FrameReport | None:
        """Return the newest report that was not taken yet."""
        try:
            return self._report.pop()
        except IndexError:
            return None

    def take_profile(self) -> Profile | None:
        """Return the newest profile that was not taken yet."""
        try:
            return self._profile.pop()
        except IndexError:
            return None

    def take_sample(self, name: str, copy: Callable[[Any], Any] = np.ndarray.copy) -> Sample | None:
        """Return the newest sample of this name that was not taken yet."""
        make = self._samples.pop(name, None)
        return None if make is None else make(copy)

    def take_samples(self, copy: Callable[[Any], Any], most: int | None = None) -> list[Sample]:
        """Return samples that were not taken yet, those that wait for the longest time first."""
        names = tuple(self._samples)[:most]
        return [sample for name in names if (sample := self.take_sample(name, copy)) is not None]

    def take_events(self) -> list[Happening]:
        """Return the events since the last call, oldest first."""
        taken = []
        while self._events:
            taken.append(self._events.popleft())
        return taken
