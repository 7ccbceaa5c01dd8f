"""Graphs of the host device: nodes run one after the other in an order that is found once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.device.arguments import KernelArguments
from engine.device.host.launch import Launch
from engine.device.host.memory import HostMemory, HostPinnedArray, bytes_of, copy
from engine.device.host.modules import HostKernel
from engine.device.protocol import Event, Kernel, LaunchConfig, Memory, Node, PinnedArray, Stream
from engine.diagnostics import DeviceError

if TYPE_CHECKING:
    from engine.device.host.device import HostDevice


class HostEvent:
    """A time stamp, taken when the work before it is done."""

    def __init__(self) -> None:
        self.time_ns: int | None = None

    def reach(self) -> None:
        """Take the time."""
        self.time_ns = time.perf_counter_ns()

    def elapsed_ns(self, since: Event) -> int:
        """Nanoseconds since another event; DeviceError when either has not been recorded."""
        assert isinstance(since, HostEvent)
        if self.time_ns is None or since.time_ns is None:
            raise DeviceError("host: event must be recorded before its time is read")
        return self.time_ns - since.time_ns

    def destroy(self) -> None:
        """Forget the time."""
        self.time_ns = None


class HostStream:
    """Work in order: on the host it is done when the call that gave it returns."""

    def record(self, event: Event) -> None:
        """Take the event's time now."""
        assert isinstance(event, HostEvent)
        event.reach()

    def synchronize(self) -> None:
        """Return at once: nothing is pending."""

    def destroy(self) -> None:
        """Nothing is held."""


class HostGraph:
    """A graph under construction."""

    def __init__(self, device: HostDevice) -> None:
        self._device = device
        #: A node can only depend on earlier ones, so this order respects every dependency.
        self._nodes: list[Callable[[], None] | Launch] = []

    def _add(self, action: Callable[[], None] | Launch, after: Sequence[Node]) -> Node:
        for node in after:
            if not 0 <= node < len(self._nodes):
                raise DeviceError(f"host: node must depend on nodes of its own graph, got {node}")
        self._nodes.append(action)
        return Node(len(self._nodes) - 1)

    def add_kernel(
        self, kernel: Kernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[Node]
    ) -> Node:
        """Add a kernel launch."""
        assert isinstance(kernel, HostKernel)
        return self._add(Launch(kernel, config, arguments), after)

    def add_memset(self, target: Memory, value: int, size_bytes: int, after: Sequence[Node]) -> Node:
        """Add a node that sets bytes."""
        if not 0 <= value <= 255:
            raise DeviceError(f"host: memset value must be 0 to 255, got {value}")
        assert isinstance(target, HostMemory)
        bytes_of(target, size_bytes, "memset target")
        return self._add(lambda: bytes_of(target, size_bytes, "memset target").fill(value), after)

    def add_copy(
        self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int, after: Sequence[Node]
    ) -> Node:
        """Add a node that copies bytes between device memory and pinned arrays in any direction."""
        assert isinstance(target, HostMemory | HostPinnedArray)
        assert isinstance(source, HostMemory | HostPinnedArray)

        def run() -> None:
            copy(bytes_of(target, size_bytes, "copy target"), bytes_of(source, size_bytes, "copy source"))

        bytes_of(target, size_bytes, "copy target")
        bytes_of(source, size_bytes, "copy source")
        return self._add(run, after)

    def add_event_record(self, event: Event, after: Sequence[Node]) -> Node:
        """Add a node that takes an event's time."""
        assert isinstance(event, HostEvent)
        return self._add(event.reach, after)

    def instantiate(self) -> HostExecutable:
        """Return an executable; later changes of this graph do not reach it."""
        return HostExecutable(self._device, list(self._nodes))

    def destroy(self) -> None:
        """Drop the nodes."""
        self._nodes = []


class HostExecutable:
    """An instantiated graph."""

    def __init__(self, device: HostDevice, actions: list[Callable[[], None] | Launch]) -> None:
        self._device = device
        self._actions: list[Callable[[], None] | Launch] | None = actions

    def launch(self, stream: Stream) -> None:
        """Run every node once, in the order in which they were added.

        DeviceError when a kernel faults, and then the rest is not run.
        """
        actions = self._live()
        pool, table, watchdog = self._device.pool, self._device.table, self._device.watchdog
        watchdog.enter()
        try:
            for action in actions:
                if isinstance(action, Launch):
                    action.run(pool, table)
                else:
                    action()
        finally:
            watchdog.leave()

    def update_kernel(self, node: Node, kernel: Kernel, config: LaunchConfig, arguments: KernelArguments) -> None:
        """Give a kernel node new arguments, a new launch or another function."""
        actions = self._live()
        if not 0 <= node < len(actions) or not isinstance(actions[node], Launch):
            raise DeviceError(f"host: updated node must be a kernel node of this graph, got {node}")
        assert isinstance(kernel, HostKernel)
        actions[node] = Launch(kernel, config, arguments)

    def _live(self) -> list[Callable[[], None] | Launch]:
        if self._actions is None:
            raise DeviceError("host: executable must not be used after destroy")
        return self._actions

    def destroy(self) -> None:
        """Drop the nodes."""
        self._actions = None
