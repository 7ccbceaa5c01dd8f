"""Phase 4, order: sorts the blocks of each scope by their dependencies.

Connections decide most of the order, and in-place changes the rest. Within a scope, blocks are sorted by the number of
blocks that must come before them, then by node id. So the same description always gives the same order.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from warploom.engine.compiler.buffers import BufferPlan
from warploom.engine.compiler.checking.check import Checked
from warploom.engine.compiler.checking.dataflow import levels
from warploom.engine.compiler.description import GraphDescription, Nesting, connection_edges, order_edges
from warploom.engine.compiler.in_place import REMEDY, InPlaceOrder, crossing_branches, in_place_order, late_reader
from warploom.engine.diagnostics import Diagnostic, error

#: The blocks of each scope in execution order, by scope.
Order = dict[str, tuple[str, ...]]


def order_blocks(checked: Checked, buffers: BufferPlan, nesting: Nesting) -> tuple[Order, list[Diagnostic]]:
    """Return the blocks by scope, and errors where in-place changes or branches allow no order.

    The description's only cycles must be through delayed inputs.
    """
    description = checked.description
    in_place, problems = in_place_order(description, buffers, nesting)
    problems += crossing_branches(description, nesting)
    if problems:
        return {}, problems
    following: Mapping[str, Sequence[str]] = checked.dataflow.following
    level = checked.dataflow.level
    if not nesting.is_flat or any(kind.delayed_inputs for kind in description.kinds):
        following = _with_edges(dict.fromkeys(following, ()), connection_edges(description, nesting))
        level = _levels(following)
    if description.orders:
        following = _with_edges(following, order_edges(description, nesting))
        level = _levels(following)
        if len(level) < len(following):
            return {}, [_circular_order(description, following, nesting)]
    if in_place:
        level = _levels(_with_edges(following, [nesting.lift(order.before, order.after) for order in in_place]))
    if len(level) < len(following):
        return {}, _late_readers(following, in_place, nesting)
    scopes: dict[str, list[tuple[int, str]]] = {}
    for node in description.nodes:
        scopes.setdefault(node.region, []).append((level[node.id], node.id))
    return {scope: tuple([node for _, node in sorted(members)]) for scope, members in scopes.items()}, []


def _with_edges(following: Mapping[str, Sequence[str]], edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return `following` with more edges. An edge from a block to itself is left out."""
    found = {node: list(others) for node, others in following.items()}
    for before, after in edges:
        if before != after:
            found[before].append(after)
    return found


def _circular_order(
    description: GraphDescription, following: Mapping[str, Sequence[str]], nesting: Nesting
) -> Diagnostic:
    """Return the error where orders and connections allow no order together."""
    first, then = next((a, b) for a, b in order_edges(description, nesting) if _reaches(following, b, a))
    return error(
        f"{first} must run before {then}, as their order says, got {then} before {first}, as connections or other "
        "orders say",
        node=then,
        remedy=f"remove the order of {first} and {then}, or a connection between them",
    )


def _levels(following: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return levels(following, Counter(chain.from_iterable(following.values())))


def _late_readers(
    following: Mapping[str, Sequence[str]], in_place: list[InPlaceOrder], nesting: Nesting
) -> list[Diagnostic]:
    """Return the errors where connections allow an order but in-place changes allow none."""
    problems = []
    for order in in_place:
        before, after = nesting.lift(order.before, order.after)
        if _reaches(following, after, before):
            problems.append(late_reader(order))
    if not problems:
        node = min((order.after for order in in_place), default="")
        problems.append(
            error("blocks that change buffers in place must have an order, got a cycle", node=node, remedy=REMEDY)
        )
    return problems


def _reaches(following: Mapping[str, Sequence[str]], start: str, goal: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        if node == goal:
            return True
        fresh = set(following[node]) - seen
        seen |= fresh
        waiting += fresh
    return False
