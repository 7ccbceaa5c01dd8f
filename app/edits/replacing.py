"""Puts a block of another type in a node's place, with the values and connections that fit it."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from msgspec import structs

from warploom.app.edits.compatible import best_end, ends
from warploom.app.edits.nodes import added
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotations import PinnedViewer, RunOrder
from warploom.engine.patch.organise.osc import OscOut
from warploom.engine.patch.rules import End, ends_of


def ends_to_keep(patch: Patch, node_ids: Collection[str]) -> list[PortRef]:
    """Return the ports outside of some nodes that these are connected to, those that feed them first."""
    nodes = frozenset(node_ids)
    lines = dict.fromkeys(line for node in node_ids for line in patch.connections_of(node))
    fed = [line.source for line in lines if line.source.node not in nodes]
    return [*fed, *(line.target for line in lines if line.target.node not in nodes)]


def replace(patch: Patch, node_ids: Collection[str], block_type: type[Block]) -> tuple[list[str], int]:
    """Replace nodes by blocks of a type, as one undo step. Return their ids, and how many connections don't fit.

    A new node has the place, the marks (title, colour, comment) and the mode of the old one, and of its values and keys
    those of parameters with the same name that it can take. A connection goes to the port of the same name, or else to
    the one that fits best. Checks, viewers and OSC stay with ports of the same names, and orders stay; pins, which hold
    results, are removed.
    Raise PatchError for a region or a group, whose contents would be lost.
    """
    for node in node_ids:
        known = patch.block_type(node)
        if patch.is_group(node) or patch.is_end(node) or patch.members(node):
            raise PatchError(f"block to replace must hold no other blocks, got {patch.title(node)}")
        if known is block_type:
            raise PatchError(f"block must be replaced by one of another type, got {block_type.title}")
    what = patch.title(next(iter(node_ids))) if len(node_ids) == 1 else f"{len(node_ids)} blocks"
    with patch.edit(f"Replace {what} by {block_type.title}"):
        made = [_replace_one(patch, node, block_type) for node in node_ids]
    return [node for node, _ in made], sum(lost for _, lost in made)


def _replace_one(patch: Patch, node_id: str, block_type: type[Block]) -> tuple[str, int]:
    old, before = patch.nodes[node_id], patch.block_type(node_id)
    lines = patch.connections_of(node_id)
    driving = {line for line in lines if line.target.node == node_id and patch.is_value_connection(line)}
    checks = [(port.port, check) for port, check in patch.sentinels.items() if port.node == node_id]
    notes = [note for note in patch.annotations.values() if isinstance(note, OscOut | PinnedViewer | RunOrder)]
    patch.remove(node_id)
    new = added(patch, block_type, old.position, old.region).id
    if old.title:
        patch.rename(new, old.title)
    with suppress(PatchError):  # it is a colour of a newer version
        patch.set_colour(new, old.colour)
    patch.set_comment(new, old.comment)
    specs = before.parameters if before is not None else {}
    for name, value in old.parameters.items():
        spec = block_type.parameters.get(name)
        if spec is not None and (name not in specs or spec.type == specs[name].type):
            with suppress(PatchError):  # it is out of the new parameter's range
                patch.set(new, **{name: value})
    for name, keys in old.curves.items():
        if name in block_type.parameters:
            with suppress(PatchError):
                patch.animate(new, name, keys)
    with suppress(PatchError):  # it can't be bypassed
        patch.set_mode(new, old.mode)
    lost = sum(not made for made in _connected(patch, node_id, new, lines, driving))
    for port, check in checks:
        with suppress(PatchError):  # no such output is connected
            patch.set_sentinel(PortRef(new, port), **structs.asdict(check))
    for note in notes:
        _keep_note(patch, note, node_id, new)
    return new, lost


def _keep_note(patch: Patch, note: OscOut | PinnedViewer | RunOrder, old: str, new: str) -> None:
    """Let what is noted about an old node hold for a new one, if this has such a port."""
    with suppress(PatchError):  # they can't be ordered
        if isinstance(note, RunOrder):
            if old in (note.first, note.then):
                patch.order(*(new if node == old else node for node in (note.first, note.then)))
        elif note.node == old and patch.find_end(PortRef(new, note.port)) is not None:
            patch.annotate(structs.replace(note, node=new))


def _connected(
    patch: Patch, old: str, new: str, lines: Iterable[Connection], driving: Collection[Connection]
) -> Iterator[bool]:
    """Connect a new node as an old one was, and yield for each connection whether that could be done.

    Those that were `driving` parameters go to one of the same name only.
    """
    chosen = dict[tuple[bool, str], str]()
    for line in lines:
        is_input = line.target.node == old
        port, other = (line.target.port, line.source) if is_input else (line.source.port, line.target)
        block_type, spec = patch.block_type(new), patch.find_end(other)
        if block_type is None or spec is None:
            yield False
            continue
        wanted = [chosen.get((is_input, port), port)]
        if line not in driving:
            best = best_end(block_type, spec)
            wanted += [end.name for end in (best, *ends_of(block_type)) if end is not None and not _is_number(end)]
        taken = {name for (is_other, key), name in chosen.items() if is_other and is_input and key != port}
        name = next((name for name in wanted if name not in taken and _connect(patch, other, PortRef(new, name))), "")
        if name:
            chosen[is_input, port] = name
        yield bool(name)


def _is_number(end: End) -> bool:
    return isinstance(end, ParameterSpec)


def _connect(patch: Patch, one: PortRef, other: PortRef) -> bool:
    """Connect two ports if that is allowed and replaces no connection."""
    if patch.find_end(other) is None:
        return False
    source, target = ends(patch, one, other)
    try:
        patch.connect(source, target)
    except PatchError:
        return False
    return True
