"""The flight recorder: the times and events of the last frames, and the causes of slow ones.

The recorder is always on. Each frame costs only a tuple of stamps; the causes of a slow frame are computed when it
occurs.
"""

import gc
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import numpy as np

from warploom.engine.profiling.recorder import LATEST_FRAMES, Stamps, frame_rows
from warploom.engine.profiling.side_work import SideKind, SideWork
from warploom.engine.protocol.flight_record import (
    BUDGET_NS,
    FlightRecord,
    NodeTimes,
    RecordedUpdate,
    SlowFrame,
    Spent,
    SpentOn,
)
from warploom.engine.protocol.messages import UpdateLevel, UpdateRecord
from warploom.engine.runtime.measure.profiler import FrameProfiler, MeasuredFrame
from warploom.engine.runtime.update.updater import Updater

_UPDATES, _SLOW_FRAMES, _COLLECTIONS = 200, 600, 32
#: Parts of a slow frame that are shorter than this share of it are left out.
_LEAST_SHARE = 0.05


class FlightRecorder:
    """Written by the engine's thread, without a lock; any thread may call `record`."""

    def __init__(self, updates: Updater, profiler: FrameProfiler, *, is_asynchronous: bool) -> None:
        self._updates, self._profiler = updates, profiler
        self._is_asynchronous = is_asynchronous  # otherwise the launch is the device's work
        self._frames: deque[tuple[int, ...]] = deque(maxlen=LATEST_FRAMES)
        #: Records a frame; it has the fields of `Stamps`.
        self.put: Callable[[tuple[int, ...]], None] = self._frames.append
        self._noted: deque[RecordedUpdate] = deque(maxlen=_UPDATES)
        self._slow: deque[SlowFrame] = deque(maxlen=_SLOW_FRAMES)
        #: When collections of garbage began and ended, in any thread: all others wait meanwhile.
        self._collections: deque[tuple[int, int]] = deque(maxlen=_COLLECTIONS)
        self._collecting_ns = 0
        #: The time within which a frame must end after it was due; a later frame is slow.
        self.budget_ns = BUDGET_NS
        gc.callbacks.append(self._collection)

    def note_update(self, update: UpdateRecord, ended_ns: int) -> None:
        """Note an update of the frame that ended at a time, also of one that isn't recorded."""
        self._noted.append(RecordedUpdate(ended_ns, update))

    def note_slow(self, updates: tuple[UpdateRecord, ...], pictures_ns: int) -> None:
        """Record the causes of the latest frame's time.

        `updates` are those above HOT in it, `pictures_ns` is when pictures and files were begun with last.
        """
        self._slow.append(self._slow_frame(Stamps(*self._frames[-1]), pictures_ns, updates))

    def record(self, *, with_times: bool = False) -> FlightRecord:
        """Return a copy of the whole record."""
        # `copy` is one step for other threads; `tuple` may begin a collection halfway, and with it another thread.
        log, noted, slow = self._updates.diagnostics.log.changes.copy(), self._noted.copy(), self._slow.copy()
        frames = list(self._frames.copy())
        now_ns = time.perf_counter_ns()
        rows = frame_rows(frames)
        if not self._is_asynchronous:
            rows["wait"] += rows["launch"]
            rows["launch"] = 0
        times = node_times(rows, self._profiler.measured.copy()) if with_times else None
        return FlightRecord(now_ns, self.budget_ns, rows, tuple(noted), tuple(log), tuple(slow), times)

    def hot_updates(self) -> Iterator[SideWork]:
        """Return the times of recorded frames that only read messages and wrote parameters, if any."""
        frames = [stamps for stamps in self._frames.copy() if stamps[1] == UpdateLevel.HOT]
        if frames:
            times = frame_rows(frames)["before"]
            mean_ns = round(float(times[-30:].mean()))
            yield SideWork(SideKind.UPDATE, "hot", len(frames), int(times[-1]), mean_ns)

    def close(self) -> None:
        """Stop recording garbage collections."""
        gc.callbacks.remove(self._collection)

    def _collection(self, phase: str, info: dict[str, int]) -> None:
        now_ns = time.perf_counter_ns()
        if phase == "start":
            self._collecting_ns = now_ns
        else:
            self._collections.append((self._collecting_ns, now_ns))

    def _slow_frame(self, stamps: Stamps, pictures_ns: int, updates: tuple[UpdateRecord, ...]) -> SlowFrame:
        times = divide(stamps, pictures_ns, self._collections.copy())
        if not self._is_asynchronous and (working_ns := times.pop(SpentOn.LAUNCH, 0)):
            times[SpentOn.DEVICE] = times.get(SpentOn.DEVICE, 0) + working_ns
        if measuring_ns := self._measuring(stamps.began, times):
            times[SpentOn.MEASURING] = measuring_ns
        total_ns = sum(times.values())
        texts = {SpentOn.UPDATE: "; ".join(update.cause for update in updates)}
        spent = [Spent(kind, time_ns, texts.get(kind, "")) for kind, time_ns in times.items()]
        told = [each for each in spent if each.time_ns >= _LEAST_SHARE * total_ns]
        told.sort(key=lambda each: each.time_ns, reverse=True)
        if self._updates.preparing:
            told.append(Spent(SpentOn.COMPILE, 0))
        return SlowFrame(stamps.frame, stamps.began, total_ns, UpdateLevel(stamps.level), tuple(told))

    def _measuring(self, began_ns: int, times: dict[SpentOn, int]) -> int:
        """Return how long a frame was measured, and take that out of its launch and its wait for the device."""
        profiler = self._profiler
        is_copy = profiler.operations is not None
        launch_ns = times.pop(SpentOn.LAUNCH, 0) if is_copy else 0
        if self._is_asynchronous:
            cost_ns = profiler.cost_since(began_ns) - launch_ns
        else:
            cost_ns = (profiler.measured_ns.mean or 0) - (profiler.launch_ns.mean or 0) if is_copy else 0
        device_ns = times.get(SpentOn.DEVICE, 0)
        taken_ns = min(max(cost_ns, 0), device_ns)
        if taken_ns:
            times[SpentOn.DEVICE] = device_ns - taken_ns
        return launch_ns + taken_ns


