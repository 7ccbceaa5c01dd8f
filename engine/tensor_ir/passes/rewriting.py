"""`rewrite`: a walk over a graph that replaces nodes by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from engine.tensor_ir.graph import TensorGraph, TensorNode, reachable_nodes
from engine.tensor_ir.passes.verification import is_barrier


class NodeUses:
    """How often each node is used while a graph is rewritten; a wanted node has one use more."""

    def __init__(self) -> None:
        self._counts: Counter[TensorNode] = Counter()

    def add(self, node: TensorNode, count: int) -> None:
        """Count more uses."""
        self._counts[node] += count

    def can_absorb(self, node: TensorNode) -> bool:
        """Whether its only user may compute it too: no one else needs its values, and gradients pass through it."""
        return self._counts[node] == 1 and not is_barrier(node)


#: Returns what replaces a node, or None to leave it. The node's inputs have been rewritten already.
RewriteRule = Callable[[TensorNode, NodeUses], TensorNode | None]


def rewrite(wanted: Sequence[TensorNode], rule: RewriteRule) -> list[TensorNode]:
    """Apply a rule to each node, inputs first, and return what the wanted nodes became.

    No node is changed: the dependents of a replaced node are made again. What a rule makes has the origin of the node
    that it replaces, and the last of it the name; it counts for the parts of all that it takes the place of.
    """
    order = reachable_nodes(wanted)
    counts = Counter(wanted)
    for node in order:
        counts.update(node.inputs)
    uses = NodeUses()
    became: dict[TensorNode, TensorNode] = {}
    for node in order:
        moved = rebuilt(node, became)
        became[node] = result = _replaced(moved, rule, uses)
        uses.add(result, counts[node])
    return [became[node] for node in wanted]


def _replaced(node: TensorNode, rule: RewriteRule, uses: NodeUses) -> TensorNode:
    nodes = node.graph.nodes
    before = len(nodes)
    result = rule(node, uses)
    if result is None or (result.number < node.number and is_barrier(node)):  # gradients would pass
        return node
    parts = _parts_of_replaced(node, nodes[before:], uses)
    for made in nodes[before:]:
        made.origin, made.parts = node.origin, parts
        made.requires_grad &= node.requires_grad
    if len(nodes) > before and result is nodes[-1] and not result.name:
        result.name = node.name
    return result


def _parts_of_replaced(node: TensorNode, made: Sequence[TensorNode], uses: NodeUses) -> tuple[str, ...]:
    """Return the parts of a node and of what only it is computed from, as far as the inputs of what replaces it."""
    ends = {other for each in made for other in each.inputs}
    found, waiting = [], [node] if made else []
    while waiting:
        at = waiting.pop()
        found.append(at)
        waiting += [other for other in at.inputs if other.inputs and other not in ends and uses.can_absorb(other)]
    return tuple(dict.fromkeys(part for each in reversed(found) for part in each.parts))


def rebuilt(node: TensorNode, became: Mapping[TensorNode, TensorNode]) -> TensorNode:
    """Return a node with other inputs, or itself when its inputs stay."""
    inputs = tuple([became.get(other, other) for other in node.inputs])
    if inputs == node.inputs:
        return node
    wants = None if node.requires_grad else False
    return node.graph.add(
        node.operation, inputs, name=node.name, requires_grad=wants, origin=node.origin, parts=node.parts
    )


def substitute(wanted: Sequence[TensorNode], values: Mapping[TensorNode, TensorNode]) -> list[TensorNode]:
    """Return the wanted nodes with other nodes in place of some of those that they are computed from."""
    became = dict(values)
    for node in reachable_nodes(wanted, known=set(values)):
        became[node] = rebuilt(node, became)
    return [became[node] for node in wanted]


def copied_nodes(
    wanted: Sequence[TensorNode], graph: TensorGraph, *, differentiable: bool = True
) -> dict[TensorNode, TensorNode]:
    """Copy what the wanted nodes are computed from to another graph, and return the copies by the nodes.

    Of copies that aren't `differentiable`, no gradient is wanted, so passes are free to change them.
    """
    became: dict[TensorNode, TensorNode] = {}
    for node in reachable_nodes(wanted):
        inputs = [became[other] for other in node.inputs]
        wants = node.requires_grad and differentiable
        became[node] = graph.add(
            node.operation, inputs, name=node.name, requires_grad=wants, origin=node.origin, parts=node.parts
        )
    return became
