"""The objects of a device: memory, modules with kernels, events, streams and executables.

`cuda` and `host` implement these protocols. `graph.Graph` is one class for both; `device.Device` creates all objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, NewType, Protocol

import msgspec
import numpy as np

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.occupancy import KernelResources, Occupancy
from warploom.engine.diagnostics import DeviceError
from warploom.engine.ptx.tree import KernelParameter

GraphNode = NewType("GraphNode", int)
"""A node of one graph: an index that is valid for that graph, its clones and the executables made from them.

The nodes of a graph and of all bodies in it are numbered together, in the order in which they were added.
"""

Condition = NewType("Condition", int)
"""The handle of a value that selects the bodies to run in a conditional node.

Kernels take the handle as a 64-bit argument and set the value with
`cudaGraphSetConditional(unsigned long long handle, unsigned value)`.
"""

Dim3 = tuple[int, int, int]


class LaunchConfig(msgspec.Struct, frozen=True):
    """The shape of a launch: the grid in thread blocks, the thread block in threads, and dynamic shared bytes.

    In a launch that `is_free`, threads don't depend on each other, and there is one per element. A device may let a
    thread compute several elements, and choose the thread block. In a launch that `is_cooperative`, all thread blocks
    run at once, since they wait for each other.
    """

    grid: Dim3
    thread_block: Dim3
    shared_bytes: int = 0
    is_free: bool = False
    is_cooperative: bool = False


class BestCode(msgspec.Struct, frozen=True):
    """Code that takes longer to compile and runs faster, with bit-identical results.

    `ptx` returns the code. A worker process calls it, so it must be picklable. If all launches are `is_free`, each
    thread computes `elements_per_thread` elements along x.
    """

    ptx: Callable[[], str]
    elements_per_thread: int = 1
    is_free: bool = False


class ConditionalKind(Enum):
    """What a conditional node does with its bodies."""

    IF = "IF"  #: one body, which runs once unless the condition is 0
    IF_ELSE = "IF_ELSE"  #: two bodies: the first runs unless the condition is 0, else the second
    WHILE = "WHILE"  #: one body, which runs while the condition, read before each turn, is not 0
    SWITCH = "SWITCH"  #: one body or more: the one whose index is the condition runs; none if there is no such body


class Memory(Protocol):
    """One allocation on the device. `free` frees it, once; otherwise its device does."""

    @property
    def pointer(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def was_lent(self) -> bool:
        """True once `lend` was called."""
        ...

    def lend(self) -> object:
        """Return an object that keeps the memory valid as long as it lives, also after `free` and `Device.close`."""
        ...

    def free(self) -> None: ...


class MemoryPart(msgspec.Struct, frozen=True):  # a dataclass takes three times as long to create
    """A part of an allocation, used like a whole one. It is valid as long as the whole.

    `part_of` checks that it fits.
    """

    whole: Memory
    offset: int
    size_bytes: int

    @property
    def pointer(self) -> int:
        """The address on the device. Raise DeviceError after the whole was freed."""
        return self.whole.pointer + self.offset

    @property
    def was_lent(self) -> bool:
        """True once the whole was lent."""
        return self.whole.was_lent

    def lend(self) -> object:
        """Return an object that keeps the whole valid as long as it lives."""
        return self.whole.lend()

    def free(self) -> None:
        """Raise DeviceError: memory is only freed as a whole."""
        raise DeviceError("memory must be freed as a whole, got a part of it")


def part_of(whole: Memory, offset: int, size_bytes: int) -> MemoryPart:
    """Return a part of an allocation. Raise DeviceError if it does not lie inside it."""
    if offset < 0 or size_bytes < 0 or offset + size_bytes > whole.size_bytes:
        raise DeviceError(
            f"part must lie in the {whole.size_bytes} bytes of the whole, got {size_bytes} bytes from byte {offset} on"
        )
    return MemoryPart(whole, offset, size_bytes)


class PinnedArray(Protocol):
    """A host array that copy nodes and stream copies access; use `array` only while no copy runs."""

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
        """The resources of a multiprocessor that it needs; None on the host, which has no multiprocessors."""
        ...

    def fit(self, config: LaunchConfig) -> LaunchConfig:
        """Return a launch adjusted to the kernel's present code; only a free launch changes."""
        ...

    def occupancy(self, config: LaunchConfig) -> Occupancy | None:
        """Return the part of a launch, as `fit` returns it, that runs at once on a multiprocessor; None on the host."""
        ...


