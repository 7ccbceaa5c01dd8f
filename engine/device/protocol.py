"""What every device can do; `cuda` and `host` implement it, the compiler and the engine use nothing else.

A device runs graphs. The units are those of the CUDA driver API: a module holds kernels, a graph holds nodes that
are ordered by explicit dependencies, an executable is an instantiated graph whose kernel nodes can be updated in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NewType, Protocol

import msgspec
import numpy as np

from engine.device.arguments import KernelArguments
from engine.device.occupancy import KernelResources
from engine.diagnostics import DeviceError
from engine.ptx.tree import KernelParameter

GraphNode = NewType("GraphNode", int)
"""A node of one graph: an index that is valid for that graph and the executables made from it.

Nodes are numbered in the order in which they were added to a graph and to any body in it, so that a number names one
node of the whole.
"""

Condition = NewType("Condition", int)
"""What a conditional node looks at: a handle of 64 bits that kernels take as an argument to set the value.

A kernel sets it with `cudaGraphSetConditional(unsigned long long handle, unsigned value)`.
"""

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class LaunchConfig:
    """How a kernel is launched: the grid in thread blocks, the thread block in threads, dynamic shared bytes."""

    grid: Dim3
    thread_block: Dim3
    shared_bytes: int = 0


class ConditionalKind(Enum):
    """What a conditional node does with its bodies when it is reached."""

    IF = "IF"  #: one body, which runs once unless the condition is 0
    IF_ELSE = "IF_ELSE"  #: two bodies: the first runs unless the condition is 0, else the second
    WHILE = "WHILE"  #: one body, which runs again and again until the condition is 0; it is looked at before each turn


@dataclass(frozen=True)
class UpdateResult:
    """What became of an update: when it was not `applied`, why not, and the node of the new graph where they part."""

    applied: bool
    reason: str = ""
    node: GraphNode | None = None


class LoopStopped(DeviceError):
    """A WHILE was ended from outside, as the host can; `node` is the outermost one that was running."""

    def __init__(self, message: str, node: GraphNode) -> None:
        super().__init__(message)
        self.node = node


class Memory(Protocol):
    """One allocation on the device. It is freed by `free`, once, or with its device."""

    @property
    def pointer(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def free(self) -> None: ...


class MemoryPart(msgspec.Struct, frozen=True):  # a graph has one for every buffer: a dataclass takes thrice as long
    """Some bytes of an allocation, which can be used like one and lasts as long as the whole."""

    whole: Memory
    offset: int
    size_bytes: int

    def __post_init__(self) -> None:
        if self.offset < 0 or self.size_bytes < 0 or self.offset + self.size_bytes > self.whole.size_bytes:
            raise DeviceError(
                f"part must lie in the {self.whole.size_bytes} bytes of the whole, "
                f"got {self.size_bytes} bytes from byte {self.offset} on"
            )

    @property
    def pointer(self) -> int:
        """Address on the device; DeviceError after the whole was freed."""
        return self.whole.pointer + self.offset

    def free(self) -> None:
        """DeviceError: memory is freed as a whole."""
        raise DeviceError("memory must be freed as a whole, got a part of it")


class PinnedArray(Protocol):
    """A host array that a graph's copy node or a stream's copy reads or writes; write to `array` between those."""

    @property
    def array(self) -> np.ndarray[Any, Any]: ...
    def free(self) -> None: ...


class LoadedKernel(Protocol):
    """One entry point of a module."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> tuple[KernelParameter, ...]: ...
    @property
    def max_threads(self) -> int: ...
    @property
    def resources(self) -> KernelResources | None:
        """What it takes of a multiprocessor; None on the host, which has none."""
        ...


class Module(Protocol):
    """Loaded code. It stays loaded while any of its kernels is in use by a graph; `unload` releases it."""

    @property
    def kernel_names(self) -> tuple[str, ...]: ...
    def kernel(self, name: str) -> LoadedKernel: ...
    def unload(self) -> None: ...


class Event(Protocol):
    """A point in a stream's work, with a time stamp."""

    def elapsed_ns(self, since: Event) -> int:
        """Nanoseconds from `since` to this event; both must have been recorded and reached."""
        ...

    @property
    def is_reached(self) -> bool:
        """True when all work before the last record is done, and before the first one; asking never waits."""
        ...

    def synchronize(self) -> None:
        """Wait until it is reached."""
        ...

    def destroy(self) -> None: ...


