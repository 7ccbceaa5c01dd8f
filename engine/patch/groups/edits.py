"""Edits of groups: making and dissolving them, and moving blocks between them.

A connection that gets into or out of a group is led through ports of the group, so no edit here changes what a block
reads. So the engine, which runs the patch without its groups, has nothing to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.patch import changes, rules
from warploom.engine.patch.changes import Connection, Node, PortRef, Position
from warploom.engine.patch.editing.editable_patch import EditablePatch
from warploom.engine.patch.groups.flat import GROUP, INPUTS, OUTPUTS
from warploom.engine.patch.groups.types import FUNCTION, NEW, PORTS, check_name, free_name, names_of
from warploom.engine.patch.organise.annotations import Frame
from warploom.engine.patch.organise.annotations import moved as moved_note
from warploom.engine.patch.positions import checked_position
from warploom.engine.patch.regions import region_of

#: The distance of the ends inside from the blocks of a new group, and about the width of a block.
_BESIDE, _WIDTH = 120.0, 160.0


def group(patch: EditablePatch, nodes: Collection[Node], title: str = "") -> str:
    """Put nodes of one scope into a new group, and return its node."""
    chosen = outermost(patch, [node for node in nodes if not patch.is_end(node.id)])
    if not chosen:
        raise PatchError("group must hold at least one block, got none")
    scopes = {node.region for node in chosen}
    if len(scopes) > 1:
        found = ", ".join(f"{node.id} in {node.region or 'none'}" for node in chosen[:3])
        raise PatchError(f"blocks of a group must lie in one region or group, got {found}")
    left, top, right, bottom = _box(chosen)
    middle = (top + bottom) / 2
    made = _node(patch, "group", GROUP, scopes.pop(), _centre(chosen), rules.checked_title(title))
    with patch.edit(f"Group {plural(len(chosen), 'node')}"):
        patch._do("Group", changes.NodeAdded(made))
        for kind, x in ((INPUTS, left - _BESIDE - _WIDTH), (OUTPUTS, right + _BESIDE + _WIDTH)):
            end = _node(patch, kind.partition(".")[2], kind, made.id, (x, middle))
            patch._do("Group", changes.NodeAdded(end))
        move(patch, chosen, made.id)
    return made.id


def ungroup(patch: EditablePatch, node: Node) -> list[str]:
    """Put the blocks of a group into the scope around it, remove the group, and return these blocks."""
    if not patch.is_group(node.id):
        raise PatchError(f"node to ungroup must be a group, got {shown(node.id)}")
    if node.mode:
        raise PatchError(f"group to dissolve must be in use, got {node.id}, which is {node.mode}; use it again first")
    inside = [patch.nodes[member] for member in patch.members(node.id)]
    members = [member for member in inside if not patch.is_end(member.id)]
    x, y = _centre(members) if members else node.position
    dx, dy = node.position[0] - x, node.position[1] - y
    with patch.edit(f"Ungroup {patch.title(node.id)}"):
        through = [c for end in inside for c in patch.connections_of(end.id) if patch.is_end(c.source.node)]
        for connection in dict.fromkeys(c for c in through if patch.is_end(c.target.node)):
            before = patch.source_of(PortRef(node.id, connection.source.port))
            after = PortRef(node.id, connection.target.port)
            if before is None:
                continue
            for target in _fed(patch, after):
                patch._do("Ungroup", changes.Disconnected(Connection(after, target)))
                patch._do("Ungroup", changes.Connected(Connection(before, target)))
        move(patch, members, node.region)
        for moved in [n for member in members for n in _with_regions(patch, member.id)] if dx or dy else ():
            x, y = position = patch.nodes[moved].position
            patch._do("Ungroup", changes.NodeMoved(moved, checked_position((x + dx, y + dy)), position))
        for frame in [frame for frame in patch.annotations_of(Frame) if frame.group == node.id]:
            at = replace(moved_note(frame, (dx, dy)), group=patch.group_of(node.id))
            patch._do("Ungroup", changes.AnnotationChanged(frame.key, at, frame))
        gone = [end.id for end in inside if patch.is_end(end.id)] + [node.id]
        for connection in dict.fromkeys(c for left in gone for c in patch.connections_of(left)):
            patch._do("Ungroup", changes.Disconnected(connection))
        patch._do("Ungroup", *(changes.NodeRemoved(patch.nodes[left]) for left in gone))
    return [member.id for member in members]


def move(patch: EditablePatch, nodes: Collection[Node], scope: str) -> None:
    """Move nodes into a scope, and lead their connections through the ports of groups."""
    moving = [changes.NodeRegionChanged(node.id, scope, node.region) for node in nodes if node.region != scope]
    for change in moving:
        if patch.is_end(change.node):
            raise PatchError(f"node to move must be a block, got {change.node}, which belongs to its group")
    goal = patch.group_at(scope)
    crossing: list[tuple[Connection, list[tuple[PortRef, PortRef]]]] = []
    shifted = {node for change in moving for node in _with_regions(patch, change.node) if patch.group_of(node) != goal}
    for connection in dict.fromkeys(c for node in sorted(shifted) for c in patch.connections_of(node)):
        source, target = connection.source, connection.target
        if not {source.node, target.node} <= shifted:
            crossing.append((connection, list(_ways(patch, connection, goal, shifted))))
    patch._do("Move", *(changes.Disconnected(connection) for connection, _ in crossing), *moving)
    for _, ways in crossing:
        for source, target in ways:
            _lead(patch, source, target)


def outermost(patch: EditablePatch, nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes that are in none of the other nodes' scopes."""
    found = list(nodes)
    chosen, scopes = {node.id for node in found}, patch.scopes
    return [node for node in found if not any(region_of(scope) in chosen for scope in scopes.chain(node.region))]


