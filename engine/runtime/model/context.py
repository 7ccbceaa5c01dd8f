"""`CudaContext`: a facade over everything the engine keeps between frames, and the one place that wires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from engine.blocktypes.block import Block
from engine.catalogue.catalogue import Catalogue
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.frame import Frame
from engine.device.device import Device
from engine.diagnostics import Diagnostic
from engine.patch.changes import (
    BlockTypesChanged,
    Change,
    Connected,
    Connection,
    Disconnected,
    NodeAdded,
    NodeMoved,
    NodeRegionChanged,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
)
from engine.patch.rules import is_value_connection
from engine.runtime.memory.buffer_pool import BufferPool
from engine.runtime.memory.state_store import StateStore
from engine.runtime.model.block_registry import BlockRegistry
from engine.runtime.model.dangling_connections import without_dangling
from engine.runtime.model.dirty_tracker import DirtyTracker
from engine.runtime.model.live_writes import HotParameters
from engine.runtime.model.module_cache import ModuleCache, stale_kernels, unusable_kernels
from engine.values.value_graph import ValueGraph

# The connection graph: the engine's copy of which output feeds which input.


class ConnectionGraph:
    """The connections in the order in which they came. `on_change` hears the connection that came or went."""

    def __init__(self, on_change: Callable[[Connection], None]) -> None:
        self._on_change = on_change
        self._connections: dict[Connection, None] = {}

    def connect(self, connection: Connection) -> None:
        """Add a connection."""
        self._connections[connection] = None
        self._on_change(connection)

    def disconnect(self, connection: Connection) -> None:
        """Take a connection away."""
        del self._connections[connection]
        self._on_change(connection)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._connections

    def all(self) -> tuple[Connection, ...]:
        """Return every connection."""
        return tuple(self._connections)


class CudaContext:
    """Block registry, connection graph, value graph, dirty tracker, buffer pool, module cache and state of one device.

    The name is CUDA's because what it keeps is for one CUDA graph; the device may be the host. `folder` tells where
    the patch's relative paths start.
    """

    def __init__(self, device: Device, catalogue: Catalogue, folder: Callable[[], Path]) -> None:
        self.device = device
        self.folder = folder
        #: The nodes whose block came, went or is another since `take_changed_blocks` was called last.
        self.changed_blocks: set[str] = set()
        self.dirty = DirtyTracker()
        #: Live parameters that are being changed; whoever has a value asks it first.
        self.hot = HotParameters()
        self.registry = BlockRegistry(catalogue, self._block_changed, folder)
        self._dangling: list[Diagnostic] = []
        #: What nodes that were removed had: the graph that runs may hold it when there are others of their names.
        self._gone: dict[str, Mapping[str, object]] = {}
        self.connections = ConnectionGraph(self._connection_changed)
        self.value_graph = ValueGraph(self._block, self._drive)
        self.pool = BufferPool(device)
        self.modules = ModuleCache(device)
        self.states = StateStore(self.pool, device)
        #: What is done beside the frames, by the worker.
        self.side = device.create_stream()
        self.frame = device.pinned(np.zeros(1, Frame.numpy))
        self.frame_memory = self.pool.acquire(Frame.size_bytes)

    def apply(self, change: Change) -> None:
        """Follow one change of the patch."""
        match change:
            case NodeAdded(node):
                self.registry.register(node)
                self._mark_values(node.id, self._gone.pop(node.id, None))
            case NodeRemoved(node):
                self._gone[node.id] = block.values if (block := self._block(node.id)) is not None else {}
                self.registry.unregister(node.id)
            case Connected(connection):
                if self._is_value_connection(connection):
                    self.value_graph.connect(connection)
                else:
                    self.connections.connect(connection)
            case Disconnected(connection):
                if self.value_graph.has(connection):
                    self.value_graph.disconnect(connection)
                else:
                    self.connections.disconnect(connection)
            case ParameterChanged(node_id, parameter, value):
                self._set_parameter(node_id, parameter, value)
            case NodeRegionChanged(node_id, region):
                self.registry.set_region(node_id, region)
            case BlockTypesChanged(types):
                self._redefine(types)
            case NodeMoved() | NodeRenamed():
                pass  # nothing to run differently

    def settle(self) -> None:
        """Follow on the engine's thread what describing did beside it: blocks that were succeeded by newer versions."""
        succeeded = self.registry.take_succeeded()
        if succeeded:
            self.value_graph.rewire()
            self._reroute()
            self.value_graph.drive_again()  # values of the present frame have been computed already
        for node_id, names in succeeded.items():
            block = self._block(node_id)
            assert block is not None  # the engine removes no block while others are described
            for name in names:
                self.dirty.mark_parameter(node_id, name, block.values[name])  # what drives it, or what the patch says

    def take_changed_blocks(self) -> set[str]:
        """Return the nodes whose block came, went or is another since the last call."""
        taken, self.changed_blocks = self.changed_blocks, set()
        return taken

    def is_light(self, change: Change) -> bool:
        """True for a change of nothing that is built, which may be followed while a build is under way."""
        match change:
            case ParameterChanged(node_id, parameter):
                block = self._block(node_id)
                return block is not None and (block.is_value or self.registry.is_live(node_id, parameter))
            case Connected(connection):
                there = self._block(connection.source.node) and self._block(connection.target.node)
                return there is not None and self._is_value_connection(connection)
            case Disconnected(connection):
                return self.value_graph.has(connection)
        return False

    def description(self) -> GraphDescription:
        """Return the graph as the described blocks and the connections make it.

        A block that could not be described is not among its nodes, but its connections are, so that what depends on
        it is known. Connections at ports that are gone are left out, which `notices` tells.
        """
        nodes = [
            BlockNode(node_id, placed.description, placed.node.region)
            for node_id, placed in self.registry.placed.items()
            if placed.description is not None
        ]
        graph = GraphDescription(tuple(nodes), self.connections.all())
        kept, self._dangling = without_dangling(graph.by_id, graph.connections)
        return GraphDescription(graph.nodes, kept) if self._dangling else graph

    def notices(self) -> list[Diagnostic]:
        """Return what keeps newest versions of blocks, single values and connections out of what runs nevertheless.

        Of connections as they were when `description` was last called.
        """
        return [*self.registry.notices(), *self._dangling]

    def values(self) -> Mapping[str, Mapping[str, object]]:
        """Return every block's parameter values by node and name."""
        return {
            node_id: placed.block.values for node_id, placed in self.registry.placed.items() if placed.block is not None
        }

    def block_problems(self, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
        """Return what is wrong with single blocks: their type, their description, kernels that never compiled.

        `nodes` are the described blocks, those inside composites among them.
        """
        found = [problem for placed in self.registry.placed.values() for problem in placed.problems]
        return found + unusable_kernels(self.modules, nodes)

    def stale_kernels(self, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
        """Return the errors of kernels whose newest version does not compile; their last good version runs."""
        return stale_kernels(self.modules, nodes)

    def close(self) -> None:
        """Free everything on the device, each part whatever it says of another."""
        self.value_graph.close()
        with ExitStack() as closing:  # the last first
            for give_back in (self.pool.close, self.side.destroy, self.modules.close, self.frame.free):
                closing.callback(give_back)

    def _set_parameter(self, node_id: str, parameter: str, value: object) -> None:
        block = self._block(node_id)
        spec = block.parameters.get(parameter) if block is not None else None
        if spec is not None and self.value_graph.is_driven(node_id, parameter):
            with self.value_graph.undriven(node_id, parameter):
                self.registry.set_parameter(node_id, parameter, value)
            return
        self.registry.set_parameter(node_id, parameter, value)
        if block is None or spec is None:
            return
        if block.is_value:
            self.value_graph.set_parameter(structural=spec.structural)
        elif spec.structural:
            self.dirty.mark_structure(f"{parameter} of {node_id}", nodes=(node_id,))
        else:
            self.hot.leave(node_id, parameter)
            self.dirty.mark_parameter(node_id, parameter, block.values[parameter])

    def _drive(self, node_id: str, parameter: str, value: object) -> None:
        if not self.hot.drive(node_id, parameter, value):
            self.dirty.mark_parameter(node_id, parameter, value)

    def _block(self, node_id: str) -> Block | None:
        placed = self.registry.placed.get(node_id)
        return placed.block if placed is not None else None

    def _block_changed(self, node_id: str) -> None:
        """Follow a block that came, went, or is another now: values need no rebuild."""
        self.changed_blocks.add(node_id)
        block = self._block(node_id)
        if block is not None and block.is_value:
            self.value_graph.place(node_id)
        elif not (self.value_graph.remove(node_id) and block is None):
            self.value_graph.rewire(node_id)  # what drives its parameters has to find them again
            gone = "" if node_id in self.registry.placed else "removed "
            self.dirty.mark_structure(f"{gone}block {node_id}", nodes=(node_id,))

    def _connection_changed(self, connection: Connection) -> None:
        nodes = (connection.target.node, connection.source.node)
        gone = "" if connection in self.connections else "removed "
        self.dirty.mark_structure(f"{gone}connection {connection}", nodes=nodes)

    def _redefine(self, types: frozenset[str]) -> None:
        replaced, pending = self.registry.redefine(types, self.value_graph.said)
        if replaced or pending:
            self.dirty.mark_structure(f"new version of {', '.join(sorted(types))}", "block file")
        for node_id in replaced:
            self._block_changed(node_id)
        if replaced:
            self._reroute()
            self.value_graph.drive_again()
        for node_id in replaced:
            self._mark_values(node_id, {})

    def _mark_values(self, node_id: str, before: Mapping[str, object] | None) -> None:
        """Have the graph that runs be told a block's values: it may go on with those of one `before`."""
        block = self._block(node_id)
        if before is None or block is None or block.is_value:
            return
        for name, spec in block.parameters.items():
            if not spec.structural and (name not in before or before[name] != block.values[name]):
                self.dirty.mark_parameter(node_id, name, block.values[name])

    def _reroute(self) -> None:
        """Have each connection be a value's or a buffer's, as the present types of its ends say."""
        for connection in self.connections.all():
            if self._is_value_connection(connection):
                self.connections.disconnect(connection)
                self.value_graph.connect(connection)
        for connection in self.value_graph.connections:
            if not self._is_value_connection(connection):
                self.value_graph.disconnect(connection)
                self.connections.connect(connection)

    def _is_value_connection(self, connection: Connection) -> bool:
        source, target = self._block(connection.source.node), self._block(connection.target.node)
        return is_value_connection(connection, type(source) if source else None, type(target) if target else None)
