"""Phase 3, buffers: what is allocated, which ports lie in which bytes of it, and what each entry of a block touches.

An input is its source's buffer; an in-place output is its input's; a view is a part of its input's. What remains is
allocated. A block's result follows from its layouts and from where its inputs lie, so a block for which these are as in
the previous plan keeps its result as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from operator import attrgetter

import msgspec

from engine.blocktypes.description import BlockDescription
from engine.blocktypes.entries import DelayEntry, Entry, KernelEntry, buffer_arguments
from engine.compiler.checking.check import Checked
from engine.compiler.checking.layouts import NodeLayouts
from engine.compiler.description import BlockNode
from engine.compiler.layout import Layout
from engine.compiler.operations import FRAME
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
_owner = attrgetter("owner")


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


_FRAME_PLACE = Place(FRAME, 0, 16)


class Access(msgspec.Struct, frozen=True, gc=False):
    """The places that an operation reads and writes, and the buffers that these lie in."""

    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    read_owners: frozenset[PortRef]
    written_owners: frozenset[PortRef]

    @classmethod
    def of(cls, reads: tuple[Place, ...], writes: tuple[Place, ...]) -> Access:
        """Return the access to these places."""
        return cls(reads, writes, frozenset(map(_owner, reads)), frozenset(map(_owner, writes)))


#: What the upload of the frame uniforms touches.
FRAME_UPLOAD = Access.of((), (_FRAME_PLACE,))


class BlockBuffers(msgspec.Struct, frozen=True, gc=False):
    """The buffers of one block; all of it follows from `layouts`, `region` and where the `inputs` lie.

    `places` are those of its ports and internal buffers by name, `allocations` what is its own. `accesses` go with what
    the block does, by place: the entries, then what begins a region, the region itself, and what ends a turn.
    """

    layouts: NodeLayouts
    region: str
    inputs: tuple[Place | None, ...]
    places: dict[str, Place]
    allocations: tuple[PlannedBuffer, ...]
    accesses: tuple[Access, ...]


@dataclass(frozen=True)
class BufferPlan:
    """The allocations by owner, and for every block where its ports and internal buffers lie.

    `swaps` names, for an output that holds the last frame's contents, the buffer with which it changes places between
    two frames; both are state.
    """

    allocations: dict[PortRef, PlannedBuffer]
    blocks: Mapping[str, BlockBuffers]
    swaps: dict[PortRef, PortRef] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[PortRef, Place]:
        """The place of every port and internal buffer."""
        blocks = self.blocks.items()
        return {PortRef(node, name): place for node, block in blocks for name, place in block.places.items()}

    def find(self, node: str, name: str) -> Place | None:
        """Return where a port or internal buffer of a block lies; None for an input that is not connected."""
        block = self.blocks.get(node)
        return None if block is None else block.places.get(name)

    def owner_of(self, port: PortRef) -> PortRef:
        """Return the buffer that a port lies in."""
        return self.blocks[port.node].places[port.port].owner


def plan_buffers(checked: Checked, previous: BufferPlan | None = None) -> BufferPlan:
    """Return which buffers to allocate and which ports lie in them; `previous` is the result of an earlier plan."""
    known = previous.blocks if previous is not None else {}
    by_id, incoming = checked.description.by_id, checked.dataflow.incoming
    allocations: dict[PortRef, PlannedBuffer] = {}
    blocks: dict[str, BlockBuffers] = {}
    touching: dict[int, tuple[_Touching, ...]] = {}
    special: list[BlockNode] = []
    for node_id, layouts in checked.nodes.items():
        node, sources = by_id[node_id], incoming[node_id]
        description = node.description
        inputs: list[Place | None] = []
        for rule in description.rules.inputs:
            source = sources.get(rule.name)
            if source is None or rule.spec.delayed:  # what feeds a delayed input may come later
                inputs.append(None)
            else:
                inputs.append(blocks[source.node].places[source.port])
        given = tuple(inputs)
        old = known.get(node_id)
        if description.delays or description.delayed_inputs:
            special.append(node)
        elif old is not None and old.layouts is layouts and old.inputs == given and old.region == node.region:
            blocks[node_id] = old
            for buffer in old.allocations:
                allocations[buffer.owner] = buffer
            continue
        places, owned = _place(node, layouts, given)
        touched = touching.get(id(description.rules))
        if touched is None:
            touched = touching[id(description.rules)] = _touching(description)
        accesses = _accesses(node_id, touched, places)
        blocks[node_id] = BlockBuffers(layouts, node.region, given, places, owned, accesses)
        for buffer in owned:
            allocations[buffer.owner] = buffer
    if not special:
        return BufferPlan(allocations, blocks)
    for node in special:
        for name, source in incoming[node.id].items():
            blocks[node.id].places[name] = blocks[source.node].places[source.port]
    swaps = _plan_delays(by_id, special, allocations, blocks)
    for node in special:
        made = blocks[node.id]
        accesses = _accesses(node.id, touching[id(node.description.rules)], made.places)
        blocks[node.id] = msgspec.structs.replace(made, accesses=accesses)
    return BufferPlan(allocations, blocks, swaps)


def _place(
    node: BlockNode, layouts: NodeLayouts, inputs: tuple[Place | None, ...]
) -> tuple[dict[str, Place], tuple[PlannedBuffer, ...]]:
    """Return where a block's ports and internal buffers lie, and the allocations that are its own."""
    node_id, block = node.id, node.description
    rules, layout_of = block.rules, layouts.layouts
    places = {rule.name: place for rule, place in zip(rules.inputs, inputs, strict=True) if place is not None}
    owned: list[PlannedBuffer] = []
    transient = Lifetime.GRAPH if node.region == TOP else Lifetime.REGION
    view_of = block.view_of
    initials = {entry.target.name: entry.initial for entry in block.delays} if block.delays else None
    for rule in rules.outputs:
        spec, name, initial = rule.spec, rule.name, 0.0
        if spec.inplace is not None:
            places[name] = places[spec.inplace]
            continue
        layout = layout_of[name]
        if name in view_of:
            whole = places[view_of[name].source]
            places[name] = Place(whole.owner, whole.offset + layouts.offsets[name], layout.span_bytes)
            continue
        if name in block.contents:
            lifetime = Lifetime.PROVIDED
        elif name in block.externals:
            lifetime = Lifetime.EXTERNAL
        elif initials is not None and name in initials:
            lifetime, initial = Lifetime.STATE, initials[name]
        else:
            lifetime = Lifetime.STATE if spec.state else transient
        owner = PortRef(node_id, name)
        owned.append(PlannedBuffer(owner, layout, lifetime, initial))
        places[name] = Place(owner, 0, layout.size_bytes if layout.strides is None else layout.span_bytes)
    if block.buffers:
        status = block.status_buffers
        for buffer in block.buffers:
            name = buffer.name
            owner, layout = PortRef(node_id, name), layout_of[name]
            lifetime = Lifetime.STATUS if name in status else Lifetime.STATE if buffer.state else transient
            owned.append(PlannedBuffer(owner, layout, lifetime))
            places[name] = Place(owner, 0, layout.size_bytes)
    return places, tuple(owned)


