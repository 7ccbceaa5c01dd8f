"""In-place order: a block that changes its input's memory runs after all other readers of the old contents.

Contents are an output's data after its block has run. Several outputs share memory if blocks change it one after the
other; views are parts of it. Blocks that touch parts without a common byte need no order.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations

import msgspec
from msgspec.structs import replace

from warploom.engine.compiler.buffers import BufferPlan, Lifetime
from warploom.engine.compiler.description import GraphDescription, Nesting
from warploom.engine.compiler.operations import Place
from warploom.engine.diagnostics import Diagnostic, error
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.regions import region_of


def contents_of(description: GraphDescription, port: PortRef) -> PortRef:
    """Return the output whose contents a port shows: the port itself, or the source of a chain of views."""
    while (view := description.by_id[port.node].description.view_of.get(port.port)) is not None:
        port = description.source_of[PortRef(port.node, view.source)]
    return port


def merged_branches(
    description: GraphDescription, nesting: Nesting, changed: Iterable[PortRef]
) -> dict[PortRef, list[PortRef]]:
    """Return the outputs that a region's branches leave in the same memory; each is mapped to all of them, in order.

    Only one branch runs. Suppose that both branches change some contents in place. If one block outside reads the
    result of one branch, and another changes the result of the other branch, they touch the same memory. So they need
    an order, like two blocks that read and change one output. `changed` are the outputs that some block changes in
    place, as `contents_of` returns them.
    """
    changers: dict[PortRef, list[PortRef]] = {contents: [] for contents in changed}
    for target, source in description.source_of.items():
        if target.port in description.by_id[target.node].description.changed_inputs:
            changers[contents_of(description, source)].append(target)
    joined: dict[PortRef, list[PortRef]] = {}
    for contents in sorted(changers, key=_name):
        for one, other in combinations(sorted(changers[contents], key=_name), 2):
            region, same = nesting.lift(one.node, other.node)
            if region != same:
                continue
            left = [*_last(description, nesting, changers, one, region)]
            left += _last(description, nesting, changers, other, region)
            found = {version for port in left for version in joined.get(port, [port])}
            joined |= dict.fromkeys(found, sorted(found, key=_name))
    return joined


def _last(
    description: GraphDescription,
    nesting: Nesting,
    changers: dict[PortRef, list[PortRef]],
    changer: PortRef,
    region: str,
) -> Iterator[PortRef]:
    """Yield the final contents, at the end of the region, of the buffers that `changer` changes."""
    waiting = [changer]
    while waiting:
        port = waiting.pop()
        for spec in description.by_id[port.node].description.outputs:
            if spec.inplace == port.port:
                made = PortRef(port.node, spec.name)
                inside = [other for other in changers.get(made, ()) if nesting.holds(region, other.node)]
                waiting += inside
                if not inside:
                    yield made


def chained_by_orders(description: GraphDescription) -> GraphDescription:
    """Return a description in which blocks that change one output in place take it from each other, as orders say.

    Two such blocks need an order, and a connection shows none: both lead from the same output. An order of blocks in
    one scope decides, so the second changes what the first has made. Everything after this sees a chain of connections.
    """
    after = _closure(description.orders)
    if not after:
        return description
    connections = list(description.connections)
    for _ in connections:  # a block may move behind several others
        changers: dict[PortRef, list[PortRef]] = {}
        for each in connections:
            if _changed(description, each.target) is not None:
                changers.setdefault(each.source, []).append(each.target)
        moved = False
        for place, each in enumerate(connections):
            earlier = [
                port
                for port in changers.get(each.source, ())
                if each.target in changers[each.source] and _is_ordered(description, after, port.node, each.target.node)
            ]
            if earlier:
                last = max(earlier, key=lambda port: sum(port.node in after.get(other.node, ()) for other in earlier))
                made = _changed(description, last)
                assert made is not None
                connections[place], moved = Connection(made, each.target), True
        if not moved:
            break
    return replace(description, connections=tuple(connections))


def _closure(orders: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the blocks that orders put after each block, also by way of others."""
    following: dict[str, set[str]] = {}
    for first, then in orders:
        following.setdefault(first, set()).add(then)
    found: dict[str, set[str]] = {}
    for first in following:
        waiting, seen = [first], found.setdefault(first, set())
        while waiting:
            fresh = following.get(waiting.pop(), set()) - seen
            seen |= fresh
            waiting += fresh
    return found


def _is_ordered(description: GraphDescription, after: dict[str, set[str]], first: str, then: str) -> bool:
    """True for two blocks of one scope with an order between them, and no order the other way round."""
    known = description.by_id
    is_after = then in after.get(first, ()) and first not in after.get(then, ())
    return is_after and known[first].region == known[then].region


