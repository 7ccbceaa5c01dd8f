"""`CudaContext`: a facade over everything the engine keeps between frames, and the one place that wires it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from engine.blocktypes.catalogue import Catalogue
from engine.blocktypes.entries import Kernel
from engine.compiler.description import BlockNode, GraphDescription
from engine.compiler.frame import Frame
from engine.device.protocol import Device
from engine.diagnostics import Diagnostic, KernelError, error
from engine.patch.changes import (
    Change,
    Connected,
    Disconnected,
    NodeAdded,
    NodeMoved,
    NodeRegionChanged,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
)
from engine.runtime.connections import ConnectionGraph
from engine.runtime.dirty import DirtyTracker
from engine.runtime.modules import ModuleCache
from engine.runtime.pool import BufferPool
from engine.runtime.registry import BlockRegistry
from engine.runtime.states import StateStore


class CudaContext:
    """Block registry, connection graph, dirty tracker, buffer pool, module cache and state of one device.

    The name is CUDA's because what it keeps is for one CUDA graph; the device may be the host. `folder` tells where
    the patch's relative paths start.
    """

    def __init__(self, device: Device, catalogue: Catalogue, folder: Callable[[], Path]) -> None:
        self.device = device
        self.folder = folder
        self.dirty = DirtyTracker()
        self.registry = BlockRegistry(catalogue, lambda node: self.dirty.mark_structure(f"block {node}"), folder)
        self.connections = ConnectionGraph(lambda c: self.dirty.mark_structure(f"connection {c}"))
        self.pool = BufferPool(device)
        self.modules = ModuleCache(device)
        self.states = StateStore(self.pool, device)
        self.frame = device.pinned(np.zeros(1, Frame.numpy))
        self.frame_memory = self.pool.acquire(Frame.size_bytes)

    def apply(self, change: Change) -> None:
        """Follow one change of the patch."""
        match change:
            case NodeAdded(node):
                self.registry.register(node)
            case NodeRemoved(node):
                self.registry.unregister(node.id)
            case Connected(connection):
                self.connections.connect(connection)
            case Disconnected(connection):
                self.connections.disconnect(connection)
            case ParameterChanged(node_id, parameter, value):
                self.registry.set_parameter(node_id, parameter, value)
                block = self.registry.placed[node_id].block
                if block is None or parameter not in block.parameters:
                    return
                if self.registry.is_live(node_id, parameter):
                    self.dirty.mark_parameter(node_id, parameter, block.values[parameter])
                else:
                    self.dirty.mark_structure(f"{parameter} of {node_id}")
            case NodeRegionChanged(node_id, region):
                self.registry.set_region(node_id, region)
            case NodeMoved() | NodeRenamed():
                pass  # nothing to run differently

    def description(self) -> GraphDescription:
        """Return the graph as the described blocks and the connections make it.

        A block that could not be described is not among its nodes, but its connections are, so that what depends on
        it is known.
        """
        nodes = [
            BlockNode(node_id, placed.description, placed.node.region)
            for node_id, placed in self.registry.placed.items()
            if placed.description is not None
        ]
        return GraphDescription(tuple(nodes), self.connections.all())

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
        problem_of = cache(self._kernel_problem)
        for node in nodes:
            for kernel in node.description.kernels():
                problem = problem_of(kernel, node.description.kernel_folders)
                if problem is not None:
                    found.append(kernel_diagnostic(node.id, problem))
                    break
        return found

    def stale_kernels(self, nodes: Iterable[BlockNode]) -> list[Diagnostic]:
        """Return the errors of kernels whose newest version does not compile; their last good version runs."""
        problem_of = cache(self._newest_problem)
        kernels = ((node, kernel) for node in nodes for kernel in node.description.kernels())
        problems = ((node, problem_of(kernel, node.description.kernel_folders)) for node, kernel in kernels)
        return [kernel_diagnostic(node.id, problem) for node, problem in problems if problem is not None]

    def close(self) -> None:
        """Free everything on the device."""
        self.frame.free()
        self.modules.close()
        self.pool.close()

    def _kernel_problem(self, kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            self.modules.kernel(kernel, folders)
        except KernelError as problem:
            return problem
        return None

    def _newest_problem(self, kernel: Kernel, folders: tuple[str, ...]) -> KernelError | None:
        try:
            return self.modules.problems.get(self.modules.path(kernel, folders))
        except KernelError as problem:
            return problem


def kernel_diagnostic(node: str, problem: KernelError) -> Diagnostic:
    """Return a kernel's error as a diagnostic on the node that uses it."""
    return error(str(problem), node=node, file=problem.file, line=problem.line, remedy="mend the kernel and save it")