def node_times(rows: np.ndarray[Any, Any], measured: Iterable[MeasuredFrame]) -> NodeTimes:
    """Return the times of nodes in those of the frames in `rows` that were measured."""
    nodes: dict[str, int] = {}
    found: list[tuple[int, MeasuredFrame]] = []
    for each in measured:
        place = int(np.searchsorted(rows["began"], each.launched_ns, side="right")) - 1
        if place >= 0 and rows["frame"][place] == each.frame:  # otherwise it is older, or of a paused engine
            found.append((place, each))
            for node in each.nodes:
                nodes.setdefault(node, len(nodes))
    times = np.full((len(found), len(nodes)), np.nan, np.float32)
    for row, (_, each) in zip(times, found, strict=True):
        columns = [nodes[node] for node in each.nodes]
        row[columns] = 0
        np.add.at(row, columns, each.busy_ns)
    places, work_ns = ([each[0] for each in found], [each[1].work_ns for each in found])
    return NodeTimes(tuple(nodes), np.array(places, np.int64), times, np.array(work_ns, np.int64))


def divide(stamps: Stamps, pictures: int, collections: Collection[tuple[int, int]] = ()) -> dict[SpentOn, int]:
    """Return the causes of a frame's time since it was due, in nanoseconds.

    `pictures` is when pictures and files were begun with last. Collections are taken out of the phases in which they
    happened.
    """
    _, _, due, began, waited, launching, launched, ended = stamps
    after = pictures if pictures >= began else ended
    if launched < began:
        launching = launched = after
    before = waited if waited >= began else launching
    times: dict[SpentOn, int] = {}
    for kind, begin, end in (
        (SpentOn.LATE, due, began),
        (SpentOn.UPDATE, began, before),
        (SpentOn.DEVICE, before, launching),
        (SpentOn.LAUNCH, launching, launched),
        (SpentOn.DEVICE, launched, after),
        (SpentOn.PICTURES, after, ended),
    ):
        collecting = sum(max(0, min(end, stop) - max(begin, start)) for start, stop in collections)
        for spent_on, time_ns in ((kind, end - begin - collecting), (SpentOn.COLLECTION, collecting)):
            if time_ns > 0:
                times[spent_on] = times.get(spent_on, 0) + time_ns
    return times
