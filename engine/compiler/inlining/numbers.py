"""Phase 0, numbers: lets kernels read a parameter in the frame whose device computes it.

A drive from a number on the device to a kernel's parameter becomes a connection, so that all rules of buffers apply to
it: order, regions, memory. The kernel of the driven block reads its number there (`engine.descriptions.driven`). Any
other drive is left to the CPU, which has the number of the newest finished frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from warploom.engine.compiler.description import (
    BlockNode,
    GraphDescription,
    Nesting,
    NumberDrive,
    connection_edges,
    order_edges,
)
from warploom.engine.descriptions.driven import DrivenNumber, can_read, number_port, reading
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import RegionRefused
from warploom.engine.patch.rules import find_way


def with_numbers(
    description: GraphDescription,
    drives: Sequence[NumberDrive],
    parameters: Mapping[tuple[str, str], tuple[tuple[str, str], ...]],
) -> tuple[GraphDescription, tuple[NumberDrive, ...]]:
    """Return the description with kernels that read numbers, and the drives that they follow.

    `parameters` maps each parameter of a composite to those of its blocks. A drive is left out if its number is not on
    the device, if the parameter has other uses than as a number of kernels, if the kernel's results would decide the
    number in the same frame, or if the number is computed in the other branch of a region.
    """
    try:
        nesting = Nesting(description)
        following = _following(description, nesting)
    except RegionRefused:  # a region inside itself, which the check reports
        return description, ()
    by_id = description.by_id
    numbers: dict[str, list[DrivenNumber]] = {}
    connections: list[Connection] = []
    followed = []
    for drive in sorted(drives, key=lambda drive: str(drive.target)):
        source, target = drive.source, drive.target
        places = parameters.get((target.node, target.port), ((target.node, target.port),))
        if source.node not in by_id or source.port not in by_id[source.node].description.numbers:
            continue
        if not all(node in by_id and can_read(by_id[node].description, name) for node, name in places):
            continue
        edges = [nesting.lift(source.node, node) for node, _ in places]
        if any(before == after or find_way(following.__getitem__, after, before) for before, after in edges):
            continue
        followed.append(drive)
        for (node, name), (before, after) in zip(places, edges, strict=True):
            following[before].append(after)
            connections.append(Connection(source, PortRef(node, number_port(name))))
            numbers.setdefault(node, []).append(DrivenNumber(name, drive.type, drive.low, drive.high))
    if not followed:
        return description, ()

    def driven(node: BlockNode) -> BlockNode:
        return replace(node, description=reading(node.description, numbers[node.id])) if node.id in numbers else node

    nodes = tuple(map(driven, description.nodes))
    made = GraphDescription(nodes, (*description.connections, *connections), orders=description.orders)
    return made, tuple(followed)


def _following(description: GraphDescription, nesting: Nesting) -> dict[str, list[str]]:
    """Return the blocks that must run after each block, with both lifted to their common scope."""
    following: dict[str, list[str]] = {node.id: [] for node in description.nodes}
    for before, after in (*connection_edges(description, nesting), *order_edges(description, nesting)):
        if before != after:
            following[before].append(after)
    return following
