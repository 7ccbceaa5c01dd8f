"""The outbox: the newest report and pictures, and events. A late reader misses reports; no one waits."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from warploom.engine.diagnostics import Diagnostic
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import FrameReport, Frozen, Offered, Preview, Saved, StateCopy, UpdateRecord
from warploom.engine.protocol.sampling import Sample

#: Number of events kept for a reader that never reads.
EVENT_LIMIT = 1000
#: Returns a picture whose pixels it copies with the function that it gets.
MakePreview = Callable[[Callable[[Any], Any]], Preview]
Happening = Saved | Diagnostic | UpdateRecord | Frozen | StateCopy | Offered


class Outbox:
    """Written by one thread and read by another, without a lock: each operation is one atomic step on a container."""

    def __init__(self) -> None:
        self._report: deque[FrameReport] = deque(maxlen=1)
        self._profile: deque[Profile] = deque(maxlen=1)
        self._previews: dict[str, MakePreview] = {}
        self._samples: dict[str, Sample] = {}
        self._events: deque[Happening] = deque(maxlen=EVENT_LIMIT)
        #: Called after a picture or an event was put, on the writer's thread.
        self.wake: Callable[[], object] = lambda: None
        #: Replaces the report.
        self.put_report: Callable[[FrameReport], None] = self._report.append
        #: Replaces the profile.
        self.put_profile: Callable[[Profile], None] = self._profile.append

    def put_preview(self, node: str, make: MakePreview) -> None:
        """Offer a viewer's picture. The reader calls `make`, so the copy costs the engine no time."""
        self._previews[node] = make
        self.wake()

    def drop_preview(self, node: str) -> bool:
        """Withdraw an offer; False when there is none, or a reader has taken it."""
        return self._previews.pop(node, None) is not None

    def put_sample(self, sample: Sample) -> None:
        """Replace the sample of its name."""
        self._samples[sample.name] = sample
        self.wake()

    def has_sample(self, name: str) -> bool:
        """True if the last sample of this name was not taken yet."""
        return name in self._samples

    def drop_sample(self, name: str) -> None:
        """Remove a sample that is no longer wanted."""
        self._samples.pop(name, None)

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

    def take_preview(self, node: str, copy: Callable[[Any], Any] = np.ndarray.copy) -> Preview | None:
        """Return a viewer's newest picture that was not taken yet."""
        make = self._previews.pop(node, None)
        return None if make is None else make(copy)

    def take_next_preview(self, copy: Callable[[Any], Any]) -> Preview | None:
        """Return a picture that was not taken yet, of each viewer in turn."""
        return next((found for node in tuple(self._previews) if (found := self.take_preview(node, copy))), None)

    def take_sample(self, name: str) -> Sample | None:
        """Return the newest sample of this name that was not taken yet."""
        return self._samples.pop(name, None)

    def take_samples(self, most: int | None = None) -> list[Sample]:
        """Return samples that were not taken yet, those that wait for the longest time first."""
        return [found for name in tuple(self._samples)[:most] if (found := self._samples.pop(name, None)) is not None]

    def take_previews(self, copy: Callable[[Any], Any]) -> list[Preview]:
        """Return the newest picture of every viewer that was not taken yet."""
        return [preview for node in tuple(self._previews) if (preview := self.take_preview(node, copy)) is not None]

    def take_events(self) -> list[Happening]:
        """Return the events since the last call, oldest first."""
        taken = []
        while self._events:
            taken.append(self._events.popleft())
        return taken
