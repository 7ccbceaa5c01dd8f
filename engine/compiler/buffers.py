"""Phase 3, buffers: the allocations, the bytes of each port in them, and the accesses of each entry of a block.

An input uses its source's buffer, and an in-place output its input's. A view is a part of its input's buffer. All other
outputs and buffers are allocated. A block's result depends on its layouts and on the places of its inputs, so a block
keeps its result while these are unchanged.
"""

from collections.abc import Container, Mapping
from enum import StrEnum
from functools import cached_property
from typing import final

import msgspec

from warploom.engine.compiler.checking.check import Checked
from warploom.engine.compiler.checking.layouts import NodeLayouts
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.operations import FRAME, Access, Place
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import DelayEntry, Entry, KernelEntry, buffer_arguments
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.regions import TOP
from warploom.engine.types.layout import Layout


class Lifetime(StrEnum):
    """How long a buffer's contents matter."""

    GRAPH = "graph"  # within a frame
    REGION = "region"  # within one turn of the region around it
    STATE = "state"  # from frame to frame, and across rebuilds
    PROVIDED = "provided"  # uploaded from the host, read every frame
    EXTERNAL = "external"  # the user's own memory
    STATUS = "status"  # a word that is read back after each frame
    FUSED = "fused"  # never stored: its writer and its readers are fused


#: Lifetimes whose contents every frame computes again, so that the buffers may share memory.
TRANSIENT = frozenset({Lifetime.GRAPH, Lifetime.REGION})


class PlannedBuffer(msgspec.Struct, frozen=True, gc=False):
    """One allocation of `size_bytes`, including the gaps of its layout; `initial` fills new state.

    `owner` is the output or internal buffer that it is allocated for.
    """

    owner: PortRef
    layout: Layout
    lifetime: Lifetime
    size_bytes: int
    initial: float = 0.0


_FRAME_PLACE = Place(FRAME, 0, 16)


#: The accesses of the operation that uploads the frame uniforms.
FRAME_UPLOAD = Access((), (_FRAME_PLACE,))


class BlockBuffers(msgspec.Struct, frozen=True, gc=False):
    """The buffers of one block; they depend only on `layouts`, `region` and the places of the inputs.

    `places` holds its ports and internal buffers by name, and `allocations` the buffers allocated for it. `accesses`
    follow the order of the block's work: the entries, the kernels that begin a region, the region itself, and the
    kernels that end a turn.
    """

    layouts: NodeLayouts
    region: str
    places: dict[str, Place]
    allocations: tuple[PlannedBuffer, ...]
    accesses: tuple[Access, ...]


class BufferPlan(msgspec.Struct, frozen=True, dict=True):
    """The allocations by owner, and the places of every block's ports and internal buffers.

    A delay's output holds the last frame's contents. `swaps` maps such an output to the buffer that it is swapped with
    between two frames; both are state.
    """

    allocations: dict[PortRef, PlannedBuffer]
    blocks: Mapping[str, BlockBuffers]
    swaps: dict[PortRef, PortRef] = msgspec.field(default_factory=dict)

    @cached_property
    def places(self) -> dict[PortRef, Place]:
        """The place of every port and internal buffer."""
        blocks = self.blocks.items()
        return {PortRef(node, name): place for node, block in blocks for name, place in block.places.items()}

    def find(self, node: str, name: str) -> Place | None:
        """Return the place of a port or internal buffer of a block; None for an unconnected input."""
        block = self.blocks.get(node)
        return None if block is None else block.places.get(name)

    def owner_of(self, port: PortRef) -> PortRef:
        """Return the buffer of a port."""
        return self.blocks[port.node].places[port.port].owner