def add_port(patch: EditablePatch, end: str, name: str) -> str:
    """Add a port to the inputs or outputs of a group, and return its name, which is new."""
    known = names_of(patch.nodes[end])
    name = free_name(name, _taken(patch, end))
    _set_ports(patch, end, {**known, name: ""}, f"Add port {name}")
    return name


def connect_new(patch: EditablePatch, connection: Connection) -> Connection:
    """Make a connection to or from the port of an end that stands for a new one."""
    source, target = connection.source, connection.target
    stem = "port" if source.port == target.port else source.port if target.port == NEW else target.port
    with patch.edit(f"Connect {connection}"):
        ends = [PortRef(e.node, add_port(patch, e.node, stem)) if e.port == NEW else e for e in (source, target)]
        return _connect(patch, patch.check_connection(*ends))


def promote(patch: EditablePatch, port: PortRef, name: str) -> tuple[str, str]:
    """Add a port to the group around a node for one of its ports or parameters; return the group and the port."""
    group_node = patch.group_of(port.node)
    if not group_node:
        raise PatchError(f"port to promote must be of a block in a group, got {port}")
    spec = patch.find_end(port)
    if patch.is_end(port.node) or (patch.is_group(port.node) and port.port == FUNCTION):
        raise PatchError(f"port to promote must be of a block, or a port of a group, got {port}")
    is_input = spec is not None and rules.is_target(spec)
    known = patch.source_of(port) if is_input else None
    if known is not None:
        raise PatchError(f"port to promote must not be connected, got {port}, which {known} feeds")
    end = patch.end_of(group_node, INPUTS if is_input else OUTPUTS)
    if not isinstance(name, str) or name:
        check_name(name, _taken(patch, end))
    with patch.edit(f"Promote {port}"):
        made = PortRef(end, add_port(patch, end, name or port.port))
        _connect(patch, patch.check_connection(*((made, port) if is_input else (port, made))))
    return group_node, made.port


def rename_port(patch: EditablePatch, end: str, old: str, new: str) -> None:
    """Rename a port of a group; its connections stay."""
    known = names_of(patch.nodes[end])
    if old not in known:
        raise PatchError(f"port to rename must be one of {', '.join(known) or 'none'}, got {shown(old)}")
    if old == new:
        return
    check_name(new, _taken(patch, end))
    group_node = patch.group_of(end)
    places = {PortRef(node, old): PortRef(node, new) for node in (end, group_node)}
    touching = [c for node in (end, group_node) for c in patch.connections_of(node)]
    renamed = {c: Connection(places.get(c.source, c.source), places.get(c.target, c.target)) for c in touching}
    moved = {before: after for before, after in renamed.items() if before != after}
    with patch.edit(f"Rename port {old}"):
        patch._do("Rename", *map(changes.Disconnected, moved))
        _set_ports(patch, end, {new if name == old else name: doc for name, doc in known.items()}, "Rename")
        patch._do("Rename", *map(changes.Connected, moved.values()))


def remove_port(patch: EditablePatch, end: str, name: str) -> None:
    """Remove a port of a group, with its connections inside and outside."""
    known = names_of(patch.nodes[end])
    if name not in known:
        raise PatchError(f"port to remove must be one of {', '.join(known) or 'none'}, got {shown(name)}")
    gone = {PortRef(end, name), PortRef(patch.group_of(end), name)}
    touching = [c for ref in gone for c in patch.connections_of(ref.node) if {c.source, c.target} & gone]
    with patch.edit(f"Remove port {name}"):
        patch._do("Remove", *map(changes.Disconnected, dict.fromkeys(touching)))
        _set_ports(patch, end, {port: doc for port, doc in known.items() if port != name}, "Remove")


