"""Functions: groups with the same name in their parameter `function`, whose insides stay equal.

Each such group is an *instance* with blocks of its own, so an engine, rules and undo know nothing of functions. After
an edit inside one instance, the others get the same edit in the same undo step. Blocks of two instances that correspond
have the same *key*. Values of the instance's own parameters, which lead from its inputs, may differ, and so may the
checks of its outputs, since they depend on connections outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, Node, PortRef
from warploom.engine.patch.editing.comparison import difference
from warploom.engine.patch.groups.contents import GroupedContents
from warploom.engine.patch.groups.flat import ENDS, GROUP
from warploom.engine.patch.groups.types import FUNCTION, PORTS, names_of
from warploom.engine.patch.organise.annotations import RunOrder
from warploom.engine.patch.regions import branch_of, region_of, scope_text
from warploom.engine.types.bits import same_value

#: The names of the blocks of an instance that correspond to those of the other instances.
Path = tuple[str, ...]
#: Changes of a block that its counterparts get without a comparison of the instances.
_LIGHT = (
    changes.ParameterChanged,
    changes.CurveChanged,
    changes.NodeLooksChanged,
    changes.NodeModeChanged,
)


def function_of(node: Node) -> str:
    """Return the name of the function that a group is an instance of; "" for none."""
    name = node.parameters.get(FUNCTION) if node.type == GROUP else None
    return name if isinstance(name, str) else ""


def instances(patch: GroupedContents) -> dict[str, list[str]]:
    """Return the groups that are instances of functions, by the function's name."""
    found: dict[str, list[str]] = {}
    for node in patch.nodes.values() if patch.has_groups else ():
        if name := function_of(node):
            found.setdefault(name, []).append(node.id)
    return found


def following(patch: GroupedContents, made: Sequence[Change]) -> Iterator[list[Change]]:
    """Yield the changes by which other instances follow the changes of an edit; apply each list before the next.

    `made` grows by them. Raise PatchError if a function holds itself.
    """
    done: set[str] = set()
    seen = 0
    waiting: dict[str, str] = {}
    while known := instances(patch):  # they may be more after each list
        _check_nesting(patch, known)
        for name, source in _touched(patch, made[seen:], known).items():
            waiting.setdefault(name, source)
        joined = [
            (node, others[0])
            for node, name in _joined(made[seen:])
            if node in known.get(name, ()) and (others := [other for other in known[name] if other != node])
        ]
        seen = len(made)
        if joined:
            for node, other in joined:
                yield to_follow(patch, other, node)
            continue
        open_ = [name for name in waiting if name not in done]
        if not open_:
            return
        name = max(open_, key=lambda name: len(patch.groups_around(waiting[name])))
        done.add(name)
        light = [change for change in made if isinstance(change, _LIGHT)] if all(map(_is_light, made)) else None
        for target in [target for target in known[name] if target != waiting[name]]:
            if light is not None:
                yield list(_mapped(patch, waiting[name], target, light))
            else:
                yield to_follow(patch, waiting[name], target)


def to_follow(patch: GroupedContents, source: str, target: str) -> list[Change]:
    """Return the changes that make the inside of one instance equal to that of another."""
    inside, there = members(patch, source), members(patch, target)
    taken, ids = patch._ids.copy(), {source: target}
    for path, node in inside.items():
        known = there.get(path)
        if known is None or patch.nodes[known].type != patch.nodes[node].type:
            known = taken.free(path[-1])
            taken.add(known)
        ids[node] = known
    own = _own_parameters(patch, source)
    wanted = [_counterpart(patch, patch.nodes[node], path, ids, own) for path, node in inside.items()]
    holder = replace(patch.nodes[target], region="")
    present = [holder, *(patch.nodes[node] for node in there.values())]
    before = _part(patch, present, {node: node for node in there.values()})
    after = _part(patch, [holder, *wanted], {node: ids[node] for node in inside.values()})
    made = difference(before, after)
    gone = {change.node.id for change in made if isinstance(change, changes.NodeRemoved)}
    unchecked = [changes.SentinelChanged(port, None, s) for port, s in patch.sentinels.items() if port.node in gone]
    return [*unchecked, *made, *_ports_outside(patch, source, target, before, after)]


