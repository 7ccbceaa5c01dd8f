"""The scheduler of Python's garbage collector: while engines run, it collects between frames, and in a safe thread.

Python collects whenever enough objects were made, in the thread that made the last one. Here that is wrong twice. It
can happen within a frame: measured in the editor, a young collection takes 0.1 ms, a middle one up to 21 ms and a full
one 60 to 150 ms (123,000 objects). And it can happen in an engine's thread or its worker: garbage is finalized where it
is collected, and a Qt object that is finalized in a foreign thread can crash the process.

So automatic collection is off while anything holds the collector, and `collect` collects when there is time. Objects
that exist when the first engine starts (modules, mostly) are frozen with `gc.freeze`, after which a full collection
takes 0.04 ms at first. Objects that survive a full collection are frozen too; when enough have been, everything is
thawed and collected. See `design/garbage_collection.md`.
"""

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

#: A young collection is worthwhile after so many new objects (Python's own threshold), and no longer waits for a gap
#: after so many.
_YOUNG, _YOUNG_URGENT = 700, 10_000
#: The same for a collection of everything that isn't frozen, in objects that survived young collections.
_RECENT, _RECENT_URGENT = 10_000, 30_000
#: Everything is thawed and collected when the memory blocks in use have grown by this factor since the last time: while
#: no engine plays, and while one does.
_ALL, _ALL_PLAYING = 1.5, 2.0
#: Number of new objects from which they are aged after a deferral (a young collection of fewer takes half a
#: millisecond), and the largest number before a full collection.
_LEAST_AGED, _MOST_AGED = 2_000, 1_000_000
#: The assumed cost of a collection for each object, until one has been measured.
_OBJECT_NS = 300.0


class Gap:
    """Until when no frame of one engine's thread will begin, on `time.perf_counter_ns`; 0 during a frame."""

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
    def get_stats(self) -> list[dict[str, int]]: ...


