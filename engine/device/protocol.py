"""What every device can do; `cuda` and `host` implement it, the compiler and the engine use nothing else.

A device runs graphs. The units are those of the CUDA driver API: a module holds kernels, a graph holds nodes that
are ordered by explicit dependencies, an executable is an instantiated graph whose kernel nodes can be updated in place.
"""

from __future__ import annotations

from collections.abc import Iterable
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

    def destroy(self) -> None: ...
