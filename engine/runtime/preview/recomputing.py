"""Recomputing: what a frame had in a buffer that shares its memory and has been overwritten since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.compiler.executable.arguments import Resources
from engine.compiler.executable.build import build_graph
from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.compiler.memory.recomputation import recomputation
from engine.compiler.operations import RegionEntry
from engine.compiler.plan import Plan
from engine.device.protocol import Memory, Stream
from engine.diagnostics import WarploomError
from engine.patch.changes import PortRef
from engine.runtime.model.services import Services
from engine.runtime.preview.outputs import read_from


def read_port(
    compiled: CompiledGraph,
    services: Services,
    values: Mapping[str, Mapping[str, object]],
    stream: Stream,
    port: PortRef,
) -> np.ndarray[Any, Any]:
    """Return a copy of what a port held in the last frame; see `outputs.read_buffer`.

    Where others have taken its memory since, the operations that it comes from run again, in memory of their own.
    """
    plan = compiled.plan
    inner = plan.inlined.output(port)
    owner = plan.buffers.places[inner].owner
    if not plan.placement.overwritten(owner):
        return read_from(plan, compiled.memory, services.device, inner)
    again = recomputation(plan.operations, plan.placement.lasting, plan.placement.overwritten, owner)
    if again is None:
        raise WarploomError(f"contents of {port} must be read before the frame goes on, got a read after it")
    own = _written(plan, again)
    private: dict[PortRef, Memory] = {}
    try:
        for written in own:
            if written in plan.buffers.allocations:
                private[written] = services.pool.acquire(plan.buffers.allocations[written].layout.size_bytes)
        memory = {**compiled.memory, **private}
        kernels = {node.operation: node.kernel for node in compiled.kernels}
        resources = Resources(memory, kernels, plan.inlined.all_values(values), services.frame)
        built = build_graph(plan, services.device, resources, {}, only=again)
        try:
            executable = built.graph.instantiate()
            try:
                executable.launch(stream)
                stream.synchronize()
                return read_from(plan, memory, services.device, inner)
            finally:
                executable.destroy()
        finally:
            built.destroy()
    finally:
        for taken in private.values():
            services.pool.release(taken)


def _written(plan: Plan, indices: tuple[int, ...]) -> list[PortRef]:
    """Return the buffers that some operations of the top scope write, a region's inside it too, each once."""
    assert all(isinstance(plan.operations[i].entry, RegionEntry) or not plan.operations[i].scope for i in indices)
    return sorted({o for i in indices for o in plan.operations[i].writes}, key=lambda o: (o.node, o.port))