class Module(Protocol):
    """Loaded code. After `unload` it stays loaded as long as a graph uses one of its kernels."""

    @property
    def kernel_names(self) -> tuple[str, ...]: ...
    @property
    def is_best(self) -> bool:
        """True once all kernels run the best code that `load_module` got."""
        ...

    def kernel(self, name: str) -> LoadedKernel: ...
    def unload(self, *, is_replaced: bool = False) -> None:
        """Release the code. With `is_replaced`, newer code replaces it: stop optimising it."""
        ...

    def postpone(self) -> None:
        """Postpone pending optimisation of an unused module until a kernel is requested again."""
        ...


class Event(Protocol):
    """A point in a stream's work, with its time."""

    def elapsed_ns(self, since: Event) -> int:
        """Return the nanoseconds from `since` to this event; both must be recorded and reached."""
        ...

    @property
    def is_reached(self) -> bool:
        """True when the work before the last record is done, or nothing was recorded. Reading this never waits."""
        ...

    def synchronize(self) -> None:
        """Wait until the event is reached."""
        ...

    def destroy(self) -> None: ...


class Stream(Protocol):
    """A queue of work that runs in order. On the host, each call returns when its work is done."""

    def record(self, event: Event) -> None: ...
    def wait(self, event: Event) -> None:
        """Let later work of this stream wait, on the device, for the last record of `event`; the caller doesn't wait.

        An event that was never recorded is not waited for.
        """
        ...

    def copy(self, target: Memory | PinnedArray, source: Memory | PinnedArray, size_bytes: int) -> None:
        """Copy the first bytes. This returns at once, and neither end may change until the copy is done.

        Raise DeviceError when either end has fewer bytes.
        """
        ...

    def synchronize(self) -> None: ...
    def destroy(self) -> None: ...


#: Calls a library, which puts its work into the given stream.
Issue = Callable[[Stream], None]


class Capture(Protocol):
    """Recorded library calls, which are made whenever a graph reaches them.

    CUDA records the library's own kernels and copies once, as a graph. The host calls the library each time.
    """

    @property
    def label(self) -> str:
        """The name in messages."""
        ...


class Executable(Protocol):
    """An instantiated graph."""

    def launch(self, stream: Stream) -> None: ...

    def upload(self, stream: Stream) -> None:
        """Upload the graph to the device on `stream`, so that the first launch takes no longer than later ones."""
        ...

    def update_kernel(
        self, node: GraphNode, kernel: LoadedKernel, config: LaunchConfig, arguments: KernelArguments
    ) -> None:
        """Give a kernel node new arguments, a new launch or another function, from the next launch on.

        The node may be in a body or in a child graph. `Graph.add_child` says which number a child graph's node has.
        """
        ...

    def update_captured(self, node: GraphNode, capture: Capture) -> None:
        """Let a captured node make other library calls from the next launch on.

        If the device would need another graph for that, raise DeviceError and change nothing. On CUDA, this is so if
        the library runs other kernels, or runs them in another order.
        """
        ...

    def update_copy(self, node: GraphNode, source: PinnedArray) -> None:
        """Let a copy node that reads a pinned array read another one, from the next launch on."""
        ...

    def move_fill(self, node: GraphNode, target: Memory) -> None:
        """Let a fill node fill other memory, from the next launch on. Raise DeviceError if the device refuses."""
        ...

    def move_copy(self, node: GraphNode, target: Memory | PinnedArray, source: Memory | PinnedArray) -> None:
        """Let a copy node use other memory, from the next launch on. Raise DeviceError if the device refuses."""
        ...

    def refresh(self, nodes: Collection[GraphNode]) -> None:
        """Use the new contents of kernel nodes' argument blocks, from the next launch on."""
        ...

    def destroy(self) -> None: ...
