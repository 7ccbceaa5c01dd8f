"""What the nodes of a graph do, as plain data, and an order in which they can run."""

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
    """Launch a kernel."""

    kernel: LoadedKernel
    config: LaunchConfig
    arguments: KernelArguments


@dataclass(frozen=True, slots=True)
class MemsetWork:
    """Set `size_bytes` bytes of `target` to `value`."""

    target: Memory
    value: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CopyWork:
    """Copy `size_bytes` bytes from `source` to `target`."""

    target: Memory | PinnedArray
    source: Memory | PinnedArray
    size_bytes: int


@dataclass(frozen=True, slots=True)
class EventWork:
    """Record an event."""

    event: Event


@dataclass(frozen=True, slots=True)
class ChildWork:
    """Run the nodes of graph number `graph` of the tree; their numbers follow this node's."""

    graph: int


@dataclass(frozen=True, slots=True)
class ConditionalWork:
    """Run the bodies, graphs `first_body` and following of the tree, as `kind` and `condition` say."""

    kind: ConditionalKind
    condition: Condition
    first_body: int

    @property
    def bodies(self) -> range:
        """Numbers of the bodies in the tree."""
        return range(self.first_body, self.first_body + (2 if self.kind is ConditionalKind.IF_ELSE else 1))


@dataclass(frozen=True, slots=True)
class NoWork:
    """Do nothing: the node was removed, and its number is not used again."""


Work = KernelWork | MemsetWork | CopyWork | EventWork | ChildWork | ConditionalWork | NoWork


#: What a message calls a node.
KINDS: dict[type[Work], str] = {
    KernelWork: "a kernel",
    MemsetWork: "a memset",
    CopyWork: "a copy",
    EventWork: "an event record",
    ChildWork: "a child graph",
    ConditionalWork: "a conditional node",
}


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """A node: what it does, the number of its graph or body in the tree, and the nodes that it waits for."""

    work: Work
    graph: int
    after: tuple[GraphNode, ...]


def execution_order(nodes: Sequence[NodeRecord]) -> Sequence[GraphNode]:
    """Return all nodes, each after those that it waits for; in the order in which they were added if possible.

    When nodes wait for each other in a circle, the DeviceError names them.
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
