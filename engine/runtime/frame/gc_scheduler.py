"""When Python's garbage collector runs, while engines run: between frames, and in a thread that may run finalizers.

Python collects whenever enough objects were made, in whichever thread made the last one. Two things are wrong with
that here. It can happen in a frame: measured in the editor, a young collection takes 0.1 ms, a middle one up to 21 ms
and a full one 60 to 150 ms (123,000 objects). And it can happen in an engine's thread or its worker: what is collected
there is also finalized there, and a Qt object that ends in a thread that is not its own can bring the process down.

So while anything here holds the collector, automatic collection is off, and `collect` does the work when it fits. What
exists when the first engine starts (modules, mostly) is set aside with `gc.freeze`, which brings a full collection of
the rest down to 0.04 ms at first; what survives a full collection is set aside too, until so much has been that
everything is looked at again.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Protocol

#: Objects made since the last collection, from which on a young one is worth while (Python's own number), and from
#: which on it does not wait for a gap any more.
_YOUNG, _YOUNG_URGENT = 700, 10_000
#: The same of objects that have survived young collections, for a collection of all that was made lately.
_RECENT, _RECENT_URGENT = 10_000, 30_000
#: How much the memory blocks in use may have become more since everything was looked at, before it is again: as a
#: factor, while no engine plays and while one does.
_ALL, _ALL_PLAYING = 1.5, 2.0
#: What a collection is taken to cost at first, for each object; then what was measured counts.
_OBJECT_NS = 300.0


class Gap:
    """What one engine's thread tells of itself: until when no frame of it will begin, on `time.perf_counter_ns`.

    0 while a frame is under way.
    """

    __slots__ = ("free_until_ns",)

    def __init__(self) -> None:
        self.free_until_ns = 0


class Heap(Protocol):
    """The functions of the module `gc` that a collector uses."""

    def isenabled(self) -> bool: ...
    def enable(self) -> None: ...
    def disable(self) -> None: ...
    def get_count(self) -> tuple[int, int, int]: ...
    def collect(self, generation: int = 2) -> int: ...
    def freeze(self) -> None: ...
    def unfreeze(self) -> None: ...
    def get_freeze_count(self) -> int: ...


class Collector:
    """Takes collection over from Python while it is held, and gives it back afterwards.

    There is one for the process, `COLLECTOR`. Every engine's thread holds it with its `Gap`. An application whose
    objects must end in a certain thread (that of a UI) adopts it and calls `collect` there now and then; the engines'
    threads then leave it alone. All methods may be called from any thread.
    """

    def __init__(
        self,
        heap: Heap = gc,
        *,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        blocks: Callable[[], int] = sys.getallocatedblocks,
    ) -> None:
        self._heap, self._now_ns, self._blocks = heap, now_ns, blocks
        #: What is collected is finalized, which may end an engine and so wait for its thread: who holds or releases
        #: the collector must not have to wait for a collection.
        self._lock, self._collecting = threading.Lock(), threading.Lock()
        self._gaps: tuple[Gap, ...] = ()
        self._adopted = 0
        self._was_enabled = self._may_freeze = False
        self._recent = 0
        self._object_ns = _OBJECT_NS
        self._blocks_before = 0

    @property
    def is_adopted(self) -> bool:
        """True while an application collects in a thread of its choice."""
        return self._adopted > 0

    def hold(self, gap: Gap) -> None:
        """An engine's thread begins to run; `gap` is what it will tell."""
        with self._lock:
            is_first, self._gaps = not self._is_held, (*self._gaps, gap)
            if is_first:
                self._begin()

    def release(self, gap: Gap) -> None:
        """That thread has ended."""
        with self._lock:
            self._gaps = tuple(other for other in self._gaps if other is not gap)
            self._end()

    def adopt(self) -> None:
        """Collect only where the caller of this calls `collect`, until `disown`."""
        with self._lock:
            is_first, self._adopted = not self._is_held, self._adopted + 1
            if is_first:
                self._begin()

    def disown(self) -> None:
        """Leave collection to the engines' threads again, or to Python."""
        with self._lock:
            self._adopted -= 1
            self._end()

    def collect(self) -> None:
        """Collect what is due, if the time until some engine's next frame is enough for it, or if it is urgent.

        Costs a microsecond when nothing is due. With frames back to back there is never time, so small collections
        come when they are urgent, of 10,000 objects and some milliseconds each.
        """
        made = self._heap.get_count()[0]
        if made < _YOUNG and self._recent < _RECENT:
            return
        if not self._collecting.acquire(blocking=False):
            return  # another thread is at it, or this one is
        try:
            if self._is_held:
                self._collect(made)
        finally:
            self._collecting.release()

    @property
    def _is_held(self) -> bool:
        return bool(self._gaps or self._adopted)

    def _collect(self, made: int) -> None:
        recent = self._recent + made
        if recent >= _RECENT and (recent >= _RECENT_URGENT or self._fits(recent)):
            if not self._collect_all():
                self._collect_recent(recent)
        elif made >= _YOUNG and (made >= _YOUNG_URGENT or self._fits(made)):
            self._collect_young(made)

    def _collect_young(self, made: int) -> None:
        found = self._timed(0, made)
        self._recent += max(made - found, 0)

    def _collect_recent(self, objects: int) -> None:
        self._timed(2, objects)
        with self._lock:
            self._set_aside()

    def _collect_all(self) -> bool:
        """Look at everything, what was set aside included, when so much is new that it has to be; False when not."""
        growth = _ALL if self._is_idle() else _ALL_PLAYING
        with self._lock:
            if not (self._is_held and self._may_freeze) or self._blocks() < growth * self._blocks_before:
                return False
            self._heap.unfreeze()
        self._heap.collect(2)
        with self._lock:
            self._set_aside()
            self._blocks_before = self._blocks()
        return True

    def _set_aside(self) -> None:
        self._recent = 0
        if self._may_freeze and self._is_held:  # finalizers may have given the collector back
            self._heap.freeze()

    def _timed(self, generation: int, objects: int) -> int:
        """Collect and learn what an object costs: the dearest lately."""
        start_ns = self._now_ns()
        found = self._heap.collect(generation)
        measured_ns = (self._now_ns() - start_ns) / max(objects, _YOUNG)
        self._object_ns = max(measured_ns, 0.9 * self._object_ns)
        return found

    def _fits(self, objects: int) -> bool:
        """True when no engine's frame begins before a collection of so many objects has ended."""
        end_ns = self._now_ns() + objects * self._object_ns
        return all(gap.free_until_ns >= end_ns for gap in self._gaps)

    def _is_idle(self) -> bool:
        """True when no engine plays: each is free for longer than the longest collection takes."""
        end_ns = self._now_ns() + 10**9
        return all(gap.free_until_ns >= end_ns for gap in self._gaps)

    def _begin(self) -> None:
        """Take over; the first who holds is counted already."""
        heap = self._heap
        self._was_enabled = heap.isenabled()
        heap.disable()
        self._may_freeze = heap.get_freeze_count() == 0  # else somebody else's would be taken back with ours
        self._set_aside()
        self._blocks_before = self._blocks()

    def _end(self) -> None:
        if self._is_held:
            return
        if self._may_freeze:
            self._heap.unfreeze()
        if self._was_enabled:
            self._heap.enable()


#: The collector of this process.
COLLECTOR = Collector()