def plan_buffers(checked: Checked, previous: BufferPlan | None = None) -> BufferPlan:
    """Return the buffers to allocate and the ports in them.

    `previous` is the result for the previous check; `checked` may have kept some blocks from it.
    """
    known, kept = previous.blocks if previous is not None else {}, checked.kept
    is_settled = True  # true while the place of every output is unchanged
    by_id, incoming = checked.description.by_id, checked.dataflow.incoming
    allocations: dict[PortRef, PlannedBuffer] = {}
    blocks: dict[str, BlockBuffers] = {}
    patterns: dict[tuple[int, bool], _Pattern] = {}
    special: list[BlockNode] = []
    for node_id, layouts in checked.nodes.items():
        node, old = by_id[node_id], known.get(node_id)
        if old is not None and (old.layouts is not layouts or old.region != node.region):
            old = None
        block = layouts.description
        made = old if is_settled and node_id in kept and not (block.delays or block.delayed_inputs) else None
        if made is None:
            key = id(layouts), node.region == TOP
            pattern = patterns.get(key)
            if pattern is None:
                pattern = patterns[key] = _pattern(layouts, is_inside=node.region != TOP)
            if pattern.has_delays:
                special.append(node)
                delayed = block.delayed_inputs
                feeding = {name: source for name, source in incoming[node_id].items() if name not in delayed}
            else:
                feeding = incoming[node_id]
            places = {name: blocks[source.node].places[source.port] for name, source in feeding.items()}
            if old is not None and not pattern.has_delays and places.items() <= old.places.items():
                made = old
            if made is None:
                made = _place(node, layouts, pattern, places)
                is_settled = is_settled and (node_id not in known or _gives_the_same(made, known[node_id]))
        blocks[node_id] = made
        for buffer in made.allocations:
            allocations[buffer.owner] = buffer
    if not special:
        return BufferPlan(allocations, blocks)
    for node in special:
        for name, source in incoming[node.id].items():
            blocks[node.id].places[name] = blocks[source.node].places[source.port]
    swaps = _plan_delays(by_id, special, allocations, blocks)
    for node in special:
        made = blocks[node.id]
        names = _touched_names(node.description, made.places)
        accesses = tuple([_access(node.id, touched, made.places) for touched in names])
        blocks[node.id] = msgspec.structs.replace(made, accesses=accesses)
    return BufferPlan(allocations, blocks, swaps)


class _Touched(msgspec.Struct, frozen=True, gc=False):
    """The names that an entry reads and writes, and whether it reads the frame uniforms or sets the condition."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    uses_frame: bool = False
    sets_condition: bool = False


class _Alias(msgspec.Struct, frozen=True, gc=False):
    """A place in the memory of an input or buffer: all of it, or a view of `size_bytes` from `offset` on."""

    name: str
    source: str
    offset: int = 0
    size_bytes: int = -1


@final
class _Own(msgspec.Struct, frozen=True, gc=False):
    """An output or internal buffer that is allocated."""

    name: str
    layout: Layout
    lifetime: Lifetime
    initial: float
    size_bytes: int


class _Pattern(msgspec.Struct, frozen=True, gc=False):
    """The places of the ports of all blocks with one description and layout, except places that depend on inputs."""

    made: tuple[_Alias | _Own, ...]
    touched: tuple[_Touched, ...]
    has_delays: bool


def _pattern(layouts: NodeLayouts, *, is_inside: bool) -> _Pattern:
    block, layout_of = layouts.description, layouts.layouts
    made: list[_Alias | _Own] = []
    transient = Lifetime.REGION if is_inside else Lifetime.GRAPH
    initials = {entry.target.name: entry.initial for entry in block.delays}
    for rule in block.rules.outputs:
        name, spec = rule.name, rule.spec
        if spec.inplace is not None:
            made.append(_Alias(name, spec.inplace))
            continue
        layout = layout_of[name]
        if name in block.view_of:
            made.append(_Alias(name, block.view_of[name].source, layouts.offsets[name], layout.span_bytes))
            continue
        if name in block.contents:
            lifetime = Lifetime.PROVIDED
        elif name in block.externals:
            lifetime = Lifetime.EXTERNAL
        else:
            lifetime = Lifetime.STATE if spec.state or name in initials else transient
        made.append(_Own(name, layout, lifetime, initials.get(name, 0.0), layout.span_bytes))
    for buffer in block.buffers:
        if buffer.of is not None:
            made.append(_Alias(buffer.name, buffer.of))
            continue
        layout = layout_of[buffer.name]
        is_status = buffer.name in block.status_buffers
        lifetime = Lifetime.STATUS if is_status else Lifetime.STATE if buffer.state else transient
        made.append(_Own(buffer.name, layout, lifetime, 0.0, layout.size_bytes))
    there = layout_of.keys() - block.delayed_inputs
    return _Pattern(tuple(made), _touched_names(block, there), bool(block.delays or block.delayed_inputs))


def _touched_names(block: BlockDescription, there: Container[str]) -> tuple[_Touched, ...]:
    """Return, for each entry of a block, the names in `there` that it reads and writes, in the order of places."""
    control = block.control
    entries = (*block.entries, *control.begin, None, *control.turn) if control is not None else block.entries
    return tuple([_touched(entry, there) for entry in entries])


def _touched(entry: Entry | None, there: Container[str]) -> _Touched:
    """Return the accesses of an entry without unconnected inputs. None stands for a region itself."""
    if entry is None or isinstance(entry, DelayEntry):
        return _Touched()
    arguments = [argument for argument in buffer_arguments(entry) if argument.name in there]
    reads = tuple(argument.name for argument in arguments if argument.reads)
    writes = tuple(argument.name for argument in arguments if argument.writes)
    if isinstance(entry, KernelEntry):
        return _Touched(reads, writes, entry.uses_frame, entry.sets_condition)
    return _Touched(reads, writes)


def _place(node: BlockNode, layouts: NodeLayouts, pattern: _Pattern, places: dict[str, Place]) -> BlockBuffers:
    """Return the buffers of a block; `places` has the places of its inputs."""
    node_id = node.id
    owned: list[PlannedBuffer] = []
    for made in pattern.made:
        name = made.name
        if type(made) is _Own:
            owner = PortRef(node_id, name)
            owned.append(PlannedBuffer(owner, made.layout, made.lifetime, made.size_bytes, made.initial))
            places[name] = Place(owner, 0, made.size_bytes)
            continue
        assert type(made) is _Alias
        whole = places[made.source]
        is_whole = made.size_bytes < 0
        places[name] = whole if is_whole else Place(whole.owner, whole.offset + made.offset, made.size_bytes)
    accesses = tuple([_access(node_id, touched, places) for touched in pattern.touched])
    return BlockBuffers(layouts, node.region, places, tuple(owned), accesses)


def _gives_the_same(made: BlockBuffers, old: BlockBuffers) -> bool:
    """True when the places of a block's outputs are unchanged."""
    return all(made.places[name] == old.places.get(name) for name in made.layouts.description.rules.output_of)


