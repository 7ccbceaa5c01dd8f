"""Checking again after a small edit: only blocks that changed, and those whose inputs did, are looked at.

It holds for edits that leave a right patch right and the order of its blocks possible; new blocks are put between those
that feed them and those that they feed. Anything else, and any patch with regions or delayed inputs, is checked as a
whole, where blocks that did not change are taken over all the same.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from engine.compiler.checking.check import Checked, Edit
from engine.compiler.checking.dataflow import Survey
from engine.compiler.checking.differences import Differences, differences
from engine.compiler.checking.layouts import NodeLayouts, node_layouts
from engine.compiler.checking.validation import connection_problem, missing_inputs
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.layout import Layout
from engine.patch.changes import PortRef

#: Of how many blocks and connections an edit may be before all are looked at.
_MOST = 64
#: How many blocks may be looked at on each side to give the ends of a new connection other places.
_MOST_MOVED = 256


def recheck(description: GraphDescription, previous: Checked) -> Checked | None:
    """Return what a check of the whole would, or None when that is needed."""
    before = previous.survey
    if previous.errors or not before.is_plain:
        return None
    edit = differences(previous.description, description)
    if len(edit.changed) + len(edit.gone) + len(edit.made) + len(edit.cut) > _MOST:
        return None
    if len(description.by_id) < len(description.nodes) or not _is_plain(description, previous, edit):
        return None
    position = _positions(previous, edit)
    if position is None:
        return None
    found = Survey(before.incoming, before.following, before.order, warnings=before.warnings)
    dirty = _edit(found, edit)
    nodes = previous.nodes.copy()
    for node in edit.gone:
        if found.incoming.pop(node) or found.following.pop(node):
            return None  # a connection was left behind
        del nodes[node]
    position = _put_in_order(position, found, edit) if dirty is not None else None
    if dirty is None or position is None:
        return None
    if any(any(missing_inputs(description.by_id[node], found.incoming[node])) for node in dirty):
        return None
    touched = _propagate(description, found, position, nodes, dirty)
    if touched is None:
        return None
    if position is not previous.position:
        nodes = {node: nodes[node] for node in sorted(nodes, key=position.__getitem__)}
    checked = Checked(description, found, nodes, (), previous.warnings, Edit(edit, tuple(touched)))
    _take_over(previous, checked, [*touched, *edit.gone], position)
    return checked


def _is_plain(description: GraphDescription, previous: Checked, edit: Differences) -> bool:
    """True when an edit has nothing to do with regions, delays or warnings, and its connections are right."""
    for node in edit.changed:
        old = previous.nodes.get(node.id)
        if _is_special(node) or (old is not None and old.description.rules.appends):
            return False
        # Connections that stay must still find their ports, with the same element types.
        if old is not None and node.description.ports != old.description.ports:
            return False
    if any(connection_problem(description, connection) for connection in edit.made):
        return False
    sources = {connection.source.node for connection in (*edit.made, *edit.cut)}
    old_blocks = previous.description.by_id
    return not any(
        block.description.rules.appends
        for node in sources
        for block in (description.by_id.get(node), old_blocks.get(node))
        if block is not None
    )


def _is_special(node: BlockNode) -> bool:
    block = node.description
    return bool(node.region or block.control is not None or block.rules.delayed or block.rules.appends)


def _positions(previous: Checked, edit: Differences) -> dict[str, float] | None:
    """Return a place for every block, each after those that feed it, or None when places must be given anew."""
    position = previous.position
    new = [node.id for node in edit.changed if node.id not in position]
    if new:
        position = dict(position)
        end = max(position.values(), default=0.0)
        for node in new:
            feeding = [position.get(c.source.node) for c in edit.made if c.target.node == node]
            fed = [position.get(c.target.node) for c in edit.made if c.source.node == node]
            if None in feeding or None in fed:
                return None  # new blocks in a row
            low = max((place for place in feeding if place is not None), default=-1.0)
            high = min((place for place in fed if place is not None), default=end + 2)
            end = max(end, (low + high) / 2)
            position[node] = (low + high) / 2
    if edit.gone:
        gone = set(edit.gone)
        position = {node: place for node, place in position.items() if node not in gone}
    return position


def _put_in_order(position: dict[str, float], found: Survey, edit: Differences) -> dict[str, float] | None:
    """Return places with the target of each new connection after its source; None when that moves many, or can't be.

    What lies between the two places and depends on the target moves behind what the source depends on, as in "A Dynamic
    Topological Sort Algorithm for Directed Acyclic Graphs" (Pearce and Kelly, 2006).
    """
    moved: set[str] = set()
    for connection in edit.made:
        source, target = connection.source.node, connection.target.node
        low, high = position[target], position[source]
        if high < low:
            continue
        ahead = _ahead(target, found, position, high)
        behind = _behind(source, found, position, low)
        if ahead is None or behind is None or source in ahead:
            return None
        if not moved:
            position = dict(position)
        row = sorted(behind, key=position.__getitem__) + sorted(ahead, key=position.__getitem__)
        position.update(zip(row, sorted(position[node] for node in row), strict=True))
        moved.update(row)
    for node in moved:
        if any(position[source.node] >= position[node] for source in found.incoming[node].values()):
            return None
        if any(position[other] <= position[node] for other in found.following[node]):
            return None
    return position


def _ahead(start: str, found: Survey, position: dict[str, float], last: float) -> set[str] | None:
    """Return a block with those that depend on it and have places up to `last`, or None when they are many."""
    reached, waiting = {start}, [start]
    while waiting and len(reached) <= _MOST_MOVED:
        near = {other for other in found.following[waiting.pop()] if position[other] <= last} - reached
        reached |= near
        waiting += near
    return None if waiting else reached


def _behind(start: str, found: Survey, position: dict[str, float], first: float) -> set[str] | None:
    """Return a block with those it depends on that have places from `first` on, or None when they are many."""
    reached, waiting = {start}, [start]
    while waiting and len(reached) <= _MOST_MOVED:
        sources = found.incoming[waiting.pop()].values()
        near = {source.node for source in sources if position[source.node] >= first} - reached
        reached |= near
        waiting += near
    return None if waiting else reached


def _edit(found: Survey, edit: Differences) -> set[str] | None:
    """Enter an edit; return the blocks to look at, or None when an input would have two connections."""
    connections = (*edit.made, *edit.cut)
    dirty = {node.id for node in edit.changed}
    new = [node for node in dirty if node not in found.incoming]
    if connections or new or edit.gone:
        targets = {connection.target.node for connection in connections}
        sources = {connection.source.node for connection in connections}
        found.incoming = {**found.incoming, **{node: dict(found.incoming.get(node, {})) for node in (*new, *targets)}}
        found.following = {
            **found.following,
            **{node: list(found.following.get(node, ())) for node in (*new, *sources)},
        }
        dirty |= targets - set(edit.gone)
    for connection in edit.cut:
        del found.incoming[connection.target.node][connection.target.port]
        found.following[connection.source.node].remove(connection.target.node)
    for connection in edit.made:
        connected = found.incoming[connection.target.node]
        if connection.target.port in connected:
            return None
        connected[connection.target.port] = connection.source
        found.following[connection.source.node].append(connection.target.node)
    return dirty


def _propagate(
    description: GraphDescription,
    found: Survey,
    position: dict[str, float],
    nodes: dict[str, NodeLayouts],
    dirty: set[str],
) -> list[str] | None:
    """Bring the layouts of dirty blocks, and of those behind them, up to date; return which, None with an error."""
    waiting = [(position[node], node) for node in dirty]
    heapify(waiting)
    touched = []
    while waiting:
        _, node = heappop(waiting)
        block, old = description.by_id[node].description, nodes.get(node)
        sources = found.incoming[node]
        inputs: list[Layout | None] = []
        for rule in block.rules.inputs:
            source = sources.get(rule.name)
            inputs.append(None if source is None else nodes[source.node].layouts[source.port])
        given = tuple(inputs)
        if old is not None and old.description is block and old.inputs == given:
            continue
        new = nodes[node] = node_layouts(block, given)
        if new.problems:
            return None
        touched.append(node)
        if old is None or any(old.layouts[rule.name] != new.layouts[rule.name] for rule in block.rules.outputs):
            for other in found.following[node]:
                heappush(waiting, (position[other], other))
    return touched


def _take_over(previous: Checked, checked: Checked, touched: list[str], position: dict[str, float]) -> None:
    """Let the new result have the tables of the old one that were made, less what changed."""
    known = previous.__dict__
    checked.__dict__["position"] = position
    pairs = [(node, previous.nodes.get(node), checked.nodes.get(node)) for node in touched]
    if "layouts" in known:
        layouts = previous.layouts.copy() if touched else previous.layouts
        for node, old, _ in pairs:
            for name in old.layouts if old else ():
                del layouts[PortRef(node, name)]
        for node, _, new in pairs:
            layouts.update({PortRef(node, name): layout for name, layout in (new.layouts if new else {}).items()})
        checked.__dict__["layouts"] = layouts
    if "view_offsets" in known and not any(side is not None and side.offsets for _, *sides in pairs for side in sides):
        checked.__dict__["view_offsets"] = previous.view_offsets
