"""Edits of nodes and connections, and nodes as text for the clipboard; each edit is one undo step of the patch."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from warploom.app.edits.compatible import best_end, ends, reading, spanning
from warploom.app.edits.rects import free_shift
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.blocktypes.value_blocks import ValueBlock
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.rect import Rect
from warploom.engine.figures import plural
from warploom.engine.patch.changes import Connection, Mode, PortRef, Position
from warploom.engine.patch.contents import NodeRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.groups.flat import GROUP
from warploom.engine.patch.groups.functions import function_of, instances
from warploom.engine.patch.inner_patch import InnerPatch, owner_of
from warploom.engine.patch.organise.annotations import Dots, moved
from warploom.engine.patch.regions import TOP

#: Positions are multiples of this number, so that nodes line up.
STEP = 8
#: The distance, to the right and down, of a copy from a node that it would cover.
_BESIDE = 24.0
#: What the text of copied blocks of other programs has.
_OTHERS = {
    "ComfyUI": re.compile(r'"(?:class_type|last_node_id)"\s*:'),
    "vvvv": re.compile(r'xmlns:p="property"'),
    "Nuke": re.compile(r"^set cut_paste_input"),
}


def snapped(x: float, y: float) -> Position:
    """Return the nearest position on the canvas grid."""
    return round(x / STEP) * STEP, round(y / STEP) * STEP


def delete(
    patch: Patch, node_ids: Collection[str], connections: Collection[Connection], frames: Collection[str] = ()
) -> None:
    """Remove nodes, connections and frames. A node's chain is healed: what fed the node feeds what it fed."""
    with patch.edit(_delete_name(node_ids, connections, frames)):
        for frame in frames:
            patch.remove_annotation(f"frame {frame}")
        for connection in connections:
            patch.disconnect(connection)
        patch.remove([node for node in node_ids if not patch.is_end(node)], heal=True)  # ends go with their groups


def set_mode(patch: Patch, node_ids: Collection[str], mode: Mode) -> None:
    """Bypass or disable nodes, or use them again if all of them have this mode."""
    is_undone = all(patch.nodes[node].mode is mode for node in node_ids)
    patch.set_mode(list(node_ids), Mode.ACTIVE if is_undone else mode)


def insertion(patch: Patch, node: str, connection: Connection) -> tuple[PortRef, PortRef] | None:
    """Return the input and the output with which an unconnected node fits into a connection; None if it doesn't."""
    block_type = patch.block_type(node)
    source, target = patch.find_end(connection.source), patch.find_end(connection.target)
    if block_type is None or source is None or target is None or patch.connections_of(node):
        return None
    entry, exit_ = best_end(block_type, source), best_end(block_type, target)
    if entry is None or exit_ is None:
        return None
    return PortRef(node, entry.name), PortRef(node, exit_.name)


def put_into(patch: Patch, node: str, connection: Connection) -> None:
    """Put an unconnected node into a connection. Raise PatchError if it doesn't fit."""
    found = insertion(patch, node, connection)
    if found is None:
        raise PatchError(f"node to insert must fit into {connection}, got {node}")
    with patch.edit(f"Insert {patch.title(node)}"):
        patch.connect(connection.source, found[0])
        join(patch, found[1], connection.target)


def move(patch: Patch, positions: Mapping[str, Position], *, gesture: object = None) -> None:
    """Move nodes."""
    with patch.edit(f"Move {plural(len(positions), 'node')}", gesture=gesture):
        carry_dots(patch, positions)
        patch.move_nodes(positions)


def carry_dots(patch: Patch, positions: Mapping[str, Position]) -> None:
    """Move the dots of connections whose two ends will move by the same way, to `positions`, in the same edit."""

    def way(node: str) -> tuple[float, float] | None:
        (x, y), after = patch.nodes[node].position, positions.get(node)
        return (after[0] - x, after[1] - y) if after is not None else None

    for dots in patch.annotations_of(Dots):
        source = patch.source_of(PortRef(dots.node, dots.port))
        moved_by = way(dots.node)
        if source is not None and moved_by is not None and way(source.node) == moved_by:
            patch.annotate(moved(dots, moved_by))


def join(patch: Patch, source: PortRef, target: PortRef, *, is_given: bool = False) -> None:
    """Connect an output to an input or a parameter, and give a new driver the parameter's range (`spanning`).

    A driver is new if it drives nothing else, and nobody has set its range; `is_given` is that the range, though set,
    is that of the parameter that it drove before.
    """
    is_new = all(line.source.node != source.node for line in patch.connections_of(source.node))
    patch.connect(source, target)
    values = usual_values(patch, source.node) if is_new else {}
    if values and (is_given or not values.keys() & patch.nodes[source.node].parameters.keys()):
        patch.set(source.node, **values)


