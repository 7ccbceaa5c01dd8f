"""Clusters: decides which nodes are stored, and which of those one kernel computes, with all nodes in between.

An element-wise node (`TensorOperation.is_elementwise`) needs no memory unless something else reads it. Such a node is
written into the kernels of all its readers. The remaining nodes are steps, and each step writes one node in its own
way. A cluster of stored nodes of one type is computed by one kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.types import Shape

#: The most nodes in a kernel, since the compile time grows with them and nodes are written recursively.
MOST_NODES = 96
#: The most outputs of a kernel.
MOST_OUTPUTS = 16
#: The most nodes that are computed again for every element that they are broadcast to.
MOST_REPEATED = 4


@dataclass
class Cluster:
    """Stored nodes that one kernel computes element by element, or a single node with a step of its own."""

    nodes: list[TensorNode]
    level: int
    is_elementwise: bool
    #: Stored nodes that the cluster reads, and whether it reads elements at other places than its own.
    reads: dict[TensorNode, bool] = field(default_factory=dict)
    size: int = 0


def find_clusters(
    order: Sequence[TensorNode], placed: Collection[TensorNode], wanted: Collection[TensorNode]
) -> list[Cluster]:
    """Return the clusters that compute the wanted nodes, each after those that it reads.

    `order` has the nodes to compute, each after its inputs; `placed` are nodes that are already stored.
    """
    clustering = _Clustering(order, placed)
    for node in wanted:
        clustering.store(node)
    return clustering.run()


def stored_source(node: TensorNode) -> TensorNode:
    """Return the node whose buffer also holds this node's elements: reshapes and copies move none."""
    while node.operation.keeps_elements:
        node = node.inputs[0]
    return node


class _Clustering:
    def __init__(self, order: Sequence[TensorNode], placed: Collection[TensorNode]) -> None:
        self._order, self._placed = order, placed
        self._stored: set[TensorNode] = set()
        #: For each node that is not stored, the nodes that its kernel computes for it, including the node itself.
        self._inside: dict[TensorNode, frozenset[TensorNode]] = {}

    def store(self, node: TensorNode) -> None:
        """Mark a node as stored, or the node that has the same elements."""
        node = stored_source(node)
        if node not in self._placed:
            self._stored.add(node)

    def run(self) -> list[Cluster]:
        for node in self._order:
            if not node.operation.is_elementwise(node):
                self._stored.add(node)
                taken = node.operation.takes_elements(node)
                for other in () if taken else node.inputs:
                    self.store(other)
        for node in self._order:
            self._look_inside(node)
        return self._group()

    def _look_inside(self, node: TensorNode) -> None:
        """Find the nodes that a kernel computes together with a node; store inputs if these are too many."""
        inside: set[TensorNode] = {node}
        for other in dict.fromkeys(node.inputs):
            if self._is_stored(other):
                continue
            within = self._inside[other]
            is_repeated = other.type.size < node.type.size or (node.type.batched and not other.type.batched)
            if is_repeated and not is_cheap(within):
                self._stored.add(other)
                continue
            inside |= within
        if len(inside) > MOST_NODES:
            for other in sorted(dict.fromkeys(node.inputs), key=lambda other: -len(self._inside.get(other, ()))):
                if not self._is_stored(other) and other.inputs:
                    self._stored.add(other)
                    inside -= self._inside[other]
                    if len(inside) <= MOST_NODES // 2:
                        break
            inside = {node}.union(*(self._inside[other] for other in node.inputs if not self._is_stored(other)))
        self._inside[node] = frozenset(inside)

    def _is_stored(self, node: TensorNode) -> bool:
        return node in self._stored or node in self._placed

    def _group(self) -> list[Cluster]:
        level: dict[TensorNode, int] = dict.fromkeys(self._placed, 0)
        clusters: list[Cluster] = []
        open_: dict[tuple[int, Shape, bool], Cluster] = {}
        for node in self._order:
            if node not in self._stored:
                continue
            is_elementwise = node.operation.is_elementwise(node)
            reads = self._reads(node)
            if not is_elementwise:
                at = 1 + max((level[other] for other in reads), default=0)
                clusters.append(Cluster([node], at, False, dict.fromkeys(reads, True)))
            else:
                at = max((self._after(node, other, level[other], moved) for other, moved in reads.items()), default=0)
                key = at, node.type.shape, node.type.batched
                cluster = open_.get(key)
                size = len(self._inside[node])
                if cluster is None or len(cluster.nodes) >= MOST_OUTPUTS or cluster.size + size > 2 * MOST_NODES:
                    cluster = open_[key] = Cluster([], at, True)
                    clusters.append(cluster)
                cluster.nodes.append(node)
                for other, moved in reads.items():
                    cluster.reads[other] = cluster.reads.get(other, False) or moved
                cluster.size += size
            level[node] = at
        for cluster in clusters:
            for node in cluster.nodes:
                cluster.reads.pop(node, None)
        # At each level, steps come before kernels, which may read the steps' results.
        return sorted(clusters, key=lambda cluster: (cluster.level, cluster.is_elementwise))

    def _after(self, node: TensorNode, other: TensorNode, level: int, moved: bool) -> int:
        """Return the level at which a kernel can compute a node that reads another stored node."""
        if other in self._placed or not other.operation.is_elementwise(other):
            return level
        same = (other.type.shape, other.type.batched) == (node.type.shape, node.type.batched)
        return level if same and not moved else level + 1

    def _reads(self, node: TensorNode) -> dict[TensorNode, bool]:
        """Return the stored nodes that a node is computed from, and whether elements at other places are read."""
        found: dict[TensorNode, bool] = {}
        waiting = [(node, False)]
        seen = set(waiting)
        while waiting:
            at, moved = waiting.pop()
            moved = moved or at.operation.moves_elements
            for other in at.inputs:
                if not at.operation.is_elementwise(at):
                    other = other if at.operation.takes_elements(at) else stored_source(other)
                if self._is_stored(other):
                    found[other] = found.get(other, False) or moved
                elif (other, moved) not in seen:
                    seen.add((other, moved))
                    waiting.append((other, moved))
        return found


def is_cheap(nodes: Collection[TensorNode]) -> bool:
    """True for a few nodes that a kernel computes faster than it could read their results."""
    counted = [node for node in nodes if node.inputs]
    return len(counted) <= MOST_REPEATED and all(node.operation.is_quick for node in counted)
