"""Phase 4, order: the blocks of each scope, every one after what it depends on.

Connections give most of the order, in-place changes the rest. Within a scope blocks go by how many others must come
before them, then by node id: the same description always gives the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from engine.compiler.buffers import BufferPlan
from engine.compiler.description import BlockNode, GraphDescription, Nesting
from engine.compiler.in_place import REMEDY, InPlaceOrder, crossing_branches, in_place_order, late_reader
from engine.diagnostics import Diagnostic, error
from engine.patch.changes import PortRef

#: The blocks of each scope in the order in which they run, by scope.
Order = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Ranks:
    """How many blocks must come before each one at least, and what in-place changes order beside connections."""

    levels: dict[str, int]
    in_place: tuple[InPlaceOrder, ...]


def order_blocks(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting
) -> tuple[Order, list[Diagnostic]]:
    """Return the blocks by scope, and errors where in-place changes or branches allow no order.

    The description must have no cycles but through delayed inputs.
    """
    ranks, problems = rank_blocks(description, buffers, nesting)
    return (ordered(description, ranks), []) if ranks is not None else ({}, problems)


def rank_blocks(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting
) -> tuple[Ranks | None, list[Diagnostic]]:
    """Return what `ordered` goes by; None, and errors, where in-place changes or branches allow no order."""
    in_place, problems = in_place_order(description, buffers, nesting)
    problems += crossing_branches(description, nesting)
    if problems:
        return None, problems
    edges = _connection_edges(description, nesting)
    edges += [nesting.lift(order.before, order.after) for order in in_place]
    levels = _levels((node.id for node in description.nodes), edges)
    if levels is None:
        return None, _late_readers(description, in_place, nesting)
    return Ranks(levels, tuple(in_place)), []


def ordered(description: GraphDescription, ranks: Ranks) -> Order:
    """Return the blocks of each scope by level, then by id."""
    level = ranks.levels
    scopes: dict[str, list[tuple[int, str]]] = {}
    for node in description.nodes:
        scopes.setdefault(node.region, []).append((level[node.id], node.id))
    return {scope: tuple(node for _, node in sorted(members)) for scope, members in scopes.items()}


def _connection_edges(description: GraphDescription, nesting: Nesting) -> list[tuple[str, str]]:
    """Return what connections order, in the scope that both ends have in common.

    One into a delayed input orders nothing, unless the delay lies in a region and its source outside: what it keeps at
    the end of each turn must be there before the first one.
    """
    by_id = description.by_id
    if nesting.is_flat and not any(node.description.delayed_inputs for node in description.nodes):
        return [(connection.source.node, connection.target.node) for connection in description.connections]
    late = {node.id for node in description.nodes if node.description.delayed_inputs}
    edges = []
    for connection in description.connections:
        target = connection.target
        edge = nesting.lift(connection.source.node, target.node)
        if target.node not in late or edge[1] != target.node or not _is_delayed(by_id, target):
            edges.append(edge)
    return edges


def _is_delayed(by_id: dict[str, BlockNode], target: PortRef) -> bool:
    return target.port in by_id[target.node].description.delayed_inputs


def _levels(nodes: Iterable[str], edges: list[tuple[str, str]]) -> dict[str, int] | None:
    """Return the longest way to each node, or None when there is a cycle."""
    level = dict.fromkeys(nodes, 0)
    following: dict[str, list[str]] = defaultdict(list)
    missing: dict[str, int] = defaultdict(int)
    for before, after in edges:
        if before != after:
            following[before].append(after)
            missing[after] += 1
    ready = [node for node in level if node not in missing]
    done = 0
    for node in ready:  # grows as nodes become ready
        done += 1
        beyond = level[node] + 1
        for other in following.get(node, ()):
            if level[other] < beyond:
                level[other] = beyond
            missing[other] = left = missing[other] - 1
            if not left:
                ready.append(other)
    return level if done == len(level) else None


def _late_readers(description: GraphDescription, in_place: list[InPlaceOrder], nesting: Nesting) -> list[Diagnostic]:
    """Return what is wrong when connections alone have an order and in-place changes leave none."""
    following: dict[str, set[str]] = {}
    for before, after in _connection_edges(description, nesting):
        following.setdefault(before, set()).add(after)
    problems = []
    for order in in_place:
        before, after = nesting.lift(order.before, order.after)
        if _reaches(following, after, before):
            problems.append(late_reader(order))
    if not problems:
        node = min((order.after for order in in_place), default="")
        problems.append(error("in-place blocks must have an order, got a circle", node=node, remedy=REMEDY))
    return problems


def _reaches(following: dict[str, set[str]], start: str, goal: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        if node == goal:
            return True
        fresh = following.get(node, set()) - seen
        seen |= fresh
        waiting += fresh
    return False