def usual_values(patch: Patch, node: str) -> dict[str, Any]:
    """Return the values that a driver has by the range of the first parameter that it drives, instead of defaults."""
    block_type = patch.block_type(node)
    for line in patch.connections_of(node) if block_type is not None and block_type.is_value else ():
        spec = patch.find_end(line.target) if line.source.node == node else None
        if isinstance(spec, ParameterSpec) and block_type is not None:
            best = best_end(block_type, spec)
            is_best = best is not None and best.name == line.source.port
            return spanning(block_type, spec, patch.value(line.target.node, line.target.port)) if is_best else {}
    return {}


def _has_usual_range(patch: Patch, node: str) -> bool:
    """Return whether a driver has the range of the parameter that it drives, wherever its handle is."""
    block_type = patch.block_type(node)
    handle = block_type.handle if block_type is not None and issubclass(block_type, ValueBlock) else ""
    usual = usual_values(patch, node)
    return bool(usual) and all(patch.value(node, name) == usual[name] for name in usual if name != handle)


def connect(
    patch: Patch,
    start: PortRef,
    end: PortRef,
    picked_up: Connection | None = None,
    settle: Callable[[str], object] | None = None,
) -> None:
    """Connect the two ports, replacing the connection whose end the person picked up.

    `settle` is called with the target's node, and may move blocks in the same undo step. If the connection is refused,
    raise ConnectionRefused and change nothing.
    """
    source, target = ends(patch, start, end)
    patch.check_connection(source, target)
    with patch.edit(f"Connect {source} -> {target}"):
        is_given = False
        if picked_up is not None and picked_up != Connection(source, target):
            is_given = picked_up.source == source and _has_usual_range(patch, source.node)
            patch.disconnect(picked_up)
        join(patch, source, target, is_given=is_given)
        if settle is not None:
            settle(target.node)


def place(
    patch: Patch,
    block_type: type[Block],
    position: Position,
    start: PortRef | None = None,
    scope: str = TOP,
    settled: Callable[[str], Position] | None = None,
) -> str:
    """Add a block to a scope, connect it to `start`, if given and fitting, and return the new node's id.

    `settled` returns the final place of the new node.
    """
    with patch.edit(f"Add {block_type.title}"):
        spec = patch.find_end(start) if start else None
        node = added(patch, block_type, position, scope, **reading(block_type, spec))
        fitting = best_end(patch.block_type(node.id) or block_type, spec) if spec else None
        if start is not None and fitting is not None:
            join(patch, *ends(patch, start, PortRef(node.id, fitting.name)))
        if settled is not None:
            patch.move(node, settled(node.id))
    return node.id


def insert(
    patch: Patch,
    block_type: type[Block],
    position: Position,
    connection: Connection,
    scope: str = TOP,
    settled: Callable[[str], Position] | None = None,
    **chosen: Any,
) -> str:
    """Add a block between the ends of a connection, and return the new node's id. Raise PatchError if it doesn't fit.

    It goes into `scope` if one of the ends is in it, at any depth; otherwise into the innermost scope that holds both
    ends. `settled` returns the final place of the new node, `chosen` are values of its parameters.
    """
    regions = [patch.nodes[ref.node].region for ref in (connection.source, connection.target)]
    if not any(scope in patch.scopes.chain(region) for region in regions):
        scope = patch.scopes.common(regions)
    source, target = patch.find_end(connection.source), patch.find_end(connection.target)
    with patch.edit(f"Insert {block_type.title}"):
        node = added(patch, block_type, position, scope, **reading(block_type, source), **chosen)
        placed = patch.block_type(node.id) or block_type
        entry = best_end(placed, source) if source else None
        exit_ = best_end(placed, target) if target else None
        if entry is not None and exit_ is not None:
            patch.connect(connection.source, PortRef(node.id, entry.name))
            join(patch, PortRef(node.id, exit_.name), connection.target)
        if settled is not None:
            patch.move(node, settled(node.id))
    return node.id


def add_instance(patch: Patch, name: str, position: Position, scope: str) -> str:
    """Add a group of a function, which has its blocks, and return it."""
    first = patch.nodes[instances(patch)[name][0]]
    offset = position[0] - first.position[0], position[1] - first.position[1]
    return patch.insert(patch.excerpt([first.id]), offset=offset, name=f"Add {name}", region=scope)[first.id]


