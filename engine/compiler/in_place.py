"""In-place order: a block that changes its input's memory comes after every other reader of the same contents.

Contents are what an output holds when its block has run. Several outputs share one memory where blocks change it one
after the other; views look at parts of it. Blocks that touch parts without a common byte need no order.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from engine.compiler.buffers import BufferPlan, Lifetime, Place
from engine.compiler.description import GraphDescription
from engine.compiler.joining import contents_of, joined_versions
from engine.compiler.nesting import Nesting
from engine.diagnostics import Diagnostic, error
from engine.patch.changes import PortRef
from engine.patch.regions import region_of

REMEDY = "put a Copy block in front of one of them"


@dataclass(frozen=True)
class InPlaceOrder:
    """`before` must have run when `after` changes `contents` in place; `port` is where `before` reads them."""

    before: str
    after: str
    contents: PortRef
    port: PortRef


@dataclass(frozen=True)
class _Access:
    port: PortRef
    place: Place
    changes: bool
    delayed: bool


def in_place_order(
    description: GraphDescription,
    buffers: BufferPlan,
    nesting: Nesting,
    owners: Container[PortRef] | None = None,
) -> tuple[list[InPlaceOrder], list[Diagnostic]]:
    """Return what must come before what, and errors where two blocks change the same contents.

    With `owners`, only contents that lie in those buffers are looked at.
    """
    changing = [
        (node, spec)
        for node in description.nodes
        if node.description.changed_inputs
        for spec in node.description.inputs
        if spec.name in node.description.changed_inputs
    ]
    if owners is not None:
        places = buffers.places
        changing = [
            (node, spec)
            for node, spec in changing
            if (place := places.get(PortRef(node.id, spec.name))) is not None and place.owner in owners
        ]
    wanted = {
        contents_of(description, source)
        for node, spec in changing
        if (source := description.source_of.get(PortRef(node.id, spec.name))) is not None
    }
    orders: list[InPlaceOrder] = []
    problems: list[Diagnostic] = []
    together = {} if nesting.is_flat else joined_versions(description, nesting, wanted)
    for contents in sorted(wanted, key=lambda port: (port.node, port.port)):
        versions = together.get(contents, [contents])
        if contents != next(version for version in versions if version in wanted):
            continue  # they have been looked at together
        accesses = [access for version in versions for access in _accesses(description, buffers, version)]
        writers = [access for access in accesses if access.changes]
        for number, writer in enumerate(writers):
            if buffers.allocations[writer.place.owner].lifetime is Lifetime.PROVIDED:
                problems.append(_provided(contents, writer.port))
                continue
            if nesting.holds(contents.node, writer.port.node):
                problems.append(_counting(contents, writer.port))
                continue
            for access in accesses:
                if access is writer or not access.place.overlaps(writer.place):
                    continue
                first, second = nesting.lift(access.port.node, writer.port.node)
                if access.changes:
                    if first != second and access in writers[:number]:
                        problems.append(_two_writers(contents, access.port, writer.port))
                elif access.delayed:
                    problems.append(_delayed(contents, access.port, writer.port))
                elif first != second:
                    orders.append(InPlaceOrder(access.port.node, writer.port.node, contents, access.port))
    return orders, problems


def late_reader(order: InPlaceOrder) -> Diagnostic:
    """Return the error of a reader that also needs what the change gives."""
    return error(
        f"{order.before} must read {order.contents} before {order.after} changes it in place, "
        f"got a connection from {order.after} to {order.before}",
        node=order.before,
        port=order.port.port,
        remedy=f"put a Copy block between {order.contents} and {order.before}",
    )


def _accesses(description: GraphDescription, buffers: BufferPlan, contents: PortRef) -> list[_Access]:
    """Return every input that reads some contents, directly or through views, in the order of node ids."""
    found: list[_Access] = []
    waiting = [contents]
    while waiting:
        for target in description.targets_of.get(waiting.pop(), ()):
            block = description.by_id[target.node].description
            spec = block.rules.input_of[target.port].spec
            changes = target.port in block.changed_inputs
            if changes or target.port in block.read_inputs:
                found.append(_Access(target, buffers.places[target], changes, spec.delayed))
            waiting += [PortRef(target.node, view.target) for view in block.views if view.source == target.port]
    return sorted(found, key=lambda access: (access.port.node, access.port.port))


def _two_writers(contents: PortRef, first: PortRef, second: PortRef) -> Diagnostic:
    text = f"one block must change {contents} in place, got {first.node} and {second.node}"
    return error(text, node=second.node, port=second.port, remedy=REMEDY)


def _provided(contents: PortRef, writer: PortRef) -> Diagnostic:
    # They are uploaded once: every frame would change what the frame before left.
    return error(
        f"contents of {contents} must stay as they are, got {writer.node}, which changes them in place",
        node=writer.node,
        port=writer.port,
        remedy=f"put a Copy block between {contents} and {writer.node}",
    )


def _counting(contents: PortRef, writer: PortRef) -> Diagnostic:
    return error(
        f"{contents} must stay as it is inside {contents.node}, which counts with it, got {writer.node}, "
        "which changes it in place",
        node=writer.node,
        port=writer.port,
        remedy=f"put a Copy block between {contents} and {writer.node}",
    )


def _delayed(contents: PortRef, reader: PortRef, writer: PortRef) -> Diagnostic:
    return error(
        f"{reader} keeps {contents} until the next frame, so it must stay as it is, got {writer.node}, "
        "which changes it in place",
        node=writer.node,
        port=writer.port,
        remedy=f"put a Copy block between {contents} and {writer.node}, or connect {reader} to its output",
    )


def crossing_branches(description: GraphDescription, nesting: Nesting) -> list[Diagnostic]:
    """Return an error for each connection from one branch of a region to the other, which never runs with it."""
    if nesting.is_flat:
        return []
    problems = []
    for connection in description.connections:
        source, target = connection.source, connection.target
        up = nesting.chain(nesting.scope_of(source.node))
        down = nesting.chain(nesting.scope_of(target.node))
        depth = next((d for d, (a, b) in enumerate(zip(up, down, strict=False)) if a != b), None)
        if depth is not None and region_of(up[depth]) == region_of(down[depth]):
            text = f"{target} must be fed from its own branch or from outside {region_of(up[depth])}, got {source}"
            remedy = "join what both branches give with a Select block after the region"
            problems.append(error(text, node=target.node, port=target.port, remedy=remedy))
    return problems