def _taken(patch: EditablePatch, end: str) -> set[str]:
    """Return the names of all ports of the group of an end."""
    return {name for e in patch.members(patch.group_of(end)) if patch.is_end(e) for name in names_of(patch.nodes[e])}


def _set_ports(patch: EditablePatch, end: str, ports: dict[str, str], name: str) -> None:
    patch._do(name, changes.ParameterChanged(end, PORTS, ports, patch.nodes[end].parameters.get(PORTS)))


def _ways(
    patch: EditablePatch, connection: Connection, goal: str, shifted: Collection[str]
) -> Iterator[tuple[PortRef, PortRef]]:
    """Yield what a connection must lead from and to, once one of its blocks has gone to another group.

    A block that leaves a group has the sources and targets of the group's ports.
    """
    around = {goal, *(patch.groups_around(goal) if goal else ())}
    source: PortRef | None = connection.source
    seen: set[PortRef] = set()
    while source is not None and source not in seen:
        seen.add(source)
        if patch.is_end(source.node) and (left := patch.group_of(source.node)) not in around:
            source = patch.source_of(PortRef(left, source.port))
        elif patch.is_group(source.node):  # one that feeds itself may be fed by a block that leaves it
            inner = patch.source_of(PortRef(patch.end_of(source.node, OUTPUTS), source.port))
            source = inner if inner is not None and inner.node in shifted else source
    if source is None:
        return
    waiting = [connection.target]
    while waiting:
        target = waiting.pop()
        left = patch.group_of(target.node)
        if not patch.is_end(target.node) or left in around:
            yield source, target
            continue
        waiting += _fed(patch, PortRef(left, target.port))


def _lead(patch: EditablePatch, source: PortRef, target: PortRef) -> None:
    """Connect an output to an input in any other group, through ports of the groups between them.

    A port that carries the elements already is used again.
    """
    here, there = ([*patch.groups_around(node)] for node in (source.node, target.node))
    shared = next((i for i, pair in enumerate(zip(here, there, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(here), len(there)) if shared is None else shared
    for left in reversed(here[shared:]):
        end = patch.end_of(left, OUTPUTS)
        name = next((p for p in names_of(patch.nodes[end]) if patch.source_of(PortRef(end, p)) == source), None)
        if name is None:
            name = add_port(patch, end, source.port)
            patch._do("Connect", changes.Connected(Connection(source, PortRef(end, name))))
        source = PortRef(left, name)
    for entered in there[shared:]:
        end = patch.end_of(entered, INPUTS)
        name = next((p for p in names_of(patch.nodes[end]) if patch.source_of(PortRef(entered, p)) == source), None)
        if name is None:
            name = add_port(patch, end, target.port)
            patch._do("Connect", changes.Connected(Connection(source, PortRef(entered, name))))
        source = PortRef(end, name)
    _connect(patch, Connection(source, target))


def _connect(patch: EditablePatch, connection: Connection) -> Connection:
    """Make a connection, in place of the one that its input has."""
    known = patch.source_of(connection.target)
    if known is not None:
        patch._do("Connect", changes.Disconnected(Connection(known, connection.target)))
    patch._do("Connect", changes.Connected(connection))
    return connection


def _fed(patch: EditablePatch, port: PortRef) -> list[PortRef]:
    return [c.target for c in patch.connections_of(port.node) if c.source == port]


def _with_regions(patch: EditablePatch, node: str) -> list[str]:
    """Return a node, and if it is a region, the nodes inside without those of groups."""
    found, waiting = [], [node]
    while waiting:
        found.append(waiting.pop())
        if not patch.is_group(found[-1]):
            waiting += patch.members(found[-1])
    return found


def _node(patch: EditablePatch, stem: str, kind: str, scope: str, position: Position, title: str = "") -> Node:
    node_id, position = patch._ids.free(stem), checked_position(position)
    return Node(id=node_id, type=kind, region=scope, position=position, title=title)


def _box(nodes: Collection[Node]) -> tuple[float, float, float, float]:
    xs, ys = zip(*(node.position for node in nodes), strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _centre(nodes: Collection[Node]) -> Position:
    left, top, right, bottom = _box(nodes)
    return round((left + right) / 2), round((top + bottom) / 2)
