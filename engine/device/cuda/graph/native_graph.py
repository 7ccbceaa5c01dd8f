"""A driver graph, with the driver's handles for the tree's graphs and nodes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.cuda.ownership import DriverObjects, Shared
from warploom.engine.device.nodes import ChildWork, NoWork
from warploom.engine.device.protocol import GraphNode
from warploom.engine.device.tree import ROOT, GraphTree

#: The longest chain of clones that look up their nodes through their originals.
MOST_ORIGINS = 8


class NativeGraph:
    """Owns a driver graph, which is destroyed when the last holder of `shared` drops it.

    The nodes of a clone are looked up only when needed, which is rare. The driver finds them through the nodes of the
    original. So the original stays alive until the clone is gone or has found all its nodes.

    `lock` is held during each driver call on the graph or one of its nodes. A graph and its clones share a lock.
    """

    def __init__(
        self, objects: DriverObjects, tree: GraphTree, handle: Any, lock: threading.RLock | None = None
    ) -> None:
        self.shared = Shared(objects, self._release)
        self.lock = lock or threading.RLock()
        #: The driver's graph for each graph of the tree; below, its nodes for each node. None if not looked up yet.
        self.graphs: list[Any] = [handle]
        self.nodes: list[list[Any] | None] = []
        self._objects, self._tree = objects, tree
        self._origin: NativeGraph | None = None
        self._generation = 0
        self._clones: weakref.WeakSet[NativeGraph] = weakref.WeakSet()

    def clone(self, tree: GraphTree) -> NativeGraph:
        """Return a clone that belongs to `tree`, a clone of this graph's tree."""
        if self._generation == MOST_ORIGINS:
            self._find_all()
        handle = check(driver.cuGraphClone(self.graphs[ROOT]), "cloning a graph")
        twin = NativeGraph(self._objects, tree, handle, self.lock)
        twin.graphs += [None] * (len(self.graphs) - 1)
        twin.nodes = [[] if isinstance(record.work, NoWork) else None for record in tree.nodes]
        twin._origin, twin._generation = self, self._generation + 1
        self.shared.hold()
        self._clones.add(twin)
        return twin

    def nodes_of(self, node: GraphNode) -> list[Any]:
        """Return the driver's nodes for a node of the tree."""
        found = self.nodes[node]
        if found is None:
            assert self._origin is not None
            graph = self.graph(self._tree.nodes[node].graph)
            found = self.nodes[node] = [
                check(driver.cuGraphNodeFindInClone(handle, graph), "finding a node of a graph in its clone")
                for handle in self._origin.nodes_of(node)
            ]
        return found

    def graph(self, number: int) -> Any:
        """Return the driver's graph for a graph of the tree."""
        handle = self.graphs[number]
        if handle is None:  # it must be a child graph, since bodies are never cloned
            owner = self._tree.owners[number]
            assert owner is not None
            (node,) = self.nodes_of(owner)
            handle = check(driver.cuGraphChildGraphNodeGetGraph(node), "cuGraphChildGraphNodeGetGraph")
            self.graphs[number] = handle
        return handle

    def find_in_clones(self, nodes: Iterable[GraphNode]) -> None:
        """Let the clones look up nodes that are about to be removed from this graph."""
        for twin in self._clones:
            for node in nodes:
                if node < len(twin.nodes):
                    twin.nodes_of(node)

    def _find_all(self) -> None:
        """Look up all nodes, so that the original is no longer needed."""
        for node in range(len(self.nodes)):
            self.nodes_of(GraphNode(node))
        for number, owner in enumerate(self._tree.owners):
            if owner is not None and isinstance(self._tree.nodes[owner].work, ChildWork):
                self.graph(number)
        self._let_go_of_origin()

    def _let_go_of_origin(self) -> None:
        if self._origin is not None:
            origin, self._origin, self._generation = self._origin, None, 0
            origin._clones.discard(self)
            origin.shared.drop()

    def _release(self) -> None:
        with self.lock:
            check(driver.cuGraphDestroy(self.graphs[ROOT]), "cuGraphDestroy")
            self._let_go_of_origin()