def members(patch: GroupedContents, instance: str) -> dict[Path, str]:
    """Return the nodes inside an instance by their paths: keys, after those of functions around them inside."""
    inside = patch.within(instance)
    #: The innermost function around each node.
    holder: dict[str, str] = {instance: instance}
    first: dict[tuple[str, str], str] = {}  # several have the same key if one was moved here from another instance
    for node_id in inside:
        around = region_of(patch.nodes[node_id].region)
        holder[node_id] = around if function_of(patch.nodes[around]) else holder[around]
        own = patch.nodes[node_id].key or node_id
        other = first.setdefault((holder[node_id], own), node_id)
        first[holder[node_id], own] = min((other != own, other), (node_id != own, node_id))[1]
    found: dict[Path, str] = {}
    paths: dict[str, Path] = {instance: ()}
    for node_id in inside:
        own = patch.nodes[node_id].key or node_id
        own = own if first[holder[node_id], own] == node_id else node_id
        while (path := (*paths[holder[node_id]], own)) in found:
            own += "+"
        found[path] = node_id
        paths[node_id] = path
    return found


def unlike(patch: GroupedContents, added: Collection[str]) -> list[Change]:
    """Return the changes that give functions other names whose added instances differ from those of the patch."""
    known = instances(patch)
    made: list[Change] = []
    names: dict[str, str] = {}
    for group in added:
        name = function_of(patch.nodes[group])
        others = [other for other in known.get(name, ()) if other not in added]
        if name and others and to_follow(patch, others[0], group):
            new = names.setdefault(name, free_function(name, {*known, *names.values()}))
            made.append(changes.ParameterChanged(group, FUNCTION, new, name))
    return made


def free_function(stem: str, taken: Collection[str]) -> str:
    """Return a name for a function that is not in use."""
    return next(name for name in (stem, *(f"{stem} {n}" for n in range(2, len(taken) + 3))) if name not in taken)


def _is_light(change: Change) -> bool:
    is_own = isinstance(change, changes.ParameterChanged) and change.parameter in (PORTS, FUNCTION)
    return isinstance(change, _LIGHT) and not is_own


def _check_nesting(patch: GroupedContents, known: Mapping[str, Collection[str]]) -> None:
    for name, groups in known.items():
        if any(name == function_of(patch.nodes[around]) for group in groups for around in patch.groups_around(group)):
            raise PatchError(f"function must not hold itself, got a group of {name} inside another one")