class Collector:
    """Takes over collection from Python while it is held, and returns it afterwards.

    There is one in a process, `COLLECTOR`. Every engine's thread holds it with its `Gap`. An application whose objects
    must be finalized in a certain thread (such as the UI's) adopts it and calls `collect` there now and then; the
    engines' threads then don't collect. All methods may be called from any thread.
    """

    def __init__(
        self,
        heap: Heap = gc,
        *,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        blocks: Callable[[], int] = sys.getallocatedblocks,
    ) -> None:
        self._heap, self._now_ns, self._blocks = heap, now_ns, blocks
        #: A finalizer may close an engine and wait for its thread, which releases the collector: so `hold` and
        #: `release` must not wait for a collection.
        self._lock, self._collecting = threading.Lock(), threading.Lock()
        self._gaps: tuple[Gap, ...] = ()
        self._adopted = self._deferrals = 0
        self._was_enabled = self._may_freeze = False
        self._recent = 0
        #: How often everything had been collected at the last deferral, and how many objects were aged since.
        self._collected = self._aged = 0
        #: Whether other code had frozen objects before; None until it is asked, which takes 10 ms for 100,000 of them.
        self._is_frozen: bool | None = None
        self._object_ns = _OBJECT_NS
        self._blocks_before = 0

    @property
    def is_adopted(self) -> bool:
        """True while an application collects in a thread of its choice."""
        return self._adopted > 0

    def hold(self, gap: Gap) -> None:
        """Hold the collector for an engine's thread that begins to run, and keeps `gap` up to date."""
        with self._lock:
            self._begin()
            self._gaps = (*self._gaps, gap)

    def release(self, gap: Gap) -> None:
        """Release the collector for a thread that has ended."""
        with self._lock:
            self._gaps = tuple(other for other in self._gaps if other is not gap)
            self._end()

    def adopt(self) -> None:
        """Collect only where the caller of this calls `collect`, until `disown`."""
        with self._lock:
            self._begin()
            self._adopted += 1

    def disown(self) -> None:
        """Return collection to the engines' threads, or to Python."""
        with self._lock:
            self._adopted -= 1
            self._end()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Disable collection for a short time in which many long-lived objects are made.

        Many of them count as old afterwards, so that the next young collection does not look at all of them.
        """
        with self._lock:
            self._take_over()
            self._deferrals += 1
        try:
            yield
        finally:
            with self._lock:
                self._deferrals -= 1
                if not (self._is_held or self._deferrals):
                    self._age(self._heap.get_count()[0])
                self._give_back()

    def collect(self) -> None:
        """Collect what is due, if it takes less time than is left before the next frame, or if it is urgent.

        It takes a microsecond when nothing is due. With frames back to back there is never time left, and each urgent
        collection of 10,000 objects takes some milliseconds.
        """
        made = self._heap.get_count()[0]
        if made < _YOUNG and self._recent < _RECENT:
            return
        if not self._collecting.acquire(blocking=False):
            return  # another thread is collecting, or a finalizer called this
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
                self._timed(2, recent)
                with self._lock:
                    self._set_aside()
        elif made >= _YOUNG and (made >= _YOUNG_URGENT or self._fits(made)):
            self._recent += max(made - self._timed(0, made), 0)

    def _collect_all(self) -> bool:
        """Thaw and collect everything if memory has grown enough; return whether that was done."""
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

    def _age(self, made: int) -> None:
        """Count so many young objects as old, unless many have been aged since everything was collected last.

        Python counts what it ages itself, to know when to collect everything. These it doesn't count, and some may be
        garbage by now.
        """
        collected = self._heap.get_stats()[2]["collections"]
        if collected != self._collected:
            self._collected, self._aged, self._is_frozen = collected, 0, None
        if made < _LEAST_AGED or self._aged + made > _MOST_AGED:
            return
        if self._is_frozen is None:
            self._is_frozen = self._heap.get_freeze_count() > 0
        if self._is_frozen:
            return
        self._aged += made
        self._heap.freeze()
        self._heap.unfreeze()  # into the oldest generation

    def _set_aside(self) -> None:
        self._recent = 0
        if self._may_freeze and self._is_held:  # finalizers may have given the collector back
            self._heap.freeze()

    def _timed(self, generation: int, objects: int) -> int:
        """Collect, and update the cost of an object with the worst recent one."""
        start_ns = self._now_ns()
        found = self._heap.collect(generation)
        measured_ns = (self._now_ns() - start_ns) / max(objects, _YOUNG)
        self._object_ns = max(measured_ns, 0.9 * self._object_ns)
        return found

    def _fits(self, objects: int) -> bool:
        """True when a collection of so many objects ends before any engine's next frame."""
        end_ns = self._now_ns() + objects * self._object_ns
        return all(gap.free_until_ns >= end_ns for gap in self._gaps)

    def _is_idle(self) -> bool:
        """True when no engine plays: each is free for longer than the longest collection takes."""
        end_ns = self._now_ns() + 10**9
        return all(gap.free_until_ns >= end_ns for gap in self._gaps)

    def _begin(self) -> None:
        """Take over for a holder, which the caller counts afterwards."""
        if self._is_held:
            return
        self._take_over()
        self._may_freeze = self._heap.get_freeze_count() == 0  # else `unfreeze` would release other code's objects
        self._recent = 0
        if self._may_freeze:
            self._heap.freeze()
        self._blocks_before = self._blocks()

    def _end(self) -> None:
        if self._is_held:
            return
        if self._may_freeze:
            self._heap.unfreeze()
        self._give_back()

    def _take_over(self) -> None:
        """Disable Python's collection for the first caller that needs it."""
        if not (self._is_held or self._deferrals):
            self._was_enabled = self._heap.isenabled()
            self._heap.disable()

    def _give_back(self) -> None:
        """Switch Python's collection on again after the last, if it was."""
        if self._was_enabled and not (self._is_held or self._deferrals):
            self._heap.enable()


#: The one collector of this process.
COLLECTOR = Collector()
