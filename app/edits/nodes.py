"""Edits of nodes and connections, and nodes as text for the clipboard; each edit is one undo step of the patch."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from app.edits.compatible import best_end, ends, spanning
from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.diagnostics import PatchError
from engine.figures import plural
from engine.patch.changes import Connection, PortRef, Position
from engine.patch.document import Patch
from engine.patch.files import dump_patch, parse_patch
from engine.patch.inner_patch import InnerPatch, owner_of
from engine.patch.regions import TOP

#: Positions are multiples of this number, so that nodes line up.
STEP = 8
#: The distance, to the right and down, of a copy from a node that it would cover.
_BESIDE = 24.0


def snapped(x: float, y: float) -> Position:
    """Return the nearest position on the canvas grid."""
    return round(x / STEP) * STEP, round(y / STEP) * STEP


def delete(patch: Patch, node_ids: Collection[str], connections: Collection[Connection]) -> None:
    """Remove nodes and connections."""
    with patch.edit(_delete_name(node_ids, connections)):
        for connection in connections:
            patch.disconnect(connection)
        for node in node_ids:
            if node in patch.nodes and not patch.is_end(node):  # the ends of a group are removed with it
                patch.remove(node)


def move(patch: Patch, positions: Mapping[str, Position], *, gesture: object = None) -> None:
    """Move nodes."""
    with patch.edit(f"Move {plural(len(positions), 'node')}", gesture=gesture):
        for node, position in positions.items():
            patch.move(node, position)


def connect(patch: Patch, start: PortRef, end: PortRef, picked_up: Connection | None = None) -> None:
    """Connect the two ports, replacing the connection whose end the person picked up.

    If that is refused, raise ConnectionRefused and change nothing.
    """
    source, target = ends(patch, start, end)
    patch.check_connection(source, target)
    with patch.edit(f"Connect {source} -> {target}"):
        if picked_up is not None and picked_up != Connection(source, target):
            patch.disconnect(picked_up)
        patch.connect(source, target)


def place(
    patch: Patch, block_type: type[Block], position: Position, start: PortRef | None = None, scope: str = TOP
) -> str:
    """Add a block to a scope, connect it to `start`, if given, and return the new node's id."""
    with patch.edit(f"Add {block_type.title}"):
        spec = patch.find_end(start) if start else None
        node = patch.add(block_type.id, position=position, region=scope)
        fitting = best_end(block_type, spec) if spec else None
        if start is not None and fitting is not None:
            patch.connect(*ends(patch, start, PortRef(node.id, fitting.name)))
    return node.id


def insert(
    patch: Patch,
    block_type: type[Block],
    position: Position,
    connection: Connection,
    scope: str = TOP,
    **chosen: Any,
) -> str:
    """Add a block between the ends of a connection, and return the new node's id. Raise PatchError if it doesn't fit.

    It goes into `scope` if one of the ends is in it, at any depth; otherwise into the innermost scope that holds both
    ends. `chosen` are values of its parameters.
    """
    regions = [patch.nodes[ref.node].region for ref in (connection.source, connection.target)]
    if not any(scope in patch.scopes.chain(region) for region in regions):
        scope = patch.scopes.common(regions)
    source, target = patch.find_end(connection.source), patch.find_end(connection.target)
    entry = best_end(block_type, source) if source else None
    exit_ = best_end(block_type, target) if target else None
    values: dict[str, Any] = {}
    if isinstance(target, ParameterSpec):
        values = spanning(block_type, target, patch.value(connection.target.node, connection.target.port))
    with patch.edit(f"Insert {block_type.title}"):
        node = patch.add(block_type.id, position=position, region=scope, **{**values, **chosen})
        if entry is not None and exit_ is not None:
            patch.connect(connection.source, PortRef(node.id, entry.name))
            patch.connect(PortRef(node.id, exit_.name), connection.target)
    return node.id


def cut(patch: Patch, connections: Iterable[Connection], name: str = "Cut") -> None:
    """Remove connections; the undo step is called "Cut 2 connections"."""
    found = list(connections)
    with patch.edit(f"{name} {plural(len(found), 'connection')}"):
        for connection in found:
            patch.disconnect(connection)


def set_parameter(patch: Patch, node_ids: Collection[str], name: str, value: object, *, gesture: object = None) -> None:
    """Set a parameter of nodes of one type. Raise a PatchError with the reason when the value is refused."""
    with patch.edit(f"Set {parameter_of(patch, node_ids, name)}", gesture=gesture):
        for node in node_ids:
            patch.set(node, **{name: value})


def reset_parameter(patch: Patch, node_ids: Collection[str], name: str) -> None:
    """Return a parameter of nodes of one type to its default."""
    with patch.edit(f"Reset {parameter_of(patch, node_ids, name)}"):
        for node in node_ids:
            patch.reset(node, name)


def parameter_of(patch: Patch, node_ids: Collection[str], name: str) -> str:
    """Return a parameter's name in the history: "gain of Blur", or "gain of 3 blocks"."""
    first = next(iter(node_ids))
    return f"{name} of {patch.title(first) if len(node_ids) == 1 else plural(len(node_ids), 'block')}"


def _delete_name(node_ids: Collection[str], connections: Collection[Connection]) -> str:
    parts = [plural(len(node_ids), "node")] if node_ids else []
    parts += [plural(len(connections), "connection")] if connections else []
    return f"Delete {' and '.join(parts)}"


def copied(patch: Patch, node_ids: Collection[str]) -> str:
    """Return some nodes and the connections between them as the text of a patch file."""
    return dump_patch(patch.excerpt(node_ids))


def paste(patch: Patch, text: str, at: Position | None = None, name: str = "Paste", scope: str = TOP) -> list[str]:
    """Add the nodes in `text` to a scope of the patch, as one undo step, and return their ids.

    Their top left corner goes to `at`, or is moved 24 to the right and down. The move is repeated while a node would
    exactly cover an existing one. Raise PatchError if `text` is no patch, or holds ops where blocks are expected.
    """
    part = parse_patch(text, "clipboard", patch.catalogue)
    if not part.nodes:
        raise PatchError("clipboard must hold nodes, got none")
    wanted = type(patch) if isinstance(patch, InnerPatch) else None
    got = owner_of({node.type for node in part.nodes.values()})
    if got is not wanted and not (got is None and wanted is not None and wanted.takes_blocks):
        held, given = (kind.holds if kind is not None else "blocks" for kind in (wanted, got))
        raise PatchError(f"clipboard must hold {held}, got {given}")
    left = min(node.position[0] for node in part.nodes.values())
    top = min(node.position[1] for node in part.nodes.values())
    dx, dy = (at[0] - left, at[1] - top) if at else (_BESIDE, _BESIDE)
    taken = {node.position for node in patch.nodes.values()}
    for _ in taken:
        if not any((node.position[0] + dx, node.position[1] + dy) in taken for node in part.nodes.values()):
            break
        dx, dy = dx + _BESIDE, dy + _BESIDE
    return list(patch.insert(part, offset=(dx, dy), name=name, region=scope).values())