def _changed(description: GraphDescription, target: PortRef) -> PortRef | None:
    """Return the output that a block makes of an input by changing it in place; None if it doesn't change the input."""
    node = description.by_id.get(target.node)
    if node is None or target.port not in node.description.changed_inputs:
        return None
    return next(PortRef(target.node, spec.name) for spec in node.description.outputs if spec.inplace == target.port)


def _name(port: PortRef) -> tuple[str, str]:
    return port.node, port.port


REMEDY = "put a Copy block in front of one of them"


class InPlaceOrder(msgspec.Struct, frozen=True):
    """`before` must run before `after` changes `contents` in place; `before` reads them at `port`."""

    before: str
    after: str
    contents: PortRef
    port: PortRef


class _Access(msgspec.Struct, frozen=True):
    port: PortRef
    place: Place
    changes: bool
    delayed: bool


def in_place_order(
    description: GraphDescription, buffers: BufferPlan, nesting: Nesting
) -> tuple[list[InPlaceOrder], list[Diagnostic]]:
    """Return the order that in-place changes require, and errors where two blocks change the same contents."""
    wanted = {
        contents_of(description, source)
        for node in (description.nodes if any(kind.changed_inputs for kind in description.kinds) else ())
        for name in node.description.changed_inputs
        if (source := description.source_of.get(PortRef(node.id, name))) is not None
    }
    orders: list[InPlaceOrder] = []
    problems: list[Diagnostic] = []
    merged = {} if nesting.is_flat else merged_branches(description, nesting, wanted)
    for contents in sorted(wanted, key=lambda port: (port.node, port.port)):
        versions = merged.get(contents, [contents])
        if contents != next(version for version in versions if version in wanted):
            continue  # handled together with the others of its merge
        accesses = [access for version in versions for access in _accesses(description, buffers, version)]
        writers = [access for access in accesses if access.changes]
        for number, writer in enumerate(writers):
            root = writer.place.owner
            is_fed = root.port in description.by_id[root.node].description.feeds
            if is_fed or buffers.allocations[root].lifetime is Lifetime.PROVIDED:
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
    """Return the error of a reader that needs both the old contents and the result of the change."""
    return error(
        f"{order.before} must read {order.contents} before {order.after} changes it in place, "
        f"got a connection from {order.after} to {order.before}",
        node=order.before,
        port=order.port.port,
        remedy=f"put a Copy block between {order.contents} and {order.before}",
    )


def _accesses(description: GraphDescription, buffers: BufferPlan, contents: PortRef) -> list[_Access]:
    """Return every input that reads the contents, directly or through views, in the order of node ids."""
    found: list[_Access] = []
    waiting = [contents]
    while waiting:
        for target in description.targets_of.get(waiting.pop(), ()):
            block = description.by_id[target.node].description
            spec = block.rules.input_of[target.port].spec
            changes = target.port in block.changed_inputs
            if changes or target.port in block.read_inputs:
                found.append(_Access(target, buffers.blocks[target.node].places[target.port], changes, spec.delayed))
            waiting += [PortRef(target.node, view.target) for view in block.views if view.source == target.port]
    return sorted(found, key=lambda access: (access.port.node, access.port.port))


def _two_writers(contents: PortRef, first: PortRef, second: PortRef) -> Diagnostic:
    text = f"only one block may change {contents} in place, got {first.node} and {second.node}"
    return error(text, node=second.node, port=second.port, remedy=f"{REMEDY}, or let them run in order")


def _provided(contents: PortRef, writer: PortRef) -> Diagnostic:
    # An array is not uploaded for each frame, so a frame would change the previous frame's result.
    return error(
        f"contents of {contents} must stay as they are, got {writer.node}, which changes them in place",
        node=writer.node,
        port=writer.port,
        remedy=f"put a Copy block between {contents} and {writer.node}",
    )


def _counting(contents: PortRef, writer: PortRef) -> Diagnostic:
    return error(
        f"{contents} must stay as it is inside {contents.node}, which counts its turns with it, got {writer.node}, "
        "which changes it in place",
        node=writer.node,
        port=writer.port,
        remedy=f"put a Copy block between {contents} and {writer.node}",
    )


def _delayed(contents: PortRef, reader: PortRef, writer: PortRef) -> Diagnostic:
    return error(
        f"{contents} must stay as it is, since {reader} keeps it until the next frame, got {writer.node}, "
        "which changes it in place",
        node=writer.node,
        port=writer.port,
        remedy=f"put a Copy block between {contents} and {writer.node}, or connect {reader} to its output",
    )


def crossing_branches(description: GraphDescription, nesting: Nesting) -> list[Diagnostic]:
    """Return an error for each connection between the two branches of a region, which never run together."""
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
            remedy = "join the results of both branches with a Select block after the region"
            problems.append(error(text, node=target.node, port=target.port, remedy=remedy))
    return problems
