"""A host device that lags like a GPU: requested work runs later, in any order that the streams allow."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.graph import Graph
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.events import HostEvent, HostStream
from warploom.engine.device.host.graph.backend import HostGraphBackend
from warploom.engine.device.host.graph.executable import HostExecutable
from warploom.engine.device.protocol import (
    Capture,
    Event,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
    Stream,
)
from warploom.engine.diagnostics import DeviceError

Work = Callable[[], object]


class LaggingEvent(HostEvent):
    """An event that is reached when the stream executes the event's record."""

    def __init__(self, device: LaggingDevice) -> None:
        super().__init__()
        self._device = device
        #: The numbers of requested and of executed records of this event.
        self.asked = self.done = 0

    @property
    def is_reached(self) -> bool:
        self._device.do_some()
        return self.done == self.asked

    def synchronize(self) -> None:
        self._device.do_until(lambda: self.done == self.asked)

    def elapsed_ns(self, since: Event) -> int:
        assert isinstance(since, LaggingEvent)
        if self.done < self.asked or since.done < since.asked:
            raise DeviceError("event must be reached before its time is read, got one that is still to come")
        return super().elapsed_ns(since)


class LaggingStream(HostStream):
    """A queue of work, each piece of which waits for a condition."""

    def __init__(self, device: LaggingDevice) -> None:
        self._device = device
        self.queue: deque[tuple[Callable[[], bool], Work]] = deque()
        device.streams.append(self)
        self.flying = device.flying

    def add(self, work: Work, ready: Callable[[], bool] = lambda: True) -> None:
        """Queue a piece of work, which runs once `ready` returns true."""
        with self._device.lock:
            self.queue.append((ready, work))

    def record(self, event: Event) -> None:
        assert isinstance(event, LaggingEvent)
        event.asked += 1
        number = event.asked

        def record() -> None:
            event.reach()
            event.done = number

        self.add(record)

    def wait(self, event: Event) -> None:
        assert isinstance(event, LaggingEvent)
        number = event.asked
        self.add(lambda: None, lambda: event.done >= number)

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        copy = super().copy
        self.add(lambda: copy(target, source, size_bytes))

    def synchronize(self) -> None:
        self._device.do_until(lambda: not self.queue)


class LaggingExecutable(HostExecutable):
    """An executable whose launches copy their arguments; nothing else may change while launches are queued."""

    _flying: Counter[int] | None = None

    def launch(self, stream: Stream) -> None:
        assert isinstance(stream, LaggingStream)
        program = self._live()
        blocks = {id(work.arguments): work.arguments for work in program._works.values()}
        asked = [(arguments, arguments.block.tobytes()) for arguments in blocks.values()]
        transfers = dict(program._transfers)
        launch = super().launch

        def run() -> None:
            newest = [(arguments, arguments.block.tobytes()) for arguments in blocks.values()], program._transfers
            _put(asked)
            program._transfers = transfers
            try:
                launch(stream)
            finally:
                _put(newest[0])
                program._transfers = newest[1]
                flying[id(self)] -= 1

        flying = self._flying = stream.flying
        flying[id(self)] += 1
        stream.add(run)

    def update_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        self._check()
        super().update_kernel(node, kernel, config, arguments)

    def update_captured(self, node: GraphNode, capture: Capture) -> None:
        self._check()
        super().update_captured(node, capture)

    def update_copy(self, node: GraphNode, source: PinnedArray) -> None:
        transfers = self._live()._transfers
        self._live()._transfers = dict(transfers)  # earlier launches keep their own transfers
        super().update_copy(node, source)

    def move_fill(self, node: GraphNode, target: Memory) -> None:
        self._check()
        super().move_fill(node, target)

    def move_copy(self, node: GraphNode, target: Memory | PinnedArray, source: Memory | PinnedArray) -> None:
        self._check()
        super().move_copy(node, target, source)

    def destroy(self) -> None:
        self._check()
        super().destroy()

    def _check(self) -> None:
        if self._flying is not None and self._flying[id(self)] > 0:
            raise AssertionError("a graph must not be changed while it runs")


def _put(blocks: Sequence[tuple[KernelArguments, bytes]]) -> None:
    for arguments, data in blocks:
        arguments.block[...] = bytearray(data)


class LaggingBackend(HostGraphBackend):
    """Makes lagging executables."""

    def clone(self) -> LaggingBackend:
        twin = LaggingBackend(self._pool, self._table)
        twin.tree, twin._lock = self.tree.clone(), self._lock
        return twin

    def instantiate(self) -> LaggingExecutable:
        made = super().instantiate()
        made.__class__ = LaggingExecutable
        assert isinstance(made, LaggingExecutable)
        return made


class LaggingDevice(HostDevice):
    """Runs the streams' work at random times, and at the latest when a caller waits for it."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(cores=1)
        self.info = replace(self.info, has_own_memory=True, is_asynchronous=True)
        self.lock = threading.RLock()
        self.streams: list[LaggingStream] = []
        #: How many launches of each executable are queued, by the executable's identity.
        self.flying: Counter[int] = Counter()
        self._random = Random(seed)

    def do_some(self) -> None:
        """Run none, some or all of the work that is ready."""
        with self.lock:
            for _ in range(self._random.choice((0, 0, 1, 3, 20))):
                self._do_one()

    def do_until(self, holds: Callable[[], bool]) -> None:
        """Run ready work, in any order that the streams allow, until a condition holds."""
        with self.lock:
            while not holds():
                assert self._do_one(), "streams must not wait for each other"

    def _do_one(self) -> bool:
        able = [stream for stream in self.streams if stream.queue and stream.queue[0][0]()]
        if able:
            _, work = self._random.choice(able).queue.popleft()
            try:
                work()
            except DeviceError:  # the device can't run work after an error
                for stream in self.streams:
                    stream.queue.clear()
                self.flying.clear()
                raise
        return bool(able)

    def synchronize(self) -> None:
        self.do_until(lambda: not any(stream.queue for stream in self.streams))

    def create_stream(self) -> LaggingStream:
        return LaggingStream(self)

    def create_event(self, *, timed: bool = True) -> LaggingEvent:
        return LaggingEvent(self)

    def create_graph(self) -> Graph:
        return Graph(LaggingBackend(self.pool, self.table))

    def launch(
        self,
        kernel: LoadedKernel,
        grid: Sequence[int],
        thread_block: Sequence[int],
        args: Sequence[object],
        shared_bytes: int = 0,
        stream: Stream | None = None,
    ) -> None:
        launch, given = super().launch, tuple(args)

        def work() -> Any:
            launch(kernel, grid, thread_block, given, shared_bytes)

        if stream is None:
            work()
        else:
            assert isinstance(stream, LaggingStream)
            stream.add(work)
