"""The contents of a patch as plain structs (ports, nodes, connections, sentinels), and the changes of these.

Every edit is a list of changes, and each change has an inverse: undo applies the inverses in reverse order. The same
structs are sent to the engine's inbox, in this process or another.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.keys import Curve
from warploom.engine.patch.organise.annotations import Annotation, Dots, RunOrder
from warploom.engine.patch.organise.osc import OscOut
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.patch.positions import Position as Position


class PortRef(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A port of a node in a patch."""

    node: str
    port: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


class OwnPort(PortRef, frozen=True, gc=True, dict=True, eq=False):
    """A port that knows its patch. It equals the `PortRef` that represents it as data."""

    @classmethod
    def of(cls, patch: object, node: str, port: str) -> OwnPort:
        """Return a port of a node of a patch."""
        made = cls(node, port)
        made.__dict__["patch"] = patch
        return made

    @property
    def plain(self) -> PortRef:
        """The port as data."""
        return PortRef(self.node, self.port)

    @property
    def patch(self) -> object:
        """The patch."""
        return self.__dict__["patch"]

    def __eq__(self, other: object) -> bool:
        return self.plain == (other.plain if isinstance(other, OwnPort) else other)

    def __hash__(self) -> int:
        return hash(self.plain)


class Mode(StrEnum):
    """Whether a block runs (`engine.patch.organise.bypass`)."""

    ACTIVE = ""
    BYPASSED = "bypassed"  # left out; an input takes the place of its output
    DISABLED = "disabled"  # left out, and with it the blocks that need it


class Node(msgspec.Struct, kw_only=True, frozen=True):
    """A placed block: its type, its position on the canvas, and the parameters that were set.

    `region` is its scope: "" outside all regions, a region block's id for its body, "id.else" or "id.2" for another
    branch. `key` is the id of the block in another group of the same function that this one corresponds to; "" for its
    own id. `colour` is one of `COLOURS`, or "" for that of its category, and `comment` a note for people. `curves` are
    the keys of animated parameters. `extra` has fields of newer file formats, so that saving loses nothing.
    """

    id: str
    type: str
    version: int = 1
    title: str = ""
    region: str = ""
    position: Position = (0.0, 0.0)
    mode: Mode = Mode.ACTIVE
    key: str = ""
    colour: str = ""
    comment: str = ""
    parameters: dict[str, Any] = {}
    curves: dict[str, Curve] = {}
    extra: dict[str, Any] = {}


class Connection(msgspec.Struct, frozen=True, cache_hash=True):
    """An output port tied to an input port."""

    source: PortRef
    target: PortRef

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class SentinelAction(StrEnum):
    """The action for a wrong element."""

    MARK = "mark"  # mark the node with a diagnostic
    FREEZE = "freeze"  # also pause the engine after that very frame


class Sentinel(msgspec.Struct, frozen=True):
    """A check of the elements of an output; the connections from that output carry these elements.

    An element is wrong if one of its numbers is NaN (with `nan`), infinite (with `infinity`), less than `minimum` or
    greater than `maximum`. None means no bound.
    """

    nan: bool = True
    infinity: bool = True
    minimum: float | None = None
    maximum: float | None = None
    action: SentinelAction = SentinelAction.MARK

    @property
    def freezes(self) -> bool:
        """True when the engine pauses after a frame with a wrong element."""
        return self.action is SentinelAction.FREEZE

    @property
    def rule_text(self) -> str:
        """The rule for elements, such as "finite and from 0 to 1"."""
        low, high = (None if bound is None else f"{bound:.7g}" for bound in (self.minimum, self.maximum))
        rules = ["finite" if self.nan and self.infinity else "no NaN" if self.nan else "not infinite" * self.infinity]
        if low is not None and high is not None:
            rules.append(f"from {low} to {high}")
        else:
            rules.append(f"at least {low}" if low is not None else f"at most {high}" if high is not None else "")
        return " and ".join(filter(None, rules))


def make_sentinel(
    *, nan: object, infinity: object, minimum: object, maximum: object, action: object, where: str = "sentinel"
) -> Sentinel:
    """Return a sentinel with these fields. For an invalid field, raise a PatchError that begins with `where`."""
    for name, flag in (("nan", nan), ("infinity", infinity)):
        if not isinstance(flag, bool):
            raise PatchError(f"{where}: {name} must be True or False, got {shown(flag)}")
    low, high = _bound(where, "minimum", minimum), _bound(where, "maximum", maximum)
    if low is not None and high is not None and low > high:
        raise PatchError(f"{where}: minimum must be at most the maximum {high:.15g}, got {low:.15g}")
    if not isinstance(action, str) or action not in list(SentinelAction):
        raise PatchError(f"{where}: action must be one of {', '.join(SentinelAction)}, got {shown(action)}")
    if not (nan or infinity or low is not None or high is not None):
        raise PatchError(f"{where}: it must check NaN, infinity or a range, got nothing to check; remove it instead")
    return Sentinel(bool(nan), bool(infinity), low, high, SentinelAction(action))