def _access(node: str, entry: _Touched, places: Mapping[str, Place]) -> Access:
    reads = tuple([places[name] for name in entry.reads])
    writes = tuple([places[name] for name in entry.writes])
    if entry.uses_frame:
        reads = (*reads, _FRAME_PLACE)
    if entry.sets_condition:
        writes = (*writes, condition_place(node))
    return Access(reads, writes)


def entry_access(buffers: BufferPlan, node: str, entry: Entry) -> Access:
    """Return the accesses of an entry that the compiler adds to a block."""
    places = buffers.blocks[node].places
    return _access(node, _touched(entry, places), places)


def condition_place(region: str) -> Place:
    """Return a stand-in for a region's condition, which is not memory but is written and read like a buffer."""
    return Place(PortRef(region, ""), 0, 8)


def order_place(node: str, index: int) -> Place:
    """Return a stand-in for the end of an operation of a block, which those read that run after the block."""
    return Place(PortRef(node, f" {index}"), 0, 1)


def ends_block(owner: PortRef) -> bool:
    """True for a stand-in that `order_place` returns."""
    return owner.port.startswith(" ")


def kept_name(target: str) -> str:
    """Return the name of the buffer that receives a delay's next output, while its current output is in use."""
    return f"{target}.next"


def _plan_delays(
    by_id: Mapping[str, BlockNode],
    nodes: list[BlockNode],
    allocations: dict[PortRef, PlannedBuffer],
    blocks: Mapping[str, BlockBuffers],
) -> dict[PortRef, PortRef]:
    """Return the buffers that are swapped with delays' outputs between two frames, and make them state.

    The swapped buffer can be the source itself, without a copy, if each frame writes all of it, once and outside all
    regions, and no other delay keeps it. Otherwise, a copy fills a separate buffer at the end of the frame. In a
    region, a turn is not a frame: there, the buffer is copied to the output when a turn begins.
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
            allocations[following] = msgspec.structs.replace(source, lifetime=Lifetime.STATE, initial=entry.initial)
        else:
            following = PortRef(node.id, kept_name(target.port))
            layout, size = allocations[target].layout, allocations[target].size_bytes
            allocations[following] = PlannedBuffer(following, layout, Lifetime.STATE, size, entry.initial)
            places[following.port] = Place(following, 0, size)
        if node.region == TOP:
            swaps[target] = following
    return swaps
