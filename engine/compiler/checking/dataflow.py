"""The dataflow of a patch: the connections of its blocks, and all errors that can be found before shapes are known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from warploom.engine.compiler.checking.validation import (
    border_problem,
    connection_problem,
    empty_region,
    missing_inputs,
    region_problem,
    second_connection,
    unread_count,
)
from warploom.engine.compiler.description import GraphDescription, Nesting
from warploom.engine.descriptions.ports import count_name
from warploom.engine.descriptions.shapes.rules import InputRule, OutputRule
from warploom.engine.diagnostics import Diagnostic, error
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import TOP, region_of

#: The most cycles reported for one strongly connected component; others are reported after these are fixed.
MOST_NAMED = 16


class Edge(msgspec.Struct, frozen=True):
    """A connection that makes `after` run after `before`; its ends may lie inside regions with these ids."""

    before: str
    after: str
    connection: Connection


class Cycle(msgspec.Struct, frozen=True):
    """The nodes of a cycle, with the first repeated at the end, and the connection from the first to the second."""

    nodes: tuple[str, ...]
    connection: Connection


def find_cycles(edges: Iterable[Edge]) -> list[Cycle]:
    """Return cycles that together contain every block on a cycle, in the order of the edges."""
    edges = list(edges)
    following: dict[str, list[str]] = {}
    for edge in edges:
        following.setdefault(edge.before, []).append(edge.after)
    knot_of = knots(following)
    named: dict[int, int] = {}
    seen: set[str] = set()
    cycles = []
    for edge in edges:
        knot = knot_of[edge.before]
        if edge.before in seen or knot_of[edge.after] != knot or named.get(knot, 0) >= MOST_NAMED:
            continue
        way = way_round(following, knot_of, (edge.before, edge.after))
        seen.update(way)
        named[knot] = named.get(knot, 0) + 1
        cycles.append(Cycle(way, edge.connection))
    return cycles


def way_round(following: Mapping[str, list[str]], knot_of: Mapping[str, int], edge: tuple[str, str]) -> tuple[str, ...]:
    """Return a shortest cycle through an edge of a component, with its first node repeated at the end."""
    return (edge[0], *_way(following, knot_of, edge[1], edge[0]))


def _way(following: Mapping[str, list[str]], knot_of: Mapping[str, int], start: str, goal: str) -> list[str]:
    """Return a shortest path within a component, including both ends."""
    came_from: dict[str, str] = {}
    waiting = [start]
    for node in waiting:  # grows as nodes are reached
        if node == goal:
            break
        for other in following.get(node, ()):
            if other != start and other not in came_from and knot_of[other] == knot_of[start]:
                came_from[other] = node
                waiting.append(other)
    way = [goal]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def knots(following: Mapping[str, list[str]]) -> dict[str, int]:
    """Return the number of each node's strongly connected component (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    knot_of: dict[str, int] = {}
    count = 0
    for root in following:
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        open_nodes.append(root)
        way = [(root, iter(following[root]))]
        while way:
            node, others = way[-1]
            for other in others:
                if other not in index:
                    index[other] = lowest[other] = len(index)
                    open_nodes.append(other)
                    way.append((other, iter(following.get(other, ()))))
                    break
                if other not in knot_of:
                    lowest[node] = min(lowest[node], index[other])
            else:
                way.pop()
                if way:
                    above = way[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == index[node]:
                    count += 1
                    while True:
                        member = open_nodes.pop()
                        knot_of[member] = count
                        if member == node:
                            break
    return knot_of


@dataclass
class Dataflow:
    """The structure of a patch.

    `incoming` has the output that feeds each connected input of a block; `following` has the blocks that each block
    feeds. `late` connections lead into delayed inputs and order nothing. Layouts follow from a late connection only if
    it is `looped`: the layout of its source then depends on itself. `ways` has the blocks of each loop by its delayed
    input. `level` lists each block after the blocks that its layouts depend on, with the length of the longest
    path to it. It lacks blocks on cycles and those that depend on them. `broken` blocks have an error of their own.
    """

    incoming: dict[str, dict[str, PortRef]]
    following: dict[str, list[str]]
    level: Mapping[str, int] = field(default_factory=dict)
    late: list[Connection] = field(default_factory=list)
    looped: list[Connection] = field(default_factory=list)
    ways: dict[PortRef, tuple[str, ...]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    errors: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list)


def trace_dataflow(description: GraphDescription) -> Dataflow:
    """Return the connections of a description's blocks, and the errors in them."""
    nodes = description.nodes
    found = Dataflow({node.id: {} for node in nodes}, {node.id: [] for node in nodes})
    if len(found.incoming) < len(nodes):
        found.errors += _repeated(description)
    missing, delayed = _connect(description, found)
    is_flat = True
    for node in nodes:
        rules = node.description.rules
        connected = found.incoming[node.id]
        if len(connected) < len(rules.inputs):
            problems = list(missing_inputs(node, connected))
            if problems:
                found.errors += problems
                found.broken.add(node.id)
        if rules.appends:
            found.warnings += _unread_counts(description, node.id, rules.appends)
        if node.region or node.description.control is not None:
            is_flat = False
    counted = _count_delayed(description, found, delayed, missing)
    found.level = levels(found.following, missing.copy() if counted else missing)
    if counted and len(found.level) < len(nodes):
        _open_loops(found, counted, missing)
        found.level = levels(found.following, missing)
    if not is_flat:
        _check_regions(description, found)
    if len(found.level) < len(found.incoming) and (is_flat or not found.errors):
        stuck = found.incoming.keys() - found.level.keys()
        between = [c for c in _ordering(description, found) if c.source.node in stuck and c.target.node in stuck]
        cycles = find_cycles([Edge(c.source.node, c.target.node, c) for c in between])
        found.errors += list(map(_circular, cycles))
    return found


def _connect(description: GraphDescription, found: Dataflow) -> tuple[dict[str, int], list[Connection]]:
    """Record every connection. Return the number of connections into each block, and those into delayed inputs."""
    incoming, following = found.incoming, found.following
    outputs_of = {node.id: node.description.rules.output_of for node in description.nodes}
    inputs_of = {node.id: node.description.rules.input_of for node in description.nodes}
    delayed: list[Connection] = []
    uncounted: list[str] = []
    for connection in description.connections:
        source, target = connection.source, connection.target
        before, after, port = source.node, target.node, target.port
        output: OutputRule | None
        entry: InputRule | None
        try:
            output, entry = outputs_of[before][source.port], inputs_of[after][port]
        except KeyError:  # one end of the connection does not exist
            output, entry = None, inputs_of.get(after, {}).get(port)
        if output is None or entry is None or (output.dtype is not entry.dtype and output.dtype and entry.dtype):
            problem = connection_problem(description, connection)
            if problem is not None:
                found.errors.append(problem)
                found.broken.add(after)
        if entry is None:
            continue
        connected = incoming[after]
        if port in connected:
            found.errors.append(second_connection(connected[port], connection))
            found.broken.add(after)
            continue
        connected[port] = source
        if output is None:
            uncounted.append(after)
        elif entry.spec.delayed:
            uncounted.append(after)
            delayed.append(connection)
        else:
            following[before].append(after)
    missing = {after: len(connected) for after, connected in incoming.items() if connected}
    for after in uncounted:
        missing[after] -= 1
        if not missing[after]:
            del missing[after]
    return missing, delayed


def _count_delayed(
    description: GraphDescription, found: Dataflow, delayed: list[Connection], missing: dict[str, int]
) -> list[Connection]:
    """Let delayed connections order blocks if a layout follows from them, and return these connections."""
    counted = []
    for connection in delayed:
        source, target = connection.source, connection.target
        block = description.by_id[target.node].description
        if target.port in block.layout_inputs(found.incoming[target.node]):
            counted.append(connection)
            found.following[source.node].append(target.node)
            missing[target.node] = missing.get(target.node, 0) + 1
        else:
            found.late.append(connection)
    return counted


def _open_loops(found: Dataflow, counted: list[Connection], missing: dict[str, int]) -> None:
    """Stop delayed connections on a cycle from ordering blocks; `loop_layouts` finds their layouts."""
    following = found.following
    knot_of = knots({node: list(others) for node, others in following.items()})
    for connection in counted:
        before, after = connection.source.node, connection.target.node
        if knot_of[before] == knot_of[after]:
            found.ways[connection.target] = (*way_round(following, knot_of, (before, after))[1:], after)
            found.looped.append(connection)
    for connection in found.looped:
        before, after = connection.source.node, connection.target.node
        following[before].remove(after)
        missing[after] -= 1
        if not missing[after]:
            del missing[after]
    found.late += found.looped


def levels(following: Mapping[str, Sequence[str]], missing: dict[str, int]) -> dict[str, int]:
    """Return the length of the longest path to each block; `missing` counts predecessors.

    The blocks come in the order of these lengths. Blocks on cycles, and those that depend on them, are left out.
    """
    ready = [node for node in following if node not in missing]
    level = dict.fromkeys(ready, 0)
    for node in ready:  # grows as blocks become ready, level by level
        beyond = level[node] + 1
        for other in following[node]:
            missing[other] = left = missing[other] - 1
            if not left:
                ready.append(other)
                level[other] = beyond
    return level


def _sound(description: GraphDescription, found: Dataflow) -> Iterator[Connection]:
    """Yield the connections whose ends exist."""
    incoming = found.incoming
    rules_of = {node.id: node.description.rules for node in description.nodes}
    for connection in description.connections:
        source, target = connection.source, connection.target
        entered = incoming.get(target.node, {}).get(target.port) is source
        if entered and source.node in rules_of and source.port in rules_of[source.node].output_of:
            yield connection


def _ordering(description: GraphDescription, found: Dataflow) -> Iterator[Connection]:
    """Yield the connections that order blocks."""
    late = set(found.late)
    return (connection for connection in _sound(description, found) if connection not in late)


def _check_regions(description: GraphDescription, found: Dataflow) -> None:
    """Add the errors of regions, of connections across their borders, and of cycles through them."""
    used = {region_of(node.region) for node in description.nodes}
    found.warnings += [
        empty_region(node) for node in description.nodes if node.description.control is not None and node.id not in used
    ]
    problems = {node.id: region_problem(description, node) for node in description.nodes if node.region}
    wrong = {node for node, problem in problems.items() if problem is not None}
    if wrong:
        found.errors += [problem for problem in problems.values() if problem is not None]
        # A block in an invalid region is treated as if it were outside all regions.
        nodes = tuple(replace(node, region=TOP) if node.id in wrong else node for node in description.nodes)
        description = GraphDescription(nodes, description.connections)
    nesting = Nesting(description)
    for connection in _sound(description, found):
        problem = border_problem(description, nesting, connection)
        if problem is not None:
            found.errors.append(problem)
            found.broken.add(connection.target.node)
    edges = []
    by_id = description.by_id
    for connection in _sound(description, found):
        before, after = connection.source.node, connection.target.node
        a, b = nesting.lift(before, after)
        if b == after and connection.target.port in by_id[after].description.delayed_inputs:
            continue  # a delayed input orders nothing, but its region still comes after a source outside
        if a != b or before == after:
            edges.append(Edge(a, b, connection))
    found.errors += list(map(_circular, find_cycles(edges)))


def _circular(cycle: Cycle) -> Diagnostic:
    way = " -> ".join(cycle.nodes)
    target = cycle.connection.target
    return error(
        f"blocks must not depend on themselves, got {way}",
        node=target.node,
        port=target.port,
        remedy="delete one of these connections",
        expected="no cycle",
        found=way,
    )


def _repeated(description: GraphDescription) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for node in description.nodes:
        if node.id in seen:
            yield error(f"node id must be unique, got {node.id} twice", node=node.id, remedy="give one another id")
        seen.add(node.id)


def _unread_counts(description: GraphDescription, node: str, appends: tuple[str, ...]) -> Iterator[Diagnostic]:
    for name in appends:
        buffer = PortRef(node, name)
        targets = description.targets_of
        counting = targets.get(PortRef(node, count_name(name)), ())
        if targets.get(buffer) and all(description.by_id[t.node].description.is_sentinel for t in counting):
            yield unread_count(buffer)
