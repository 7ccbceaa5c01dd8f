"""The work of a graph's nodes as plain data, and an order in which they can run."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import msgspec

from warploom.engine.device.arguments import KernelArguments
from warploom.engine.device.protocol import (
    Capture,
    Condition,
    ConditionalKind,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
)
from warploom.engine.diagnostics import DeviceError


class KernelWork(msgspec.Struct, frozen=True, gc=False):  # a dataclass takes ten times as long to create
    """Launch a kernel."""

    kernel: LoadedKernel
    config: LaunchConfig
    arguments: KernelArguments


class MemsetWork(msgspec.Struct, frozen=True):
    """Set `size_bytes` bytes of `target` to `value`, a number of `width` bytes."""

    target: Memory
    value: int
    size_bytes: int
    width: int = 1


class CopyWork(msgspec.Struct, frozen=True):
    """Copy `size_bytes` bytes from `source` to `target`."""

    target: Memory | PinnedArray
    source: Memory | PinnedArray
    size_bytes: int


class CapturedWork(msgspec.Struct, frozen=True):
    """Make recorded library calls."""

    capture: Capture


class ChildWork(msgspec.Struct, frozen=True):
    """Run the nodes of graph number `graph` of the tree; their numbers follow this node's."""

    graph: int


class ConditionalWork(msgspec.Struct, frozen=True):
    """Run bodies, depending on `kind` and `condition`: `count` graphs of the tree, from `first_body` on."""

    kind: ConditionalKind
    condition: Condition
    first_body: int
    count: int

    @property
    def bodies(self) -> range:
        """The numbers of the bodies in the tree."""
        return range(self.first_body, self.first_body + self.count)


class NoWork(msgspec.Struct, frozen=True):
    """Do nothing: the node was removed, and its number is not reused."""


Work = KernelWork | MemsetWork | CopyWork | CapturedWork | ChildWork | ConditionalWork | NoWork


#: The name of each kind of work in messages.
KINDS: dict[type[Work], str] = {
    KernelWork: "a kernel",
    MemsetWork: "a memset",
    CopyWork: "a copy",
    CapturedWork: "captured work",
    ChildWork: "a child graph",
    ConditionalWork: "a conditional node",
}


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """A node: its work, the number of its graph or body in the tree, and the nodes that it waits for."""

    work: Work
    graph: int
    after: tuple[GraphNode, ...]


def execution_order(nodes: Sequence[NodeRecord]) -> Sequence[GraphNode]:
    """Return all nodes, each after those that it waits for; if no node waits for a later one, in the order of adding.

    If nodes wait for each other in a cycle, the DeviceError names them.
    """
    if not any(record.after and max(record.after) > index for index, record in enumerate(nodes)):
        return range(len(nodes))  # type: ignore[return-value]  # nodes are numbers
    sorter = TopologicalSorter({GraphNode(index): record.after for index, record in enumerate(nodes)})
    try:
        return tuple(sorter.static_order())
    except CycleError as problem:
        circle = " after ".join(map(str, reversed(problem.args[1])))
        raise DeviceError(
            f"nodes must not wait for each other in a circle, got {circle}; take out one of these dependencies"
        ) from None
