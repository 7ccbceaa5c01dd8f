"""What the nodes of a graph do, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from engine.device.arguments import KernelArguments
from engine.device.protocol import (
    Condition,
    ConditionalKind,
    Event,
    GraphNode,
    LaunchConfig,
    LoadedKernel,
    Memory,
    PinnedArray,
)
from engine.diagnostics import DeviceError


class KernelWork(msgspec.Struct, frozen=True, gc=False):  # a dataclass takes ten times as long to make
    """A kernel launch."""

    kernel: LoadedKernel
    config: LaunchConfig
    arguments: KernelArguments


@dataclass(frozen=True, slots=True)
class MemsetWork:
    """`size_bytes` bytes of `target` are set to `value`."""

    target: Memory
    value: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CopyWork:
    """`size_bytes` bytes go from `source` to `target`."""

    target: Memory | PinnedArray
    source: Memory | PinnedArray
    size_bytes: int


@dataclass(frozen=True, slots=True)
class EventWork:
    """An event is recorded."""

    event: Event


@dataclass(frozen=True, slots=True)
class ChildWork:
    """The nodes of graph number `graph` of the tree run; they follow in the order of nodes."""

    graph: int


@dataclass(frozen=True, slots=True)
class ConditionalWork:
    """The bodies, graphs `first_body` and following of the tree, run as `kind` and `condition` say."""

    kind: ConditionalKind
    condition: Condition
    first_body: int

    @property
    def bodies(self) -> range:
        """Numbers of the bodies in the tree."""
        return range(self.first_body, self.first_body + (2 if self.kind is ConditionalKind.IF_ELSE else 1))


@dataclass(frozen=True, slots=True)
class NoWork:
    """Nothing: the node was removed, and its number is not used again."""


Work = KernelWork | MemsetWork | CopyWork | EventWork | ChildWork | ConditionalWork | NoWork


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """A node: what it does, the number of the graph or body in the tree that it is in, and what it waits for."""

    work: Work
    graph: int
    after: tuple[GraphNode, ...]


def kind_of(work: Work) -> str:
    """Return what a node is, as a person reads it, told apart as finely as an update of an executable has to."""
    match work:
        case KernelWork():
            return "a kernel"
        case MemsetWork(size_bytes=size):
            return "a memset" if size else "a memset of no bytes"
        case CopyWork(target=target, source=source, size_bytes=size):
            return f"a copy from {_place(source)} to {_place(target)}" if size else "a copy of no bytes"
        case EventWork():
            return "an event record"
        case ChildWork():
            return "a child graph"
        case ConditionalWork(kind=kind):
            return f"a conditional {kind.value}"
        case NoWork():
            return "removed"


def _place(end: Memory | PinnedArray) -> str:
    return "pinned memory" if hasattr(end, "array") else "device memory"


# In what order the nodes of a graph can run.


def execution_order(nodes: Sequence[NodeRecord]) -> Sequence[GraphNode]:
    """Return all nodes, each after those that it waits for; as they were added, where that is such an order.

    DeviceError that names the nodes when some wait for each other in a circle.
    """
    later = [index for index, record in enumerate(nodes) if record.after and max(record.after) > index]
    if not later:
        return range(len(nodes))  # type: ignore[return-value]  # nodes are numbers
    order: list[GraphNode] = []
    is_done = [False] * len(nodes)
    is_open = [False] * len(nodes)
    for first in range(len(nodes)):
        if is_done[first]:
            continue
        path = [(first, iter(nodes[first].after))]
        is_open[first] = True
        while path:
            node, rest = path[-1]
            before = next((other for other in rest if not is_done[other]), None)
            if before is None:
                path.pop()
                is_done[node], is_open[node] = True, False
                order.append(GraphNode(node))
            elif is_open[before]:
                circle = [other for other, _ in path]
                raise DeviceError(_circular([*circle[circle.index(before) :], before]))
            else:
                is_open[before] = True
                path.append((before, iter(nodes[before].after)))
    return order


def _circular(circle: Sequence[int]) -> str:
    named = " after ".join(map(str, circle))
    return f"nodes must not wait for each other in a circle, got {named}; take out one of these dependencies"