class Stream(Protocol):
    """Work in order. On the host device work is done when the call that gave it returns."""

    def record(self, event: Event) -> None: ...
    def wait(self, event: Event) -> None:
        """Have all work given later wait, on the device, for what `event` stands for now; the caller does not wait.

        An event that was never recorded is not waited for.
        """
        ...

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        """Copy the first bytes; returns at once, and both must stay as they are until the stream has come past it.

        DeviceError when either has fewer bytes.
        """
        ...

    def synchronize(self) -> None: ...
    def destroy(self) -> None: ...


class Executable(Protocol):
    """An instantiated graph."""

    def launch(self, stream: Stream) -> None: ...

    def upload(self, stream: Stream) -> None:
        """Bring the graph to the device on `stream`, so that the first launch takes no longer than others."""
        ...

    def update_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node new arguments, a new launch or another function; takes effect at the next launch.

        The node may be one of a body, or of a child graph (`Graph.add_child` says how those are numbered).
        """
        ...

    def refresh(self, nodes: Iterable[GraphNode]) -> None:
        """Pass on what was written into the argument blocks of kernel nodes; takes effect at the next launch."""
        ...

    def update_from(self, graph: Graph) -> UpdateResult:
        """Give every node what its twin in `graph` does; nothing changes when the two are not built alike.

        They are when nodes of the same kinds were added in the same order with the same dependencies. Kernels may
        have other functions, launches and arguments; fills and copies other places and sizes; events and defaults of
        conditions may be others. Nodes keep their numbers. The conditions are those of `graph` from then on.
        """
        ...

    def destroy(self) -> None: ...


class Graph(Protocol):
    """A graph under construction, or a body of a conditional node in one.

    `after` lists the nodes that must finish first, which are of the same graph or body. A graph can be changed after
    an executable was made of it; that one stays as it is. A body is instantiated and
    destroyed with its graph.
    """

    def add_kernel(
        self, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments, after: Sequence[GraphNode]
    ) -> GraphNode: ...
    def add_memset(self, target: Memory, value: int, size_bytes: int, after: Sequence[GraphNode]) -> GraphNode:
        """Set `size_bytes` bytes of `target` to `value` (0 to 255)."""
        ...

    def add_copy(
        self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int, after: Sequence[GraphNode]
    ) -> GraphNode: ...
    def add_event_record(self, event: Event, after: Sequence[GraphNode]) -> GraphNode:
        """Record an event at every launch; DeviceError in a body, where CUDA allows none."""
        ...

    def add_child(self, child: Graph, after: Sequence[GraphNode]) -> GraphNode:
        """Add all nodes of another graph, as they are now, as one node; DeviceError when there are conditions in it.

        Node `i` of `child` is node `added + 1 + i` of this graph, where `added` is the node that is returned.
        """
        ...

    def create_condition(self, default: int) -> Condition:
        """Make a condition for one conditional node of this graph or of a body in it.

        Each launch of the whole graph sets it to `default` (0 to 2^32 - 1), and nothing but kernels does after that.
        In a WHILE, a kernel must therefore set the condition of an inner one anew at each turn.
        """
        ...

    def add_conditional(
        self, kind: ConditionalKind, condition: Condition, after: Sequence[GraphNode]
    ) -> tuple[GraphNode, tuple[Graph, ...]]:
        """Add a conditional node; its bodies are empty graphs, to be filled before the whole is instantiated."""
        ...

    def clone(self) -> Graph:
        """Return a whole graph with the same nodes and numbers; both can be changed, and used, apart from each other.

        The argument blocks are the same objects. DeviceError when there are conditions, which CUDA cannot clone, or for
        a body.
        """
        ...

    def remove(self, node: GraphNode) -> None:
        """Take a node out, with what is in it where it is a child graph; whoever waited for it does not any more.

        Its number is not used again. DeviceError for a conditional node, and when the graph was instantiated: then
        remove it from a clone.
        """
        ...

    def set_after(self, node: GraphNode, after: Sequence[GraphNode]) -> None:
        """Have a node wait for these nodes instead of those before; they may have been added after it."""
        ...

    def set_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node another function, launch or arguments; executables made before keep theirs."""
        ...

    def instantiate(self) -> Executable:
        """Make an executable, which begins with what the argument blocks hold now.

        DeviceError when a condition has no conditional node, or when nodes wait for each other in a circle.
        """
        ...

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        ...

    def destroy(self) -> None: ...
