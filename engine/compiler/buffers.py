"""Phase 3, buffers: which allocations the graph needs, and which ports lie in which.

An input is its source's buffer; an in-place output is its input's; a view is a part of its input's. What remains is
allocated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from engine.blocktypes.entries import DelayEntry
from engine.compiler.checking.layouts import Layout, Layouts
from engine.compiler.description import BlockNode, GraphDescription
from engine.patch.changes import PortRef
from engine.patch.regions import TOP


class Lifetime(StrEnum):
    """How long a buffer's contents matter."""

    GRAPH = "graph"  # within a frame
    REGION = "region"  # within one turn of the region it lies in
    STATE = "state"  # from frame to frame, and over rebuilds
    PROVIDED = "provided"  # uploaded from the host, read every frame
    EXTERNAL = "external"  # memory of the user's own
    STATUS = "status"  # a word that is read back after each frame


#: What a frame computes anew, so that it may share memory.
TRANSIENT = frozenset({Lifetime.GRAPH, Lifetime.REGION})
_NO_INITIALS: Mapping[str, float] = {}


class PlannedBuffer(msgspec.Struct, frozen=True, gc=False):
    """One allocation; `owner` is the output or internal buffer it belongs to; `initial` fills new state."""

    owner: PortRef
    layout: Layout
    lifetime: Lifetime
    initial: float = 0.0


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a port lies: `size_bytes` bytes of its owner's allocation from `offset` on."""

    owner: PortRef
    offset: int
    size_bytes: int

    def overlaps(self, other: Place) -> bool:
        """True when both share at least one byte."""
        return (
            self.owner == other.owner
            and self.offset < other.offset + other.size_bytes
            and other.offset < self.offset + self.size_bytes
        )


@dataclass(frozen=True)
class BufferPlan:
    """The allocations by owner, and for every port or internal buffer where it lies.

    `swaps` names, for an output that holds the last frame's contents, the buffer with which it changes places between
    two frames; both are state.
    """

    allocations: dict[PortRef, PlannedBuffer]
    places: dict[PortRef, Place]
    swaps: dict[PortRef, PortRef]

    def owner_of(self, port: PortRef) -> PortRef:
        """Return the buffer that a port lies in."""
        return self.places[port].owner


def plan_buffers(
    description: GraphDescription, order: Iterable[str], layouts: Layouts, view_offsets: dict[PortRef, int]
) -> BufferPlan:
    """Return which buffers to allocate and who uses which; `order` lists every block after what feeds it."""
    allocations: dict[PortRef, PlannedBuffer] = {}
    places: dict[PortRef, Place] = {}
    by_id, source_of = description.by_id, description.source_of
    delays: list[tuple[BlockNode, DelayEntry]] = []
    delayed: list[tuple[PortRef, PortRef]] = []
    for node_id in order:
        node = by_id[node_id]
        block = node.description
        if block.delays:
            delays += [(node, delay) for delay in block.delays]
        for spec in block.inputs:
            port = PortRef(node_id, spec.name)
            source = source_of.get(port)
            if source is None:
                continue
            if spec.delayed:
                delayed.append((port, source))  # what feeds it may come later
            else:
                places[port] = places[source]
        place_outputs(node, layouts, view_offsets, allocations, places)
    for port, source in delayed:
        places[port] = places[source]
    swaps = _plan_delays(description, delays, allocations, places) if delays else {}
    return BufferPlan(allocations, places, swaps)


def place_outputs(
    node: BlockNode,
    layouts: Layouts,
    view_offsets: dict[PortRef, int],
    allocations: dict[PortRef, PlannedBuffer],
    places: dict[PortRef, Place],
) -> None:
    """Enter where a block's outputs and internal buffers lie, and allocate what is its own; its inputs are entered."""
    node_id, block = node.id, node.description
    transient = Lifetime.GRAPH if node.region == TOP else Lifetime.REGION
    view_of = block.view_of
    initials = {entry.target.name: entry.initial for entry in block.delays} if block.delays else _NO_INITIALS
    for spec in block.outputs:
        name, initial = spec.name, 0.0
        port = PortRef(node_id, name)
        if spec.inplace is not None:
            places[port] = places[PortRef(node_id, spec.inplace)]
            continue
        if name in view_of:
            whole = places[PortRef(node_id, view_of[name].source)]
            places[port] = Place(whole.owner, whole.offset + view_offsets[port], layouts[port].span_bytes)
            continue
        if name in block.contents:
            lifetime = Lifetime.PROVIDED
        elif name in block.externals:
            lifetime = Lifetime.EXTERNAL
        elif name in initials:
            lifetime, initial = Lifetime.STATE, initials[name]
        else:
            lifetime = Lifetime.STATE if spec.state else transient
        layout = layouts[port]
        allocations[port] = PlannedBuffer(port, layout, lifetime, initial)
        places[port] = Place(port, 0, layout.size_bytes if layout.strides is None else layout.span_bytes)
    if block.buffers:
        _place_internal(node, transient, layouts, allocations, places)


def _place_internal(
    node: BlockNode,
    transient: Lifetime,
    layouts: Layouts,
    allocations: dict[PortRef, PlannedBuffer],
    places: dict[PortRef, Place],
) -> None:
    status = node.description.status_buffers
    for buffer in node.description.buffers:
        port = PortRef(node.id, buffer.name)
        layout = layouts[port]
        lifetime = Lifetime.STATUS if buffer.name in status else Lifetime.STATE if buffer.state else transient
        allocations[port] = PlannedBuffer(port, layout, lifetime)
        places[port] = Place(port, 0, layout.size_bytes)


def kept_name(delay: DelayEntry) -> str:
    """Name of the buffer that receives what a delay gives in the next frame or turn, while its output is in use."""
    return f"{delay.target.name}.next"


def _plan_delays(
    description: GraphDescription,
    delays: list[tuple[BlockNode, DelayEntry]],
    allocations: dict[PortRef, PlannedBuffer],
    places: dict[PortRef, Place],
) -> dict[PortRef, PortRef]:
    """Return what the outputs of delays change places with between two frames, and make it state.

    That is the source itself where a frame makes it anew and whole, once, outside all regions, and no other delay keeps
    it; then nothing is copied. Otherwise it is a buffer that a copy fills at the end of the frame. In a region, where
    turns are not frames, such a buffer is copied to the output when a turn begins.
    """
    swaps: dict[PortRef, PortRef] = {}
    for node, entry in sorted(delays, key=lambda delay: delay[0].id):
        target = PortRef(node.id, entry.target.name)
        place = places.get(PortRef(node.id, entry.source.name))
        if place is None:
            continue
        source = allocations[place.owner]
        whole = place.offset == 0 and place.size_bytes == source.layout.size_bytes
        outside = node.region == TOP and description.by_id[place.owner.node].region == TOP
        if whole and outside and source.lifetime in TRANSIENT:
            following = place.owner
            allocations[following] = PlannedBuffer(following, source.layout, Lifetime.STATE, entry.initial)
        else:
            following = PortRef(node.id, kept_name(entry))
            layout = allocations[target].layout
            allocations[following] = PlannedBuffer(following, layout, Lifetime.STATE, entry.initial)
            places[following] = Place(following, 0, layout.size_bytes)
        if node.region == TOP:
            swaps[target] = following
    return swaps
