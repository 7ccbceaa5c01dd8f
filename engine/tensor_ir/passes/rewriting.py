"""`rewrite`: walks over a graph and replaces nodes by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, reachable_nodes
from warploom.engine.tensor_ir.passes.verification import is_barrier


class NodeUses:
    """The number of uses of each node while a graph is rewritten; being wanted counts as one use."""

    def __init__(self) -> None:
        self._counts: Counter[TensorNode] = Counter()

    def add(self, node: TensorNode, count: int) -> None:
        """Add to the number of uses."""
        self._counts[node] += count

    def can_absorb(self, node: TensorNode) -> bool:
        """Whether a node's only user may compute it too: nothing else reads it, and gradients pass through it."""
        return self._counts[node] == 1 and not is_barrier(node)


#: Returns the replacement of a node, or None to keep it. The node's inputs are already rewritten.
RewriteRule = Callable[[TensorNode, NodeUses], TensorNode | None]


def rewrite(wanted: Sequence[TensorNode], rule: RewriteRule) -> list[TensorNode]:
    """Apply a rule to each node, inputs first, and return the replacements of the wanted nodes.

    No node is changed: the dependents of a replaced node are created again. The nodes of a replacement have the origin
    of the node that they replace, and the last of them has its name. They count for the parts of all replaced nodes.
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
    if result is None or (result.number < node.number and is_barrier(node)):  # the replacement would let gradients pass
        return node
    parts = _parts_of_replaced(node, nodes[before:], uses)
    for made in nodes[before:]:
        made.origin, made.parts = node.origin, parts
        made.requires_grad &= node.requires_grad
    if len(nodes) > before and result is nodes[-1] and not result.name:
        result.name = node.name
    return result


def _parts_of_replaced(node: TensorNode, made: Sequence[TensorNode], uses: NodeUses) -> tuple[str, ...]:
    """Return the parts of a node and of those nodes that only it needs, down to the inputs of its replacement."""
    ends = {other for each in made for other in each.inputs}
    found, waiting = [], [node] if made else []
    while waiting:
        at = waiting.pop()
        found.append(at)
        waiting += [other for other in at.inputs if other.inputs and other not in ends and uses.can_absorb(other)]
    return tuple(dict.fromkeys(part for each in reversed(found) for part in each.parts))


def rebuilt(node: TensorNode, became: Mapping[TensorNode, TensorNode]) -> TensorNode:
    """Return a node with new inputs, or the node itself if its inputs are unchanged."""
    inputs = tuple([became.get(other, other) for other in node.inputs])
    if inputs == node.inputs:
        return node
    wants = None if node.requires_grad else False
    return node.graph.add(
        node.operation, inputs, name=node.name, requires_grad=wants, origin=node.origin, parts=node.parts
    )


def substitute(wanted: Sequence[TensorNode], values: Mapping[TensorNode, TensorNode]) -> list[TensorNode]:
    """Return the wanted nodes, recomputed with other nodes in place of some that they depend on."""
    became = dict(values)
    for node in reachable_nodes(wanted, known=set(values)):
        became[node] = rebuilt(node, became)
    return [became[node] for node in wanted]


def copied_nodes(
    wanted: Sequence[TensorNode], graph: TensorGraph, *, differentiable: bool = True
) -> dict[TensorNode, TensorNode]:
    """Copy the wanted nodes, and all nodes from which they are computed, to another graph. Return the copies by node.

    Copies that aren't `differentiable` need no gradient, so passes may change them freely.
    """
    became: dict[TensorNode, TensorNode] = {}
    for node in reachable_nodes(wanted):
        inputs = [became[other] for other in node.inputs]
        wants = node.requires_grad and differentiable
        became[node] = graph.add(
            node.operation, inputs, name=node.name, requires_grad=wants, origin=node.origin, parts=node.parts
        )
    return became
