"""The rules of connections, with an exception type for each reason to refuse one, and limits of a node's fields.

Edits and files obey the same rules, so every edited patch can be saved and loaded again.
"""

from collections.abc import Callable, Iterable
from graphlib import CycleError, TopologicalSorter

from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.descriptions.checks import shown
from warploom.engine.descriptions.ports import KINDS, PortSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.organise.annotations import COLOURS, LONGEST_COMMENT, check_text
from warploom.engine.patch.regions import Scopes

#: Yields the direct successors of a node.
Following = Callable[[str], Iterable[str]]
#: An end of a connection: a port, the output of a value block, or a parameter that the connection drives.
End = PortSpec | ValueSpec | ParameterSpec
#: The types of the parameters that a value can drive.
DRIVABLE = ("float", "int", "bool")
#: The most characters of a node's id, and of its title.
LONGEST_NAME, LONGEST_TITLE = 200, 1000


class ConnectionRefused(PatchError):
    """A connection is not allowed, for the reason in the text."""


class UnknownPort(ConnectionRefused):
    """The node has no such port."""


class WrongDirection(ConnectionRefused):
    """Both ends are inputs, or both are outputs."""


class TypeMismatch(ConnectionRefused):
    """The element types differ."""


class NotDrivable(ConnectionRefused):
    """No value can drive this parameter: it is text, an array, or structural."""


class WouldCycle(ConnectionRefused):
    """The connection would make a block depend on itself."""


class OrderRefused(PatchError):
    """Two blocks can't have an order, for the reason in the text."""


class CrossesBranches(ConnectionRefused):
    """The connection goes from one branch of a region to the other, but only one of them runs."""


class CrossesGroups(ConnectionRefused):
    """The connection leaves its group other than through the group's ports."""


def check_node_id(node_id: object) -> None:
    """Raise PatchError when a node can't have this id."""
    if not isinstance(node_id, str) or not node_id or len(node_id) > LONGEST_NAME:
        raise PatchError(f"node id must be a text of 1 to {LONGEST_NAME} characters, got {shown(node_id)}")
    if "." in node_id:
        raise PatchError(f"node id must not hold a dot, which separates node and port, got {shown(node_id)}")
    if "/" in node_id:
        raise PatchError(f"node id must not hold a slash, which leads to a block in a composite, got {shown(node_id)}")


def checked_title(title: object) -> str:
    """Return a node's title. Raise PatchError if it is not a text, has half a surrogate pair, or is too long."""
    check_text("title", title, LONGEST_TITLE)
    return str.__str__(title)


def checked_colour(colour: object) -> str:
    """Return a node's colour. Raise PatchError unless it is one of `COLOURS`, or "" for that of the category."""
    if not isinstance(colour, str) or colour not in ("", *COLOURS):
        raise PatchError(f"colour of a node must be one of {', '.join(COLOURS)} or empty, got {shown(colour)}")
    return str.__str__(colour)


def checked_comment(comment: object) -> str:
    """Return a node's comment. Raise PatchError if it is not a text, has half a surrogate pair, or is too long."""
    check_text("comment of a node", comment, LONGEST_COMMENT)
    return str.__str__(comment)


def find_end(block_type: type[Block] | None, name: str) -> End | None:
    """Return the declaration of a port, value output or parameter, or None. An unknown type has none."""
    if block_type is None:
        return None
    name = block_type.renamed.get(name, name)
    return block_type.ports.get(name) or block_type.values_out.get(name) or block_type.parameters.get(name)


def find_value(block_type: type[Block], name: str) -> ValueSpec | None:
    """Return the declaration of a value output, or None."""
    return block_type.values_out.get(block_type.renamed.get(name, name)) if block_type.values_out else None


def require_end(node: str, block_type: type[Block], name: str) -> End:
    """Return the declaration of a port, value output or parameter. For a missing one, raise UnknownPort with a list."""
    spec = find_end(block_type, name) if isinstance(name, str) else None
    if spec is None:
        known = ", ".join((*block_type.ports, *block_type.values_out))
        if not known:
            raise UnknownPort(f"node {node} must have the port {shown(name)}, got no ports; are its values wrong?")
        raise UnknownPort(f"port of {node} must be one of {known}, got {shown(name)}")
    return spec


def ends_of(block_type: type[Block]) -> tuple[End, ...]:
    """Return all ends of a block type that connections may use, including those that are always refused."""
    return (*block_type.ports.values(), *block_type.values_out.values(), *block_type.parameters.values())


def is_target(end: End) -> bool:
    """Return whether connections lead to this end rather than from it."""
    return isinstance(end, ParameterSpec) or (isinstance(end, PortSpec) and end.is_input)


def is_drivable(spec: ParameterSpec) -> bool:
    """Return whether a value may drive a parameter."""
    return spec.type in DRIVABLE and not spec.structural


def fits(one: End, other: End) -> bool:
    """Return whether one end is a source and the other a target, with matching types."""
    if is_target(one) == is_target(other):
        return False
    source, target = (other, one) if is_target(one) else (one, other)
    try:
        check_types(Connection(PortRef("", source.name), PortRef("", target.name)), source, target)
    except ConnectionRefused:
        return False
    return True