class _Touching(msgspec.Struct, frozen=True, gc=False):
    """The names that an entry reads and writes, and whether it takes the frame uniforms and sets the condition."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    uses_frame: bool = False
    sets_condition: bool = False


def _touching(description: BlockDescription) -> tuple[_Touching, ...]:
    found = [_touched_names(entry) for entry in description.entries]
    control = description.control
    if control is not None:
        found += [*map(_touched_names, control.begin), _Touching(), *map(_touched_names, control.turn)]
    return tuple(found)


def _touched_names(entry: Entry) -> _Touching:
    if isinstance(entry, DelayEntry):
        return _Touching()
    arguments = buffer_arguments(entry)
    reads = tuple(argument.name for argument in arguments if argument.reads)
    writes = tuple(argument.name for argument in arguments if argument.writes)
    if isinstance(entry, KernelEntry):
        return _Touching(reads, writes, entry.uses_frame, entry.sets_condition)
    return _Touching(reads, writes)


def _accesses(node: str, touching: tuple[_Touching, ...], places: Mapping[str, Place]) -> tuple[Access, ...]:
    """Return what each entry of a block touches; an input that is not connected is left out."""
    found = []
    for touched in touching:
        reads = tuple([places[name] for name in touched.reads if name in places])
        writes = tuple([places[name] for name in touched.writes if name in places])
        if touched.uses_frame:
            reads = (*reads, _FRAME_PLACE)
        if touched.sets_condition:
            writes = (*writes, condition_place(node))
        found.append(Access(reads, writes, frozenset(map(_owner, reads)), frozenset(map(_owner, writes))))
    return tuple(found)


def entry_access(buffers: BufferPlan, node: str, entry: Entry) -> Access:
    """Return what an entry touches that the compiler adds to a block."""
    (access,) = _accesses(node, (_touched_names(entry),), buffers.blocks[node].places)
    return access


def condition_place(region: str) -> Place:
    """Return what stands for a region's condition, which is no memory but is written and read like a buffer."""
    return Place(PortRef(region, ""), 0, 8)


def kept_name(delay: DelayEntry) -> str:
    """Name of the buffer that receives what a delay gives in the next frame or turn, while its output is in use."""
    return f"{delay.target.name}.next"


def _plan_delays(
    by_id: Mapping[str, BlockNode],
    nodes: list[BlockNode],
    allocations: dict[PortRef, PlannedBuffer],
    blocks: Mapping[str, BlockBuffers],
) -> dict[PortRef, PortRef]:
    """Return what the outputs of delays change places with between two frames, and make it state.

    That is the source itself where a frame makes it anew and whole, once, outside all regions, and no other delay keeps
    it; then nothing is copied. Otherwise it is a buffer that a copy fills at the end of the frame. In a region, where
    turns are not frames, such a buffer is copied to the output when a turn begins.
    """
    swaps: dict[PortRef, PortRef] = {}
    delays = [(node, delay) for node in nodes for delay in node.description.delays]
    for node, entry in sorted(delays, key=lambda delay: delay[0].id):
        target, places = PortRef(node.id, entry.target.name), blocks[node.id].places
        place = places.get(entry.source.name)
        if place is None:
            continue
        source = allocations[place.owner]
        whole = place.offset == 0 and place.size_bytes == source.layout.size_bytes
        outside = node.region == TOP and by_id[place.owner.node].region == TOP
        if whole and outside and source.lifetime in TRANSIENT:
            following = place.owner
            allocations[following] = PlannedBuffer(following, source.layout, Lifetime.STATE, entry.initial)
        else:
            following = PortRef(node.id, kept_name(entry))
            layout = allocations[target].layout
            allocations[following] = PlannedBuffer(following, layout, Lifetime.STATE, entry.initial)
            places[following.port] = Place(following, 0, layout.size_bytes)
        if node.region == TOP:
            swaps[target] = following
    return swaps