def function_types(patch: Patch, scope: str) -> list[type[Block]]:
    """Return the patch's functions that may be added in a scope, by title; none may contain itself."""
    group = patch.group_at(scope)
    around = {function_of(patch.nodes[node]) for node in (group, *patch.groups_around(group))} if group else set()
    found = {name: patch.block_type(nodes[0]) for name, nodes in instances(patch).items() if name not in around}
    return [block_type for _, block_type in sorted(found.items()) if block_type is not None]


def added(patch: Patch, block_type: type[Block], position: Position, scope: str, **values: Any) -> NodeRef:
    """Add a block, or for the type of a function's groups, a group of that function."""
    if block_type.id == GROUP:
        return patch[add_instance(patch, block_type.title, position, scope)]
    return patch.add(block_type.id, position=position, region=scope, **values)


def cut(patch: Patch, connections: Iterable[Connection], name: str = "Cut") -> None:
    """Remove connections; the undo step is called "Cut 2 connections"."""
    found = list(connections)
    with patch.edit(f"{name} {plural(len(found), 'connection')}"):
        for connection in found:
            patch.disconnect(connection)


def set_parameter(patch: Patch, node_ids: Collection[str], name: str, value: object, *, gesture: object = None) -> None:
    """Set a parameter of nodes of one type. Raise a PatchError with the reason when the value is refused.

    A title that is the name of the file that a parameter names becomes that of the new file.
    """
    with patch.edit(f"Set {parameter_of(patch, node_ids, name)}", gesture=gesture):
        for node in node_ids:
            title = _file_name(patch, node, name)
            patch.set(node, **{name: value})
            if title and title == patch.nodes[node].title:
                patch.rename(node, _file_name(patch, node, name))


def _file_name(patch: Patch, node: str, name: str) -> str:
    """Return the name of the file that a parameter names; "" for one of another type."""
    block_type = patch.block_type(node)
    spec = block_type.parameters.get(name) if block_type is not None else None
    return PurePath(patch.value(node, name)).name if spec is not None and spec.type == "path" else ""


def paste_parameter(patch: Patch, node_ids: Collection[str], spec: ParameterSpec, text: str) -> None:
    """Set a parameter of nodes to a value that is given as text. Raise PatchError if it is none for the parameter."""
    value: object = text
    if spec.type in ("float", "int", "bool"):
        word = text.strip().lower()
        kinds: dict[str, Callable[[float], object]] = {"bool": bool, "int": round, "float": float}
        try:
            value = kinds[spec.type](float({"true": "1", "false": "0"}.get(word, word)))
        except (ValueError, OverflowError) as problem:
            raise PatchError(f"{parameter_label(spec.name)} must be a number, got {shown(text)}") from problem
    set_parameter(patch, node_ids, spec.name, value)


def reset_parameter(patch: Patch, node_ids: Collection[str], name: str) -> None:
    """Return a parameter of nodes of one type to its default, or to what the parameter that it drives asks for."""
    with patch.edit(f"Reset {parameter_of(patch, node_ids, name)}"):
        for node in node_ids:
            usual = usual_values(patch, node)
            if name in usual:
                patch.set(node, **{name: usual[name]})
            else:
                patch.reset(node, name)


def is_set(patch: Patch, node: str, name: str) -> bool:
    """Return whether a reset would change a parameter."""
    if name not in patch.nodes[node].parameters:
        return False
    try:
        usual = usual_values(patch, node)
    except PatchError:  # a mistake in the block's code, which a reset reports
        return True
    return name not in usual or patch.value(node, name) != usual[name]


def parameter_label(name: str) -> str:
    """Return a parameter's name as people read it: "field of view"."""
    return name.replace("_", " ")


def parameter_of(patch: Patch, node_ids: Collection[str], name: str) -> str:
    """Return a parameter's name in the history: "gain of Blur", or "gain of 3 blocks"."""
    first = next(iter(node_ids))
    return f"{parameter_label(name)} of {patch.title(first) if len(node_ids) == 1 else plural(len(node_ids), 'block')}"


def _delete_name(node_ids: Collection[str], connections: Collection[Connection], frames: Collection[str]) -> str:
    parts = [plural(len(node_ids), "node")] if node_ids else []
    parts += [plural(len(connections), "connection")] if connections else []
    parts += [plural(len(frames), "frame")] if frames else []
    return f"Delete {' and '.join(parts)}"


def copied(patch: Patch, node_ids: Collection[str], frames: Collection[str] = ()) -> str:
    """Return some nodes, the connections between them and frames as the text of a patch file."""
    return dump_patch(patch.excerpt(node_ids, frames))