def _bound(where: str, name: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # a whole number too large for a float
            number = math.inf
        if math.isfinite(number):
            return number
    raise PatchError(f"{where}: {name} must be a finite number, or None for no bound, got {shown(value)}")


def dump_sentinel(sentinel: Sentinel) -> dict[str, Any]:
    """Return a sentinel as a JSON object, without bounds that are not set."""
    fields: dict[str, Any] = {"nan": sentinel.nan, "infinity": sentinel.infinity}
    for name in ("minimum", "maximum"):
        bound = getattr(sentinel, name)
        if bound is not None:
            fields[name] = bound
    return {**fields, "action": str(sentinel.action)}


def parse_sentinel(fields: Mapping[str, Any], where: str) -> Sentinel:
    """Return the sentinel in a JSON object. If it is malformed, raise a PatchError that begins with `where`."""
    usual = {name: getattr(Sentinel(), name) for name in Sentinel.__struct_fields__}
    if unknown := sorted(fields.keys() - usual.keys()):
        raise PatchError(f"{where}: fields must be port, {', '.join(usual)}, got {shown(unknown[0])}")
    return make_sentinel(**{**usual, **fields}, where=where)


class NodeAdded(msgspec.Struct, frozen=True, tag=True):
    """A node was added to the patch."""

    node: Node


class NodeRemoved(msgspec.Struct, frozen=True, tag=True):
    """A node was removed from the patch, after its connections."""

    node: Node


class Connected(msgspec.Struct, frozen=True, tag=True):
    """A connection was made."""

    connection: Connection


class Disconnected(msgspec.Struct, frozen=True, tag=True):
    """A connection was removed."""

    connection: Connection


class ParameterChanged(msgspec.Struct, frozen=True, tag=True):
    """A parameter has a new value; None stands for the block type's default."""

    node: str
    parameter: str
    value: Any
    previous: Any


class CurveChanged(msgspec.Struct, frozen=True, tag=True):
    """A parameter has other keys; () stands for none."""

    node: str
    parameter: str
    keys: Curve
    previous: Curve


class NodeLooksChanged(msgspec.Struct, frozen=True):
    """A change of what only people see of a node."""

    node: str


class NodeMoved(NodeLooksChanged, frozen=True, tag=True):
    """A node was moved on the canvas."""

    position: Position
    previous: Position


class NodeRenamed(NodeLooksChanged, frozen=True, tag=True):
    """A node got another title; its id stays."""

    title: str
    previous: str


class NodeColoured(NodeLooksChanged, frozen=True, tag=True):
    """A node got another colour; "" stands for that of its category."""

    colour: str
    previous: str


class NodeCommented(NodeLooksChanged, frozen=True, tag=True):
    """A node got another comment; "" stands for none."""

    comment: str
    previous: str


class NodeRegionChanged(msgspec.Struct, frozen=True, tag=True):
    """A node was moved to another region, or out of all regions."""

    node: str
    region: str
    previous: str


class NodeModeChanged(msgspec.Struct, frozen=True, tag=True):
    """A node was bypassed, disabled, or put into use again."""

    node: str
    mode: Mode
    previous: Mode


class AnnotationChanged(msgspec.Struct, frozen=True, tag=True):
    """A frame, a bookmark, an order or another annotation changed; None stands for none of this key."""

    key: str
    value: Annotation | None
    previous: Annotation | None


class SentinelChanged(msgspec.Struct, frozen=True, tag=True):
    """The sentinel of an output changed; None stands for no check."""

    port: PortRef
    value: Sentinel | None
    previous: Sentinel | None


class BlockTypesChanged(msgspec.Struct, frozen=True, tag=True):
    """Block types were added, removed or changed; their nodes now show and run the new version. `types` are ids.

    The patch itself stays the same, so this is never part of an edit.
    """

    types: frozenset[str]


#: Changes that set one property of a node.
NodeChanged = (
    ParameterChanged
    | CurveChanged
    | NodeMoved
    | NodeRenamed
    | NodeColoured
    | NodeCommented
    | NodeRegionChanged
    | NodeModeChanged
)
#: Changes that set a property.
ValueChanged = NodeChanged | SentinelChanged | AnnotationChanged
Change = NodeAdded | NodeRemoved | Connected | Disconnected | ValueChanged | BlockTypesChanged


#: Changes that undo each other.
_OPPOSITES: dict[type[Change], type[Change]] = {
    NodeAdded: NodeRemoved,
    NodeRemoved: NodeAdded,
    Connected: Disconnected,
    Disconnected: Connected,
}
#: The field that holds the new value; `previous` holds the old one.
_NEW_VALUE: dict[type[Change], str] = {
    ParameterChanged: "value",
    SentinelChanged: "value",
    AnnotationChanged: "value",
    CurveChanged: "keys",
    NodeModeChanged: "mode",
    NodeMoved: "position",
    NodeRenamed: "title",
    NodeColoured: "colour",
    NodeCommented: "comment",
    NodeRegionChanged: "region",
}


#: The fields that say which property a change sets.
_WHICH: dict[type[Change], Callable[[Change], object]] = {
    ParameterChanged: attrgetter("node", "parameter"),
    CurveChanged: attrgetter("node", "parameter"),
    SentinelChanged: attrgetter("port"),
    AnnotationChanged: attrgetter("key"),
    NodeModeChanged: attrgetter("node"),
    NodeMoved: attrgetter("node"),
    NodeRenamed: attrgetter("node"),
    NodeColoured: attrgetter("node"),
    NodeCommented: attrgetter("node"),
    NodeRegionChanged: attrgetter("node"),
}


def nodes_of(change: Change) -> tuple[str, ...]:
    """Return the nodes that a change concerns; a change of block types names none."""
    if isinstance(change, NodeChanged):
        return (change.node,)
    match change:
        case NodeAdded(node) | NodeRemoved(node):
            return (node.id,)
        case Connected(connection) | Disconnected(connection):
            return (connection.source.node, connection.target.node)
        case SentinelChanged(port):
            return (port.node,)
        case AnnotationChanged(_, value, previous):
            known = value or previous
            if isinstance(known, RunOrder):
                return known.first, known.then
            return (known.node,) if isinstance(known, Dots | Pin | OscOut) else ()
    return ()


def inverse(change: Change) -> Change:
    """Return the change that undoes `change`; a change of block types can't be undone and is its own inverse."""
    if isinstance(change, ValueChanged):
        field = _NEW_VALUE[type(change)]
        return msgspec.structs.replace(change, **{field: change.previous, "previous": getattr(change, field)})
    opposite = _OPPOSITES.get(type(change))
    return change if opposite is None else opposite(*msgspec.structs.astuple(change))


def merged(first: Change, second: Change) -> Change:
    """Return one change that combines two with the same `what_is_set`."""
    field = _NEW_VALUE[type(first)]
    return msgspec.structs.replace(first, **{field: getattr(second, field)})


def applied(node: Node, change: NodeChanged) -> Node:
    """Return `node` after a change of one of its properties."""
    if isinstance(change, ParameterChanged):
        values = {**node.parameters, change.parameter: change.value}
        if change.value is None:
            del values[change.parameter]
        return msgspec.structs.replace(node, parameters=values)
    if isinstance(change, CurveChanged):
        curves = {**node.curves, change.parameter: change.keys}
        if not change.keys:
            del curves[change.parameter]
        return msgspec.structs.replace(node, curves=curves)
    field = _NEW_VALUE[type(change)]
    return msgspec.structs.replace(node, **{field: getattr(change, field)})


def for_node(change: NodeChanged, node: Node) -> Change | None:
    """Return the change that sets the same field of another node; None if the node has this value."""
    field = _NEW_VALUE[type(change)]
    previous = getattr(node, field)
    if getattr(change, field) == previous:
        return None
    return msgspec.structs.replace(change, node=node.id, previous=previous)


def what_is_set(change: Change) -> tuple[object, ...] | None:
    """Return a key for the property that a change sets; None for a change of nodes or connections."""
    kind = type(change)
    which = _WHICH.get(kind)
    return None if which is None else (kind, which(change))


def net_changes(changes: list[Change]) -> list[Change]:
    """Return the changes of an edit without connections that are removed and made again, or made and removed."""
    if len(changes) == 1:  # as each move of a slider
        return changes
    first: dict[Connection, Change] = {}
    last: dict[Connection, Change] = {}
    for change in changes:
        if isinstance(change, Connected | Disconnected):
            first.setdefault(change.connection, change)
            last[change.connection] = change
    if len(first) == len(last) == len(changes) or all(first[c] is last[c] for c in first):
        return changes
    others = {node for c in changes if not isinstance(c, Connected | Disconnected) for node in nodes_of(c)}
    gone = {
        c
        for c, change in last.items()
        if type(change) is not type(first[c]) and not {c.source.node, c.target.node} & others
    }
    return [c for c in changes if not (isinstance(c, Connected | Disconnected) and c.connection in gone)]
