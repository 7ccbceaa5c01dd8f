"""Grouping: which operations become one child graph, as a composite may ask for its blocks.

A group stands for one node of the graph around it, so nothing outside may have to run between two of its operations.
Where that would be so, or where it holds a region (CUDA allows no conditions in a child graph), its operations stay
nodes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

from engine.compiler.description import BlockNode
from engine.compiler.operations import Operation, RegionEntry, Scope

#: One step of building: the operations of a child graph, or a single operation.
Unit = tuple[int, ...]


def units(operations: Sequence[Operation], scopes: Sequence[Scope], blocks: Mapping[str, BlockNode]) -> list[Unit]:
    """Return the operations in an order to build them in, those of each group together, as indices."""
    groups: dict[str, list[int]] = {}
    for index, operation in enumerate(operations):
        group = blocks[operation.node].group if operation.node else ""
        if group and operation.scope == 0:
            groups.setdefault(group, []).append(index)
    for group in list(groups):
        if len(groups[group]) < 2 or any(isinstance(operations[i].entry, RegionEntry) for i in groups[group]):
            del groups[group]
    while True:
        unit_of = {index: tuple(members) for members in groups.values() for index in members}
        ordered, blocked = _order(operations, scopes, unit_of)
        if not blocked:
            return ordered
        # One that waits for itself by way of what lies outside: the first by name, then look again.
        group = min(name for name, members in groups.items() if tuple(members) in blocked)
        del groups[group]


def _order(
    operations: Sequence[Operation], scopes: Sequence[Scope], unit_of: Mapping[int, Unit]
) -> tuple[list[Unit], set[Unit]]:
    """Return the units, each after what it waits for and else by first operation, and the groups on a circle."""
    if not unit_of:
        return [(index,) for index in range(len(operations))], set()
    missing: dict[Unit, int] = {}
    following: dict[Unit, list[Unit]] = {}
    for index, operation in enumerate(operations):
        unit = unit_of.get(index, (index,))
        missing.setdefault(unit, 0)
        before = {unit_of.get(i, (i,)) for i in operation.after} - {unit}
        if operation.scope:  # a body's operations need their region's node first
            before.add((scopes[operation.scope].region,))
        for other in before:
            following.setdefault(other, []).append(unit)
            missing[unit] += 1
    ready = [unit for unit, count in missing.items() if not count]
    heapify(ready)
    ordered = []
    while ready:
        unit = heappop(ready)
        ordered.append(unit)
        for other in following.get(unit, ()):
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, other)
    return ordered, {unit for unit, count in missing.items() if count and len(unit) > 1}