def _touched(patch: GroupedContents, made: Iterable[Change], known: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the functions of which an instance was edited inside, each with the first such instance."""
    added = {change.node.id for change in made if isinstance(change, changes.NodeAdded)}
    found: dict[str, str] = {}
    for change in made:
        scopes = [patch.nodes[node].region for node in changes.nodes_of(change) if node in patch.nodes]
        if isinstance(change, changes.NodeRemoved):
            scopes.append(change.node.region)
        elif isinstance(change, changes.NodeRegionChanged):
            scopes.append(change.previous)
        for group in filter(None, map(patch.group_at, scopes)):
            for around in (group, *patch.groups_around(group)):
                name = function_of(patch.nodes[around])
                if name and around not in added and len(known.get(name, ())) > 1:
                    found.setdefault(name, around)
    return found


def _joined(made: Iterable[Change]) -> Iterator[tuple[str, str]]:
    """Yield the groups that were made instances of a function."""
    for change in made:
        if isinstance(change, changes.ParameterChanged) and change.parameter == FUNCTION and change.value:
            yield change.node, change.value


def _mapped(patch: GroupedContents, source: str, target: str, made: Iterable[Change]) -> Iterator[Change]:
    """Yield changes of single blocks of one instance for their counterparts in another."""
    paths = {node: path for path, node in members(patch, source).items()}
    there, own = members(patch, target), _own_parameters(patch, source)
    for change in made:
        (node,) = changes.nodes_of(change)
        twin = there.get(paths[node]) if node in paths else None
        if twin is None:
            continue
        match change:
            case changes.ParameterChanged(_, name, value) if (node, name) not in own:
                before = patch.nodes[twin].parameters.get(name)
                if not same_value(before, value):
                    yield changes.ParameterChanged(twin, name, value, before)
            case changes.CurveChanged(_, name, keys) if (node, name) not in own:
                held = patch.nodes[twin].curves.get(name, ())
                if held != keys:
                    yield changes.CurveChanged(twin, name, keys, held)
            case changes.NodeLooksChanged() | changes.NodeModeChanged():
                if (same := changes.for_node(change, patch.nodes[twin])) is not None:
                    yield same


def _own_parameters(patch: GroupedContents, instance: str) -> set[tuple[str, str]]:
    """Return the parameters of blocks inside, by node and name, that parameters of the instance set."""
    block_type = patch.block_type(instance)
    names = block_type.parameters if block_type is not None else ()
    return {place for name in names for place in patch.leaves(instance, name) if place[0] != instance}


def _counterpart(
    patch: GroupedContents, node: Node, path: Path, ids: Mapping[str, str], own: Collection[tuple[str, str]]
) -> Node:
    """Return a node as it should be in another instance, which keeps the values of its own parameters."""
    twin = patch.nodes.get(ids[node.id])
    parameters, curves = dict(node.parameters), dict(node.curves)
    for name in [name for owner, name in own if owner == node.id] if twin is not None else ():
        parameters.pop(name, None)
        curves.pop(name, None)
        if twin is not None and name in twin.parameters:
            parameters[name] = twin.parameters[name]
        if twin is not None and name in twin.curves:
            curves[name] = twin.curves[name]
    region = scope_text(ids[region_of(node.region)], branch_of(node.region))
    key = "" if path[-1] == ids[node.id] else path[-1]
    return replace(node, id=ids[node.id], region=region, parameters=parameters, curves=curves, key=key)


def _part(patch: GroupedContents, nodes: Iterable[Node], ids: Mapping[str, str]) -> GroupedContents:
    """Return nodes with the connections and orders of the patch's nodes in `ids`, under their ids there."""
    part = GroupedContents(patch.catalogue)
    for node in nodes:
        part._take(changes.NodeAdded(node))
    for inner in ids:
        for c in patch.connections_of(inner):
            if c.target.node == inner and c.source.node in ids:
                source, target = (PortRef(ids[ref.node], ref.port) for ref in (c.source, c.target))
                part._take(changes.Connected(Connection(source, target)))
    for order in patch.annotations_of(RunOrder):
        if {order.first, order.then} <= ids.keys():
            between = replace(order, first=ids[order.first], then=ids[order.then])
            part._take(changes.AnnotationChanged(between.key, between, None))
    return part


def _ports_outside(
    patch: GroupedContents, source: str, target: str, before: GroupedContents, after: GroupedContents
) -> Iterator[Change]:
    """Yield the changes of an instance's connections outside, when its ports were renamed or removed."""
    renamed: dict[str, str] = {}
    for node in after.nodes.values():
        if node.type in ENDS and node.region == target and node.id in before.nodes:
            old, new = list(names_of(before.nodes[node.id])), list(names_of(node))
            gone, come = [n for n in old if n not in new], [n for n in new if n not in old]
            renamed |= dict(zip(gone, come, strict=False)) if len(old) == len(new) else {}
            renamed |= {name: "" for name in gone if name not in renamed}
    places = {PortRef(target, old): PortRef(target, new) for old, new in renamed.items()}
    for connection in patch.connections_of(target):
        if not {connection.source, connection.target} & places.keys():
            continue
        yield changes.Disconnected(connection)
        ends = [places.get(ref, ref) for ref in (connection.source, connection.target)]
        if all(ref.port for ref in ends):
            yield changes.Connected(Connection(*ends))
