"""Compares two patches: finds the changes that lead from one to the other, and describes the differences in words."""

from collections.abc import Iterator
from typing import Any

from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.figures import plural
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, Node, Position
from warploom.engine.patch.contents import PatchContents
from warploom.engine.patch.organise.annotations import is_same
from warploom.engine.patch.regions import TOP, region_of
from warploom.engine.types.bits import same, same_value

_MOST_LETTERS = 40


def difference(before: PatchContents, after: PatchContents) -> list[Change]:
    """Return the changes that make `before` equal to `after`, in an order in which each can be applied."""
    old, new = before.nodes, after.nodes
    kept = {node for node in old.keys() & new.keys() if _is_same_block(old[node], new[node])}
    stay = {c for c in before.connections if c.source.node in kept and c.target.node in kept} & set(after.connections)
    checked = {port: s for port, s in before.sentinels.items() if port.node in kept}
    steps: list[Change] = [
        changes.SentinelChanged(port, None, s)
        for port, s in before.sentinels.items()
        if port not in checked or port not in after.sentinels
    ]
    steps += [changes.Disconnected(c) for c in before.connections if c not in stay]
    # At each step, every block must lie in an existing region, and no region inside itself.
    moving = [
        n for n in kept if old[n].region != new[n].region or (old[n].region and region_of(old[n].region) not in kept)
    ]
    steps += [changes.NodeRegionChanged(node, TOP, old[node].region) for node in sorted(moving) if old[node].region]
    steps += [changes.NodeRemoved(old[node]) for node in reversed(_outermost_first(before)) if node not in kept]
    steps += [changes.NodeAdded(new[node]) for node in _outermost_first(after) if node not in kept]
    steps += [changes.NodeRegionChanged(node, new[node].region, TOP) for node in sorted(moving) if new[node].region]
    for node in sorted(kept):
        steps += _settings(old[node], new[node])
    steps += [changes.Connected(c) for c in after.connections if c not in stay]
    now = after.sentinels.items()
    steps += [changes.SentinelChanged(p, s, checked.get(p)) for p, s in now if checked.get(p) != s]
    had, has = before.annotations, after.annotations
    keys = sorted(key for key in had.keys() | has.keys() if not is_same(had.get(key), has.get(key)))
    return [*steps, *(changes.AnnotationChanged(key, has.get(key), had.get(key)) for key in keys)]


def describe_difference(before: PatchContents, after: PatchContents) -> list[str]:
    """Return the differences between two patches as text, one line per block or connection."""
    old, new = before.nodes, after.nodes
    lines = [f"added: {_name(after, node)}" for node in new if node not in old]
    lines += [f"removed: {_name(before, node)}" for node in old if node not in new]
    moved = 0
    for node in [node for node in old if node in new]:
        words = list(_words(old[node], new[node]))
        if words:
            lines.append(f"changed: {_name(after, node)}: {', '.join(words)}")
        moved += not words and not _is_same_place(old[node].position, new[node].position)
    links = set(before.connections), set(after.connections)
    lines += [f"connected: {c}" for c in _in_order(links[1] - links[0])]
    gone = (c for c in _in_order(links[0] - links[1]) if c.source.node in new and c.target.node in new)
    lines += [f"disconnected: {c}" for c in gone]
    checks = before.sentinels, after.sentinels
    lines += [f"checked: {port}" for port in sorted(checks[1], key=str) if checks[0].get(port) != checks[1][port]]
    lines += [f"no longer checked: {port}" for port in sorted(checks[0].keys() - checks[1].keys(), key=str)]
    had, has = before.annotations, after.annotations
    lines += [f"changed: {key}" for key in sorted(had.keys() | has.keys()) if not is_same(had.get(key), has.get(key))]
    if moved:
        lines.append(f"moved: {plural(moved, 'block')}")
    if not same(before.extra, after.extra):
        lines.append("changed: settings of the patch that this version does not know")
    return lines


def _words(old: Node, new: Node) -> Iterator[str]:
    if old.type != new.type:
        yield f"type {old.type} → {new.type}"
    elif not _is_same_block(old, new):
        yield "details that this version does not know"
    for name in sorted(old.parameters.keys() | new.parameters.keys()):
        a, b = old.parameters.get(name), new.parameters.get(name)
        if not (same_value(a, b) or isinstance(a, UserArray)):
            yield f"{name} {_shown(a)} → {_shown(b)}"
    if moving := sorted(n for n in old.curves.keys() | new.curves.keys() if old.curves.get(n) != new.curves.get(n)):
        yield f"keys of {', '.join(moving)}"
    if old.title != new.title:
        yield f"title {old.title or 'none'} → {new.title or 'none'}"
    if old.colour != new.colour:
        yield f"colour {old.colour or 'none'} → {new.colour or 'none'}"
    if old.comment != new.comment:
        yield "comment"
    if old.mode != new.mode:
        yield f"{old.mode or 'active'} → {new.mode or 'active'}"
    if old.region != new.region:
        yield f"region {old.region or 'none'} → {new.region or 'none'}"


def _settings(old: Node, new: Node) -> Iterator[Change]:
    for name in sorted(old.parameters.keys() | new.parameters.keys()):
        a, b = old.parameters.get(name), new.parameters.get(name)
        if not (same_value(a, b) or isinstance(a, UserArray)):
            yield changes.ParameterChanged(old.id, name, b, a)
    for name in sorted(old.curves.keys() | new.curves.keys()):
        keys, before = new.curves.get(name, ()), old.curves.get(name, ())
        if keys != before:
            yield changes.CurveChanged(old.id, name, keys, before)
    if not _is_same_place(old.position, new.position):
        yield changes.NodeMoved(old.id, new.position, old.position)
    if old.title != new.title:
        yield changes.NodeRenamed(old.id, new.title, old.title)
    if old.colour != new.colour:
        yield changes.NodeColoured(old.id, new.colour, old.colour)
    if old.comment != new.comment:
        yield changes.NodeCommented(old.id, new.comment, old.comment)
    if old.mode != new.mode:
        yield changes.NodeModeChanged(old.id, new.mode, old.mode)


def _is_same_block(old: Node, new: Node) -> bool:
    """True when the blocks have the same type and settings. A parameter that is null in a file is not a setting."""
    nulls = [{name for name, value in node.parameters.items() if value is None} for node in (old, new)]
    fields = [(node.type, node.version, node.key, node.extra) for node in (old, new)]
    return same((fields[0], nulls[0]), (fields[1], nulls[1]))


def _is_same_place(a: Position, b: Position) -> bool:
    """True for positions that are equal when written to a file."""
    return all(round(x, 2) == round(y, 2) for x, y in zip(a, b, strict=True))


def _outermost_first(patch: PatchContents) -> list[str]:
    scopes = patch.scopes
    return sorted(patch.nodes, key=lambda node: (len(scopes.chain(patch.nodes[node].region)), node))


def _in_order(connections: set[Connection]) -> list[Connection]:
    return sorted(connections, key=str)


def _name(patch: PatchContents, node: str) -> str:
    title = patch.title(node)
    return node if title == node else f"{node} ({title})"


def _shown(value: Any) -> str:
    if value is None:
        return "default"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value) if isinstance(value, (str, int)) else "other data"
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"
