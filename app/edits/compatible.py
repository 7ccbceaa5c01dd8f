"""What fits an end of a connection: in the patch while one is dragged, and in the catalogue for the search."""

from __future__ import annotations

from collections.abc import Iterable

from engine.blocktypes.block import Block
from engine.blocktypes.parameters import ParameterSpec
from engine.blocktypes.ports import PortSpec, ValueSpec
from engine.diagnostics import PatchError
from engine.patch.changes import Connection, PortRef
from engine.patch.document import Patch
from engine.patch.regions import Scopes, region_of
from engine.patch.rules import DRIVABLE, ConnectionRefused, End, check_types


def fitting_ports(patch: Patch, start: PortRef) -> set[PortRef]:
    """Return every port and parameter of the patch that a connection from `start` may end at.

    The same as asking `Patch.check_connection` for each, with one walk along the connections for all of them.
    """
    spec = end_of(patch, start)
    if spec is None:
        return set()
    if not isinstance(spec, PortSpec):
        return _fitting_values(patch, start, spec)
    before = _before(patch, start.node, backwards=not spec.is_input)
    by_type: dict[type[Block], list[End]] = {}
    return {
        PortRef(node, other.name)
        for node in patch.nodes
        if (block_type := patch.block_type(node)) is not None
        for is_orderly in (_is_orderly(patch.scopes, start.node, node, before),)
        for other in _that_fit(block_type, spec, by_type)
        if isinstance(other, PortSpec) and (is_orderly or (spec if spec.is_input else other).delayed)
    }


def _fitting_values(patch: Patch, start: PortRef, spec: ValueSpec | ParameterSpec) -> set[PortRef]:
    closing = _driving(patch, start.node, backwards=isinstance(spec, ValueSpec))
    by_type: dict[type[Block], list[End]] = {}
    return {
        PortRef(node, other.name)
        for node in patch.nodes
        if node not in closing and (block_type := patch.block_type(node)) is not None
        for other in _that_fit(block_type, spec, by_type)
    }


def refusal(patch: Patch, start: PortRef, end: PortRef) -> str | None:
    """Return why a connection dragged from `start` to `end` is refused, or None when it may be made."""
    try:
        patch.check_connection(*ends(patch, start, end))
    except PatchError as problem:
        return str(problem)
    return None


def ends(patch: Patch, start: PortRef, end: PortRef) -> tuple[PortRef, PortRef]:
    """Return (source, target) of a connection that was dragged from `start`, whichever that is."""
    spec = end_of(patch, start)
    return (end, start) if spec is not None and is_target(spec) else (start, end)


def fits(one: End, other: End) -> bool:
    """Return whether the two are a source and a target of types that go together."""
    if is_target(one) == is_target(other):
        return False
    source, target = (other, one) if is_target(one) else (one, other)
    try:
        check_types(Connection(PortRef("", source.name), PortRef("", target.name)), source, target)
    except ConnectionRefused:
        return False
    return True


def best_end(block_type: type[Block], other: End) -> End | None:
    """Return the port, value output or parameter of a block type that `other` connects to best, or None.

    The same type goes before any type or one that is converted, and a required input before an optional one.
    """
    return min(_that_fit(block_type, other, {}), key=lambda spec: _preference(spec, other), default=None)


def is_exact(one: End, other: End) -> bool:
    """Return whether of two that fit neither takes just any type, nor another one that is converted."""
    return _preference(one, other)[0] is False


def end_of(patch: Patch, ref: PortRef) -> End | None:
    """Return the declaration of a port, value output or parameter, or None when the node's type has none."""
    block_type = patch.block_type(ref.node)
    if block_type is None:
        return None
    name = ref.port
    return block_type.ports.get(name) or block_type.values_out.get(name) or block_type.parameters.get(name)


def ends_of(block_type: type[Block]) -> Iterable[End]:
    """Return everything of a block type that a connection may lead to or from, or is refused with a reason."""
    return (*block_type.ports.values(), *block_type.values_out.values(), *block_type.parameters.values())


def is_target(end: End) -> bool:
    """Return whether connections lead to this end, not from it."""
    return isinstance(end, ParameterSpec) or (isinstance(end, PortSpec) and end.is_input)


def is_drivable(spec: ParameterSpec) -> bool:
    """Return whether a value may drive a parameter."""
    return spec.type in DRIVABLE and not spec.structural


def _preference(spec: End, other: End) -> tuple[bool, bool]:
    if isinstance(spec, PortSpec):
        return spec.dtype.kind == "any", spec.optional
    return (spec.type == "bool") != (not isinstance(other, PortSpec) and other.type == "bool"), False


def _that_fit(block_type: type[Block], other: End, known: dict[type[Block], list[End]]) -> list[End]:
    """Return the ends of a block type that fit `other`; `known` keeps the answer, since many nodes share a type."""
    if block_type not in known:
        known[block_type] = [end for end in ends_of(block_type) if fits(other, end)]
    return known[block_type]


def _is_orderly(scopes: Scopes, start: str, node: str, before: set[str]) -> bool:
    """Return whether a connection between `start` and `node` closes no cycle and stays in one branch of a region."""
    a, b = scopes.lift(start, node)
    if a == b:
        return start != node and a in (start, node)
    return b not in before


def _before(patch: Patch, start: str, *, backwards: bool) -> set[str]:
    """Blocks that `start`, or a region around it, depends on (backwards), or that depend on it; itself included.

    A region stands for what lies in it, seen from outside, as the patch's rules see it.
    """
    scopes = patch.scopes
    ordering = [(c.source.node, c.target.node) for c in patch.connections if _orders(patch, c)]
    first = {start, *map(region_of, scopes.chain(patch.nodes[start].region))}
    return _reached(first, scopes.lifted(ordering), backwards=backwards)


def _driving(patch: Patch, start: str, *, backwards: bool) -> set[str]:
    """Blocks whose values `start` is made from (backwards), or that are made from its values; itself included."""
    pairs = [(c.source.node, c.target.node) for c in patch.connections if patch.is_value_connection(c)]
    return _reached({start}, pairs, backwards=backwards)


def _reached(first: set[str], pairs: Iterable[tuple[str, str]], *, backwards: bool) -> set[str]:
    following: dict[str, list[str]] = {}
    for source, target in pairs:
        if backwards:
            source, target = target, source
        following.setdefault(source, []).append(target)
    seen, waiting = set(first), list(first)
    while waiting:
        for node in following.get(waiting.pop(), ()):
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


def _orders(patch: Patch, connection: Connection) -> bool:
    """Return whether the target of a connection runs after its source."""
    spec = end_of(patch, connection.target)
    return not (isinstance(spec, PortSpec) and spec.delayed) and not patch.is_value_connection(connection)