def paste(
    patch: Patch,
    text: str,
    at: Position | None = None,
    name: str = "Paste",
    scope: str = TOP,
    size: Callable[[str], tuple[float, float]] | None = None,
    *,
    with_inputs: bool = False,
) -> list[str]:
    """Add the nodes in `text` to a scope of the patch, as one undo step, and return their ids.

    Their top left corner goes to `at`, or is moved 24 to the right and down. The move is repeated while a node would
    exactly cover an existing one. With `size`, which returns the size of a node, they go down or to the right until
    they cover none. With `with_inputs`, what feeds the nodes of this patch with the same ids feeds them, too.

    Raise PatchError if `text` is no patch, or holds ops where blocks are expected.
    """
    if '"schema"' not in text and (other := next((name for name, mark in _OTHERS.items() if mark.search(text)), "")):
        raise PatchError(f"clipboard must hold blocks of Warploom, got a patch of {other}; build it from blocks (Tab)")
    if not text.lstrip().startswith("{"):
        found = shown(text) if text.strip() else "nothing"
        raise PatchError(f"clipboard must hold blocks to paste, got {found}; copy blocks first")
    part = parse_patch(text, "clipboard", patch.catalogue)
    if not part.nodes:
        raise PatchError("clipboard must hold blocks to paste, got none; copy blocks first")
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
    with patch.edit(name):
        ids = patch.insert(part, offset=(dx, dy), name=name, region=scope)
        made = list(ids.values())
        if with_inputs:
            _feed_alike(patch, ids)
        if size is not None:
            uncover(patch, made, size)
    return made


def _feed_alike(patch: Patch, ids: Mapping[str, str]) -> None:
    """Let what feeds some nodes feed their copies, which `ids` names, too."""
    for old, new in ids.items():
        for line in patch.connections_of(old):
            if line.target.node == old and line.source.node not in ids:
                with suppress(PatchError):  # an input that may be fed only from its own region
                    patch.connect(line.source, PortRef(new, line.target.port))


def swap_inputs(patch: Patch, node: str) -> None:
    """Swap what feeds the first two connected inputs of a node; with one connected, it goes to the next free input.

    Raise PatchError if they don't fit there, or if there are no two inputs.
    """
    block_type = patch.block_type(node)
    names = [spec.name for spec in block_type.inputs()] if block_type is not None else []
    fed = {name: source for name in names if (source := patch.source_of(PortRef(node, name))) is not None}
    first = next(iter(fed), None)
    others = [name for name in fed if name != first] or [name for name in names if name != first]
    if first is None or not others:
        raise PatchError(f"block must have two inputs, one of them connected, to swap them, got {patch.title(node)}")
    after = [name for name in others if names.index(name) > names.index(first)]
    other = (after or others)[0]
    with patch.edit(f"Swap inputs of {patch.title(node)}"):
        for name in (first, other):
            if name in fed:
                patch.disconnect(Connection(fed[name], PortRef(node, name)))
        for name, place in ((first, other), (other, first)):
            if name in fed:
                patch.connect(fed[name], PortRef(node, place))


def reset_values(patch: Patch, node_ids: Collection[str]) -> None:
    """Return all numbers, switches and choices of nodes to their defaults; texts, files and code stay."""
    what = patch.title(next(iter(node_ids))) if len(node_ids) == 1 else plural(len(node_ids), "block")
    with patch.edit(f"Reset values of {what}"):
        for node in node_ids:
            block_type = patch.block_type(node)
            for name, spec in block_type.parameters.items() if block_type is not None else ():
                if (spec.type in ("float", "int", "bool") or spec.choices) and is_set(patch, node, name):
                    reset_parameter(patch, [node], name)


def uncover(patch: Patch, nodes: list[str], size: Callable[[str], tuple[float, float]]) -> None:
    """Move nodes down, right or up together, the least of these, so that they cover no other node of their group."""
    level = patch.group_of(nodes[0])
    own, moved = set(nodes), [node for node in nodes if patch.group_of(node) == level]
    rects = [Rect(*patch.nodes[node].position, *size(node)) for node in moved]
    others = [
        Rect(*node.position, *size(node.id))
        for node in patch.nodes.values()
        if node.id not in own and patch.group_of(node.id) == level
    ]
    dx, dy = free_shift(rects, others)
    if dx or dy:
        patch.move_nodes({node: (rect.x + dx, rect.y + dy) for node, rect in zip(moved, rects, strict=True)})
