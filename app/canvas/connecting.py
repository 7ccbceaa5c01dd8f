"""Which ports fit a port: in the patch while a connection is dragged, and in the catalogue for the search."""

from __future__ import annotations

from engine.blocktypes.block import Block
from engine.blocktypes.ports import PortSpec
from engine.diagnostics import PatchError
from engine.patch.changes import Connection, PortRef
from engine.patch.document import Patch
from engine.patch.regions import Scopes, region_of
from engine.patch.rules import ConnectionRefused, check_types


def fitting_ports(patch: Patch, start: PortRef) -> set[PortRef]:
    """Return every port of the patch that a connection from `start` may end at.

    The same as asking `Patch.check_connection` for each port, with one walk along the connections for all of them.
    """
    spec = port_spec(patch, start)
    if spec is None:
        return set()
    before = _before(patch, start.node, backwards=not spec.is_input)
    return {
        PortRef(node, other.name)
        for node in patch.nodes
        if (block_type := patch.block_type(node)) is not None
        for is_orderly in (_is_orderly(patch.scopes, start.node, node, before),)
        for other in block_type.ports.values()
        if (is_orderly or (spec if spec.is_input else other).delayed) and fits(spec, other)
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
    spec = port_spec(patch, start)
    return (end, start) if spec is not None and spec.is_input else (start, end)


def fits(one: PortSpec, other: PortSpec) -> bool:
    """Return whether the two ports are an output and an input of types that go together."""
    if one.is_input == other.is_input:
        return False
    source, target = (other, one) if one.is_input else (one, other)
    try:
        check_types(Connection(PortRef("", source.name), PortRef("", target.name)), source, target)
    except ConnectionRefused:
        return False
    return True


def best_port(block_type: type[Block], other: PortSpec) -> PortSpec | None:
    """Return the port of a block type that `other` connects to best, or None when none fits.

    The same type goes before any type, and a required input before an optional one.
    """
    found = [spec for spec in block_type.ports.values() if fits(spec, other)]
    return min(found, key=lambda spec: (spec.dtype.kind == "any", spec.optional), default=None)


def port_spec(patch: Patch, ref: PortRef) -> PortSpec | None:
    """Return a port's declaration, or None when its block type is missing or has no such port."""
    block_type = patch.block_type(ref.node)
    return block_type.ports.get(ref.port) if block_type is not None else None


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
    ordering = [(c.source.node, c.target.node) for c in patch.connections if not _is_delayed(patch, c.target)]
    following: dict[str, list[str]] = {}
    for source, target in scopes.lifted(ordering):
        if backwards:
            source, target = target, source
        following.setdefault(source, []).append(target)
    seen = {start, *map(region_of, scopes.chain(patch.nodes[start].region))}
    waiting = list(seen)
    while waiting:
        for node in following.get(waiting.pop(), ()):
            if node not in seen:
                seen.add(node)
                waiting.append(node)
    return seen


def _is_delayed(patch: Patch, target: PortRef) -> bool:
    spec = port_spec(patch, target)
    return spec is not None and spec.delayed
