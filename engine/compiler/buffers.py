"""Phase 4, buffers: which allocations the graph needs, and which ports share one.

An input is its source's buffer; an in-place output is its input's. What remains is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.compiler.description import GraphDescription
from engine.compiler.ordering import Levels
from engine.compiler.shapes import Layout, Layouts
from engine.patch.changes import PortRef


class Lifetime(StrEnum):
    """How long a buffer's contents matter."""

    GRAPH = "graph"  # within a frame
    STATE = "state"  # from frame to frame, and over rebuilds
    PROVIDED = "provided"  # uploaded from the host, read every frame


@dataclass(frozen=True)
class PlannedBuffer:
    """One allocation; `owner` is the output or internal buffer it belongs to."""

    owner: PortRef
    layout: Layout
    lifetime: Lifetime


@dataclass(frozen=True)
class BufferPlan:
    """The allocations by owner, and for every port or internal buffer the owner of its memory."""

    allocations: dict[PortRef, PlannedBuffer]
    owner_of: dict[PortRef, PortRef]


def plan_buffers(description: GraphDescription, levels: Levels, layouts: Layouts) -> BufferPlan:
    """Return which buffers to allocate and who uses which."""
    allocations: dict[PortRef, PlannedBuffer] = {}
    owner_of: dict[PortRef, PortRef] = {}

    def allocate(port: PortRef, lifetime: Lifetime) -> None:
        allocations[port] = PlannedBuffer(port, layouts[port], lifetime)
        owner_of[port] = port

    for node_id in (node for level in levels for node in level):
        block = description.by_id[node_id].description
        for spec in block.ports:
            port = PortRef(node_id, spec.name)
            source = description.source_of.get(port)
            if spec.is_input and source is not None:
                owner_of[port] = owner_of[source]
        for spec in block.ports:
            port = PortRef(node_id, spec.name)
            if spec.is_input:
                continue
            if spec.inplace is not None:
                owner_of[port] = owner_of[PortRef(node_id, spec.inplace)]
            elif spec.name in block.contents:
                allocate(port, Lifetime.PROVIDED)
            else:
                allocate(port, Lifetime.STATE if spec.state else Lifetime.GRAPH)
        for buffer in block.buffers:
            allocate(PortRef(node_id, buffer.name), Lifetime.STATE if buffer.state else Lifetime.GRAPH)
    return BufferPlan(allocations, owner_of)
