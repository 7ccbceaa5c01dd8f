"""One-click remedies for diagnostics and refused connections, each one undo step."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from warploom.app.edits import nodes as node_edits
from warploom.app.edits.compatible import EXPRESSION, ends
from warploom.app.edits.drive import NodeSize, free_place
from warploom.app.edits.organise.room import make_room
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.diagnostics import Diagnostic, Mend, PatchError
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import Connection, Mode, PortRef, Position
from warploom.engine.patch.document import Patch
from warploom.engine.patch.rules import TypeMismatch, WouldCycle, fits, reached
from warploom.engine.types import NAMED, f32

#: The kind of a parameter for which a folder is chosen; patterns are typed.
FOLDER = "open images"
DELAY, COPY = "buffer.frame_delay", "buffer.copy"
#: The blocks that convert elements, with the parameter that chooses the type.
CONVERSIONS = {"buffer.convert": "dtype", "image.convert_pixels": "pixels"}
#: The conversion in op graphs.
CONVERT_OP = "op.convert"
#: Vectors of floats, whose components an expression names.
_FLOAT_VECTORS = ("float2", "float3", "float4")
#: The most buttons of one kind, so that a person can choose at a glance.
_MOST = 3


@dataclass(frozen=True)
class Remedy:
    """A button with one action: an `edit` of the patch, a `command` of the editor, a `search` for a port, or a
    `choose`.  `choose` lets the person choose a parameter's value.
    """

    title: str
    edit: Callable[[], object] | None = None
    command: str = ""
    search: PortRef | None = None
    choose: PortRef | None = None


_START = Remedy("Start the engine", command="restart_engine")
_AGAIN = Remedy("Try again", command="run_muted")


def remedies(patch: Patch, diagnostic: Diagnostic, size: NodeSize) -> list[Remedy]:
    """Return the one-click remedies of a problem; empty if none is known. `size` returns the size of blocks."""
    match diagnostic.mend:
        case Mend.TRUST:
            return [Remedy("Trust this folder" if diagnostic.file else "Trust this patch", command="trust")]
        case Mend.RESTART:
            return [_START]
        case Mend.TRY_AGAIN:
            return [_AGAIN]
        case Mend.LIFT_LIMIT:
            return [Remedy("Run without a time limit", command="lift_time_limit"), _AGAIN]
    if diagnostic.node not in patch.nodes or diagnostic.port is None:
        return []
    end = PortRef(diagnostic.node, diagnostic.port)
    source = patch.source_of(end)
    match diagnostic.mend:
        case Mend.CONNECT if source is not None and patch.nodes[source.node].mode is Mode.BYPASSED:
            # The formula of a bypassed block may have changed since, so that no input has its output's type.
            return [Remedy(f"Use {patch.title(source.node)} again", lambda: patch.set_mode(source.node, Mode.ACTIVE))]
        case Mend.CONNECT if patch.find_end(end) is not None:
            return [Remedy(f"Add {patch.catalogue.member} for {end.port} …", search=end)]
        case Mend.CHOOSE:
            return _choice(patch, end)
        case Mend.CONNECT_LIKE:
            return _likes(patch, end)
        case Mend.COPY if source is not None:
            return [_insertion(patch, COPY, Connection(source, end), size)]
        case Mend.CONVERT if source is not None and patch.catalogue.get(CONVERT_OP) is not None:
            return [_insertion(patch, CONVERT_OP, Connection(source, end), size, type=diagnostic.expected)]
        case Mend.CONVERT if source is not None:
            return list(_conversion(patch, source, end, diagnostic.found, size))
        case Mend.DISCONNECT if source is not None:
            return [Remedy("Delete the connection", lambda: patch.disconnect(Connection(source, end)))]
    return []


def _choice(patch: Patch, end: PortRef) -> list[Remedy]:
    """Return a button for a value that a person must give; memory can only be set from Python."""
    block_type = patch.block_type(end.node)
    spec = block_type.parameters.get(end.port) if block_type is not None else None
    if spec is None or spec.type == "external":
        return []
    what = "folder" if spec.files == FOLDER else "file"
    title = f"Choose a {what} …" if spec.files else f"Write the {node_edits.parameter_label(spec.name)} …"
    return [Remedy(title, choose=end)]


def connection_remedies(
    patch: Patch, start: PortRef, end: PortRef, picked_up: Connection | None, refused: PatchError, size: NodeSize
) -> list[Remedy]:
    """Return edits that would allow a refused connection; `size` returns the size of blocks on the canvas."""
    source, target = ends(patch, start, end)
    match refused:
        case WouldCycle() if isinstance(patch.find_end(target), PortSpec) and patch.catalogue.get(DELAY) is not None:
            return [Remedy("Insert Frame Delay", lambda: _delay(patch, source, target, picked_up, size))]
        case TypeMismatch() if isinstance(given := patch.find_end(source), PortSpec):
            if patch.nodes[target.node].type == EXPRESSION:
                return list(_other_reading(patch, source, target, picked_up, str(given.dtype)))
            return list(_conversion(patch, source, target, str(given.dtype), size))
    return []


def _other_reading(
    patch: Patch, source: PortRef, target: PortRef, picked_up: Connection | None, given: str
) -> Iterator[Remedy]:
    """Yield a button that lets a formula read elements of type `given` from an input that a person has named."""
    name, reads = target.port, patch.value(target.node, "reads")
    wanted, count = re.subn(rf"(?<!\w){name}(?!\w)(\s*:\s*\w+)?", f"{name}: {given}", reads, count=1)
    if given not in NAMED or not count:
        return

    def change() -> None:
        with patch.edit(f"Read {name} as {given}"):
            patch.set(target.node, reads=wanted)
            node_edits.connect(patch, source, target, picked_up)

    yield Remedy(f"Read {name} as {given}", change)


def _delay(patch: Patch, source: PortRef, target: PortRef, picked_up: Connection | None, size: NodeSize) -> None:
    """Feed back one frame late. The delay is placed to the left of the block that it feeds, in its region."""
    with patch.edit("Insert Frame Delay"):
        if picked_up is not None:
            patch.disconnect(picked_up)
        delay = patch.add(DELAY, region=patch.nodes[target.node].region)
        patch.move(delay.id, free_place(patch, delay.id, target.node, size))
        patch.connect(source, delay["x"])
        patch.connect(delay["out"], target)


def _likes(patch: Patch, end: PortRef) -> list[Remedy]:
    """Return a button for each buffer that enters the loop through a delayed input and could decide its shape."""
    block_type = patch.block_type(end.node)
    open_ones = [
        spec for spec in (block_type.inputs() if block_type else ()) if spec.optional and spec.name != end.port
    ]
    if not open_ones:
        return []
    like = PortRef(end.node, open_ones[0].name)
    loop = _loop(patch, end.node)
    entering = dict.fromkeys(c.source for c in patch.connections if c.target.node in loop and c.source.node not in loop)
    found = [
        Remedy(f"Connect {like.port} to {source}", partial(patch.connect, source, like))
        for source in entering
        if (spec := patch.find_end(source)) is not None and fits(spec, open_ones[0])
    ]
    return found[:_MOST] or [Remedy(f"Add a block for {like.port} …", search=like)]


def _loop(patch: Patch, node: str) -> set[str]:
    """Return the nodes that a node both feeds and is fed by."""
    after = reached(lambda n: [c.target.node for c in patch.connections_of(n) if c.source.node == n], [node])
    before = reached(lambda n: [c.source.node for c in patch.connections_of(n) if c.target.node == n], [node])
    return after.keys() & before.keys()


def _conversion(patch: Patch, source: PortRef, target: PortRef, given: str, size: NodeSize) -> Iterator[Remedy]:
    """Yield a button that converts elements of type `given`, if both ends carry single numbers or pixels.

    Of vectors of floats, where single numbers are taken, a formula takes the first component.
    """
    taken = patch.find_end(target)
    if isinstance(taken, PortSpec):
        for block, parameter in CONVERSIONS.items():
            block_type = patch.catalogue.get(block)
            choices = block_type.parameter(parameter).choices if block_type is not None else ()
            if given in choices and str(taken.dtype) in choices:
                yield _insertion(patch, block, Connection(source, target), size, **{parameter: str(taken.dtype)})
        is_single = taken.dtype == f32 or taken.dtype_rule == "number"
        if given in _FLOAT_VECTORS and is_single and patch.catalogue.get(EXPRESSION) is not None:
            yield _insertion(patch, EXPRESSION, Connection(source, target), size, expression="x.x")


def _insertion(patch: Patch, type_id: str, connection: Connection, size: NodeSize, **values: Any) -> Remedy:
    """Return a button that puts a block between two ends, which need not be connected yet.

    If the target is on the right and there is too little room, what follows moves. Otherwise, the block goes to the
    left of the target.
    """
    block_type, target = patch.catalogue.require(type_id), connection.target.node

    def rect(node: str) -> Rect:
        return Rect(*patch.nodes[node].position, *size(patch, node))

    def insert() -> None:
        def settled(new: str) -> Position:
            if rect(connection.source.node).right > rect(target).x:
                return free_place(patch, new, target, size)
            make_room(patch, new, connection, rect)
            return patch.nodes[new].position

        node_edits.insert(patch, block_type, patch.nodes[target].position, connection, settled=settled, **values)

    return Remedy(f"Insert {block_type.title}", insert)