def check_types(connection: Connection, source: End, target: End) -> None:
    """Raise an error unless `source` is an output that `target` accepts, as an input or as a driven parameter."""
    if isinstance(source, ParameterSpec):
        raise WrongDirection(f"source {connection.source} must be an output, got a parameter")
    if isinstance(source, PortSpec) and source.is_input:
        raise WrongDirection(f"source {connection.source} must be an output, got an input")
    if isinstance(target, ValueSpec) or (isinstance(target, PortSpec) and not target.is_input):
        raise WrongDirection(f"target {connection.target} must be an input, got an output")
    if isinstance(target, ParameterSpec):
        _check_drives(connection, source, target)
    elif isinstance(source, ValueSpec):
        raise TypeMismatch(
            f"{connection.target} takes a buffer of {target.dtype}, got a single value from {connection.source}; "
            "connect that to a parameter"
        )
    elif "any" not in (source.dtype.kind, target.dtype.kind) and source.dtype != target.dtype:
        if target.dtype_rule in KINDS and KINDS[target.dtype_rule][0](source.dtype):
            return
        raise TypeMismatch(
            f"{connection.target} takes elements of {target.dtype}, got {source.dtype} from {connection.source}"
        )


def _check_drives(connection: Connection, source: PortSpec | ValueSpec, target: ParameterSpec) -> None:
    if isinstance(source, PortSpec):
        raise TypeMismatch(
            f"parameter {connection.target} takes the value of a value block, got a buffer of {source.dtype} "
            f"from {connection.source}"
        )
    if target.type not in DRIVABLE:
        raise NotDrivable(
            f"parameter {connection.target} must be a number or a boolean to be driven, got {target.type}"
        )
    if target.is_constant:
        raise NotDrivable(
            f"parameter {connection.target} must be live to be driven, got a constant of the kernel; "
            "take it out of constants"
        )
    if target.structural:
        raise NotDrivable(
            f"parameter {connection.target} must be live to be driven, got a structural one: "
            "changing it rebuilds the graph"
        )


def is_value_connection(connection: Connection, source: type[Block] | None, target: type[Block] | None) -> bool:
    """True when a connection drives a parameter, or was meant to; either block type may be unknown.

    An input with its own value, used while it is unconnected, counts as an input.
    """
    port = connection.target.port
    drives = target is not None and port in target.parameters and port not in target.ports
    return drives or (
        source is not None and (source.is_value or find_value(source, connection.source.port) is not None)
    )


def find_way(following: Following, start: str, goal: str) -> list[str] | None:
    """Return the nodes on a path from `start` to `goal`, both included; None if there is none."""
    came_from = reached(following, [start], goal)
    if goal not in came_from:
        return None
    path = [goal]
    while (previous := came_from[path[-1]]) is not None:
        path.append(previous)
    return path[::-1]


def reached(following: Following, starts: Iterable[str], goal: str | None = None) -> dict[str, str | None]:
    """Return the reachable nodes, including `starts`, each with its predecessor on the path; stop at `goal`."""
    came_from: dict[str, str | None] = dict.fromkeys(starts)
    waiting = list(came_from)
    while waiting and goal not in came_from:
        node = waiting.pop()
        for next_node in following(node):
            if next_node not in came_from:
                came_from[next_node] = node
                waiting.append(next_node)
    return came_from


def find_cycle(pairs: Iterable[tuple[str, str]]) -> list[str] | None:
    """Return the nodes of one cycle among pairs of nodes, with the first repeated at the end; None if there is none."""
    sorter = TopologicalSorter[str]()
    for source, target in pairs:
        sorter.add(target, source)
    try:
        sorter.prepare()
    except CycleError as problem:
        cycle: list[str] = problem.args[1]
        return cycle
    return None


def crossed_region(connection: Connection, scopes: Scopes) -> str | None:
    """Return the region whose two branches a connection ties together, or None."""
    source, target = connection.source.node, connection.target.node
    a, b = scopes.lift(source, target)
    return a if a == b and a not in (source, target) else None


def check_branches(connection: Connection, scopes: Scopes) -> None:
    """Raise CrossesBranches when a connection goes from one branch of a region to the other."""
    region = crossed_region(connection, scopes)
    if region is not None:
        raise CrossesBranches(
            f"connection {connection} must not go from one branch of {region} to the other: only one of them runs"
        )


def check_order(first: str, then: str, following: Following, scopes: Scopes) -> None:
    """Raise an error unless the block `first` can end before the block `then` begins.

    `following` yields the successors of each block, as for `check_acyclic`.
    """
    a, b = scopes.lift(first, then)
    if a == b:
        why = "it is one block" if first == then else f"only one branch of {a} runs"
        if a in (first, then) and first != then:
            why = f"{a} is around the other one"
        raise OrderRefused(f"order must be of two blocks that run one after the other, got {first} and {then}: {why}")
    path = find_way(following, b, a)
    if path is not None:
        raise WouldCycle(f"order of {first} before {then} must not close a cycle, got {' -> '.join([a, *path])}")


def check_acyclic(connection: Connection, following: Following, scopes: Scopes) -> None:
    """Raise WouldCycle, with the nodes on the path, when `connection` would close a cycle.

    `following` yields the successors of each block, where both ends of a connection are lifted to their common scope.
    Values have no scopes: value blocks run before the graph, even those in regions.
    """
    source, target = connection.source.node, connection.target.node
    a, b = scopes.lift(source, target)
    if a == b and source != target:
        return  # a connection between a region and its own body doesn't order blocks
    path = find_way(following, b, a)
    if path is not None:
        way = " -> ".join([a, *path])
        raise WouldCycle(f"connection {connection} must not close a cycle, got {way}")


def check_move(
    connections: Iterable[Connection], orders: Iterable[tuple[str, str]], before: Scopes, after: Scopes
) -> None:
    """Raise an error when a move between regions would close a new cycle or connect two branches."""
    made = list(connections)
    for connection in made:
        if crossed_region(connection, before) is None:
            check_branches(connection, after)
    pairs = [*((c.source.node, c.target.node) for c in made), *orders]
    cycle = find_cycle(after.lifted(pairs))
    if cycle is not None and find_cycle(before.lifted(pairs)) is None:
        raise WouldCycle(f"a move between regions must not close a cycle, got {' -> '.join(cycle)}")
