"""`StallMeter`: how long other threads kept Qt's thread from running, and their stacks at that time."""

import ctypes
import gc
import heapq
import os
import sys
import threading
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from PySide6.QtCore import QAbstractEventDispatcher, QObject, Qt, QTimer

#: How often the event loop is woken, so the longest sleep of a turn.
BEAT_MS = 2
#: Stalls longer than this are recorded, with the other threads' stacks.
TELL_MS = 4.0
#: How many of the longest stalls are kept, and of the turns with the most own work.
KEPT, LONGEST = 200, 6
_STACK_DEPTH = 14


@dataclass(frozen=True)
class Stall:
    """A turn in which Qt's thread waited for the interpreter's lock, another lock, or a core.

    `collector_ms` is how long any thread collected garbage meanwhile; `own_ms` is what the thread itself computed.
    """

    at_s: float
    held_ms: float
    no_core_ms: float
    own_ms: float
    collector_ms: float
    doing: str
    others: tuple[str, ...]


class Figures:
    """Times in ms, counted by hundredths of a ms, so that a long session needs no more memory than a short one."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, time_ms: float) -> None:
        """Count a time."""
        self._counts[round(time_ms * 100)] += 1

    def clear(self) -> None:
        """Forget all times."""
        self._counts.clear()

    def __len__(self) -> int:
        return self._counts.total()

    def over(self, limit_ms: float) -> int:
        """Return how many times were longer than a limit."""
        return sum(count for hundredths, count in self._counts.items() if hundredths > limit_ms * 100)

    def quantile(self, share: float) -> float:
        """Return the time that a share of all times does not exceed, 1 for the longest; 0 without any."""
        left = share * len(self)
        for hundredths, count in sorted(self._counts.items()):
            left -= count
            if left <= 0:
                return hundredths / 100
        return max(self._counts, default=0) / 100


class StallMeter(QObject):
    """Measures every turn of the event loop of the thread that made it, from `start` to `stop`.

    A turn ends when the loop is about to sleep, or at a beat of the meter's own timer. Time in which the thread neither
    computed nor could have slept was spent waiting for others. The system reports how long the thread was runnable
    without a core; on a machine with too few cores any program may cause that, so it is reported separately
    (`no_core_ms`). The rest (`held_ms`) is the interpreter's lock, other locks and the disk. Turns that were woken
    before the beat slept less than is subtracted, so a figure may be up to `BEAT_MS` too low. The other threads' stacks
    are taken right after a stall, when they have just released the interpreter's lock.

    In a turn, the loop may go round several times, for timers, for what they posted and for painting. Before each round
    it handles input, so the own work of a round (`deaf_ms`) is how long the window responded to nobody.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        #: What the simulated person does now; the code that simulates the person sets it.
        self.doing = ""
        self.held_ms, self.no_core_ms, self.own_ms, self.deaf_ms, self.collections_ms = (Figures() for _ in range(5))
        self.stalls: list[Stall] = []
        #: The rounds with the most own work: its time in ms, when it ended in s, and what was done.
        self.longest: list[tuple[float, float, str]] = []
        self._thread = threading.get_ident()
        self._queue_wait_ns = _QueueWait()
        self._beat = QTimer(self, singleShot=True, interval=BEAT_MS)
        self._beat.setTimerType(Qt.TimerType.PreciseTimer)
        self._beat.timeout.connect(self._end_turn)
        self._is_on = False
        self._collecting_ns = self._collected_ns = 0
        self._start_ns = time.perf_counter_ns()
        self._mark()

    def start(self) -> None:
        """Start to measure; earlier measurements are dropped."""
        figures = self.held_ms, self.no_core_ms, self.own_ms, self.deaf_ms, self.collections_ms
        for each in (*figures, self.stalls, self.longest):
            each.clear()
        self._is_on = True
        gc.callbacks.append(self._on_collection)
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self._end_turn)
        QAbstractEventDispatcher.instance().awake.connect(self._end_round)
        self._start_ns = time.perf_counter_ns()
        self._mark()
        self._beat.start()

    def stop(self) -> None:
        """End measuring."""
        self._is_on = False
        self._beat.stop()
        gc.callbacks.remove(self._on_collection)
        QAbstractEventDispatcher.instance().aboutToBlock.disconnect(self._end_turn)
        QAbstractEventDispatcher.instance().awake.disconnect(self._end_round)

    def worst(self, count: int) -> list[Stall]:
        """Return the longest stalls, longest first."""
        return sorted(self.stalls, key=lambda stall: -stall.held_ms)[:count]

    def _mark(self) -> None:
        self._turn_ns, self._cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        self._round_ns = self._cpu_ns
        self._queued_ns, self._gc_ns = self._queue_wait_ns(), self._collected_ns

    def _end_round(self) -> None:
        now_ns = time.thread_time_ns()
        deaf_ms, self._round_ns = (now_ns - self._round_ns) / 1e6, now_ns
        self.deaf_ms.add(deaf_ms)
        if len(self.longest) < LONGEST or deaf_ms > self.longest[-1][0]:
            made = deaf_ms, (time.perf_counter_ns() - self._start_ns) / 1e9, self.doing
            self.longest = heapq.nlargest(LONGEST, [*self.longest, made])

    def _end_turn(self) -> None:
        if not self._is_on:
            return
        self._end_round()
        now_ns, own_ns = time.perf_counter_ns(), time.thread_time_ns() - self._cpu_ns
        waited_ms = max(0.0, (now_ns - self._turn_ns - own_ns) / 1e6 - BEAT_MS)
        no_core_ms = min(waited_ms, (self._queue_wait_ns() - self._queued_ns) / 1e6)
        held_ms, own_ms = waited_ms - no_core_ms, own_ns / 1e6
        self.held_ms.add(held_ms)
        self.no_core_ms.add(no_core_ms)
        self.own_ms.add(own_ms)
        if held_ms > TELL_MS:
            self._tell(now_ns, held_ms, no_core_ms, own_ms)
        self._mark()
        self._beat.start()

    def _tell(self, now_ns: int, held_ms: float, no_core_ms: float, own_ms: float) -> None:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        others = (
            f"{names.get(ident, '?')}: {_stack(frame)}"
            for ident, frame in sys._current_frames().items()
            if ident != self._thread and not _is_waiting(frame)
        )
        self.stalls.append(
            Stall(
                at_s=(now_ns - self._start_ns) / 1e9,
                held_ms=held_ms,
                no_core_ms=no_core_ms,
                own_ms=own_ms,
                collector_ms=(self._collected_ns - self._gc_ns) / 1e6,
                doing=self.doing,
                others=tuple(others),
            )
        )
        if len(self.stalls) > 2 * KEPT:
            self.stalls = self.worst(KEPT)

    def _on_collection(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_ns = time.perf_counter_ns()
        else:
            time_ns = time.perf_counter_ns() - self._collecting_ns
            self._collected_ns += time_ns
            self.collections_ms.add(time_ns / 1e6)


class _QueueWait:
    """How long the thread that made it has been runnable without a core, in ns; 0 where Linux does not report it.

    It reads the file without releasing the interpreter's lock: a measurement must not make the wait that it measures.
    """

    def __init__(self) -> None:
        self._read = ctypes.PyDLL(None).pread
        self._read.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
        self._text = ctypes.create_string_buffer(64)
        try:
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._file = -1

    def __call__(self) -> int:
        if self._file < 0 or self._read(self._file, self._text, 63, 0) <= 0:
            return 0
        return int(self._text.value.split()[1])


def _is_waiting(frame: FrameType) -> bool:
    return frame.f_code.co_name in ("wait", "_watch", "_read_event_buffer", "_check_inotify_fd", "_worker")


def _stack(frame: FrameType) -> str:
    summary = traceback.extract_stack(frame, limit=_STACK_DEPTH)
    return " < ".join(f"{Path(line.filename).name}:{line.lineno} {line.name}" for line in reversed(summary))
