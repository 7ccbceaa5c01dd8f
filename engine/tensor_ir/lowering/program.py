"""`write_program`: writes the computation of some nodes as entries of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.entries import ServedParts
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.tensor_ir.errors import ExecutionFailed
from warploom.engine.tensor_ir.graph import TensorNode, reachable_nodes
from warploom.engine.tensor_ir.lowering.clusters import Cluster, find_clusters, stored_source
from warploom.engine.tensor_ir.lowering.elements import ElementKernel
from warploom.engine.tensor_ir.lowering.step import LoweringStep, shape_rule


class Store(NamedTuple):
    """A buffer that must hold a node. With `over`, the buffer holds that other node before, and is overwritten."""

    node: TensorNode
    target: BufferHandle
    over: TensorNode | None = None


def write_program(
    build: BlockBuilder, stores: Sequence[Store], placed: Mapping[TensorNode, BufferHandle], batch: str = "1"
) -> list[Sequence[TensorNode]]:
    """Write the computation of nodes from `placed` ones, which are in buffers, and store the results.

    Buffers of batched nodes have the batch as their first axis, followed by the type's `stored_shape`; `batch` is the
    number of examples, as an expression of shape rules. A buffer that is overwritten is read before. The result has the
    nodes that each written entry computes. An entry counts for the main parts of the nodes that it stores, and works
    for all their parts (`ServedParts`).
    """
    program = _Program(build, stores, placed, batch)
    program.write()
    return program.written


class _Order:
    """The order of clusters: after those that they read, and before those that overwrite what they read."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._clusters = clusters
        self.number_of = {node: number for number, cluster in enumerate(clusters) for node in cluster.nodes}
        self._after: list[set[int]] = [set() for _ in clusters]
        self._readers: dict[TensorNode, list[int]] = {}
        for number, cluster in enumerate(clusters):
            for node in cluster.reads:
                self._readers.setdefault(node, []).append(number)
                if node in self.number_of:
                    self._after[self.number_of[node]].add(number)

    def overwrite(self, over: TensorNode, node: TensorNode) -> bool:
        """Let a node overwrite another one. If the other is needed afterwards, change nothing and return False."""
        number = self.number_of[node]
        cluster = self._clusters[number]
        if cluster.reads.get(over, False):
            return False
        readers = [reader for reader in self._readers.get(over, ()) if reader != number]
        if readers and not self._follow(number).isdisjoint(readers):
            return False
        for reader in readers:
            self._after[reader].add(number)
        return True

    def run(self) -> list[Cluster]:
        """Return the clusters in order."""
        waits = [0] * len(self._clusters)
        for followers in self._after:
            for number in followers:
                waits[number] += 1
        ready = [number for number, count in enumerate(waits) if count == 0]
        found = []
        while ready:
            number = heappop(ready)
            found.append(self._clusters[number])
            for following in self._after[number]:
                waits[following] -= 1
                if waits[following] == 0:
                    heappush(ready, following)
        return found

    def _follow(self, number: int) -> set[int]:
        """Return the clusters that must come after a cluster."""
        found: set[int] = set()
        waiting = [number]
        while waiting:
            for following in self._after[waiting.pop()]:
                if following not in found:
                    found.add(following)
                    waiting.append(following)
        return found


class _Program:
    def __init__(
        self, build: BlockBuilder, stores: Sequence[Store], placed: Mapping[TensorNode, BufferHandle], batch: str
    ) -> None:
        self._build, self._stores, self._batch = build, stores, batch
        self._stored: dict[TensorNode, BufferHandle] = dict(placed)
        self._first = build.entry_count
        #: The nodes that each entry computes; empty for a copy.
        self.written: list[Sequence[TensorNode]] = []

    def write(self) -> None:
        wanted = [store.node for store in self._stores]
        order = reachable_nodes(wanted, self._stored.keys())
        for node in order:
            if node.type.size == 0:
                raise ExecutionFailed(f"tensors on a device must have elements, got none in {node!r}")
        clusters = find_clusters(order, self._stored.keys(), wanted)
        sequence = _Order(clusters)
        copies = self._assign(sequence)
        self._note([])
        for cluster in sequence.run():
            for node in cluster.nodes:
                if node not in self._stored:
                    self._stored[node] = self._buffer(node)
            if cluster.is_elementwise:
                self._write_elements(cluster)
            else:
                (node,) = cluster.nodes
                out = self._stored[node]
                node.operation.lower(LoweringStep(self._build, node, out, self._batch, self._next(), self._stored))
            self._note(cluster.nodes)
        for target, source in copies:
            self._build.copy(target, source)
        self._note([])

    def _note(self, stored: Sequence[TensorNode]) -> None:
        """Record the nodes of the entries since the last call, both stored and intermediate ones."""
        count = self._build.entry_count - self._first - len(self.written)
        if count:
            inside = reachable_nodes([other for node in stored for other in node.inputs], self._stored.keys())
            self.written += [[*inside, *stored]] * count
            told = dict.fromkeys(node.parts[0] for node in stored if node.parts)
            done = dict.fromkeys(part for node in (*stored, *inside) for part in node.parts if part not in told)
            if told:
                self._build.count_for(count, ServedParts(tuple(told), tuple(done)))

    def _assign(self, sequence: _Order) -> list[tuple[BufferHandle, BufferHandle]]:
        """Assign nodes the buffers that they are wanted in. Return the copies that are still needed at the end."""
        copies: list[tuple[BufferHandle, BufferHandle]] = []
        overwritten = {store.over for store in self._stores}
        for store in self._stores:
            node = stored_source(store.node)
            is_new = node not in self._stored
            if is_new and (store.over is None or sequence.overwrite(store.over, node)):
                self._stored[node] = store.target
                continue
            if is_new:
                self._stored[node] = self._buffer(node)
            source = self._stored[node]
            if node in overwritten and node is not store.over:
                kept = self._buffer(node)
                self._build.copy(kept, source)
                source = kept
            if node is not store.over:
                copies.append((store.target, source))
        return copies

    def _write_elements(self, cluster: Cluster) -> None:
        kernel = ElementKernel(cluster.nodes[0].type, self._stored, cluster.nodes)
        for node in cluster.nodes:
            kernel.write(node, self._stored[node])
        self._build.compute(kernel.made(), over=self._stored[cluster.nodes[0]], buffers=kernel.buffers)

    def _buffer(self, node: TensorNode) -> BufferHandle:
        return self._build.buffer(f"_t{self._next()}", node.type.stored_dtype, shape_rule(node.type, self._batch))

    def _next(self) -> int:
        return self._build.number()
