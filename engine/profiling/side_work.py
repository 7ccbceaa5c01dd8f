"""Work beside the frames, with its times: compiles, updates, uploads, pictures, reads, files."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

import msgspec

from warploom.engine.profiling.statistics import Average

#: The number of names that are kept for each kind, the latest ones.
_KNOWN = 100


class SideKind(StrEnum):
    """Kind of work."""

    COMPILE = "compile"  # compiling a kernel's source, or finding the compiled code on disk
    LOAD = "load"  # loading code onto the device: a GPU's driver may compile PTX, and the host does
    UPDATE = "update"  # updating the running graph; the name is the level
    UPLOAD = "upload"  # uploading an array or a graph to the device
    READBACK = "readback"  # copying viewers' pictures, on the device
    DOWNLOAD = "download"  # copying a port's contents to the host, to read or save them
    SAVE = "save"  # writing a file


class SideWork(msgspec.Struct, frozen=True):
    """Work of one kind on one thing; times are nanoseconds.

    `name` is a kernel's source, an update level, "node.port", a viewer or a file. `count` is the number of times;
    `mean_ns` covers the last 50 times. `size_bytes` is the amount moved the last time, or 0 if there is none.
    """

    kind: SideKind
    name: str
    count: int
    last_ns: int
    mean_ns: int
    size_bytes: int = 0


class _Times:
    """The times of one thing."""

    def __init__(self) -> None:
        self.count = self.last_ns = self.size_bytes = 0
        self.average = Average()


class SideTimes:
    """Takes the times of one engine; any thread may call it. A frame without such work never calls it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[SideKind, dict[str, _Times]] = {kind: {} for kind in SideKind}
        #: Returns more times on request, such as times that were recorded for another purpose.
        self.more: list[Callable[[], Iterator[SideWork]]] = []

    def add(self, kind: SideKind, name: str, time_ns: int, size_bytes: int = 0) -> None:
        """Add the time that one task took."""
        with self._lock:
            known = self._known[kind]
            times = known[name] = known.pop(name) if name in known else _Times()
            times.count += 1
            times.last_ns, times.size_bytes = time_ns, size_bytes
            times.average.add(time_ns)
            if len(known) > _KNOWN:
                del known[next(iter(known))]

    @contextmanager
    def timed(self, kind: SideKind, name: str, size_bytes: int = 0) -> Iterator[None]:
        """Measure the work inside the context, unless it fails."""
        begun_ns = time.perf_counter_ns()
        yield
        self.add(kind, name, time.perf_counter_ns() - begun_ns, size_bytes)

    def summary(self) -> tuple[SideWork, ...]:
        """Return the work by kind, the latest of each kind last."""
        with self._lock:
            found = [
                SideWork(kind, name, times.count, times.last_ns, times.average.mean or 0, times.size_bytes)
                for kind, known in self._known.items()
                for name, times in known.items()
            ]
        order = list(SideKind)
        found += [work for give in self.more for work in give()]
        return tuple(sorted(found, key=lambda work: order.index(work.kind)))
