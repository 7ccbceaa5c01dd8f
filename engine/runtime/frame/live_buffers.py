"""Live buffers: the live blocks of the running graph, and the copies between their buffers and the host.

Copies go through pinned slots, on the stream of the launches: contents that are given before a launch, contents that
are watched after it. A slot is used again when its copy has ended and nothing refers to its bytes. The engine's thread
waits for no copy, except where more are under way than launches.
"""

import logging
from collections import ChainMap, deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.live_blocks import LiveBlock
from warploom.engine.blocktypes.shared_device import LentMemory, SharedDevices
from warploom.engine.catalogue.block_errors import code_diagnostic
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Event, PinnedArray, Stream, part_of
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.readings import Reading
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.model.describe_patch import PlacedNode
from warploom.engine.runtime.preview.reading import elements_in, lasting_place
from warploom.engine.types.arrays import Array
from warploom.engine.types.bits import bit_key
from warploom.engine.types.layout import Layout

_log = logging.getLogger(__name__)
#: While the engine plays, a buffer has at most so many slots; contents for which none is free are dropped. Eight may
#: wait for an encoder.
MOST_SLOTS = 12


@dataclass(eq=False)
class _Slot:
    pinned: PinnedArray
    #: Recorded after the copy.
    event: Event


class _Lent:
    """The bytes of a slot, for arrays that refer to them; with the last of these, the slot is free again."""

    def __init__(self, slot: _Slot, free: "deque[_Slot]") -> None:
        self._slot, self._free = slot, free
        self.__array_interface__ = slot.pinned.array.__array_interface__

    def __del__(self) -> None:
        self._free.append(self._slot)  # on any thread


class _Slots:
    """The slots of one buffer, of `size_bytes` each."""

    def __init__(self, device: Device, size_bytes: int, maker: ThreadPoolExecutor) -> None:
        self._device, self.size_bytes, self._maker = device, size_bytes, maker
        self._count = 0
        self._is_making = False
        self.free: deque[_Slot] = deque()

    def take(self, most: int | None) -> _Slot | None:
        """Return a slot that is free, or a new one; None if there are `most` already."""
        slot = self._free_slot()
        if slot is None:
            if most is not None and self._count >= most:
                return None
            self._count += 1
            slot = self._make()
        if self._device.info.is_asynchronous and self._count < MOST_SLOTS and not self._is_making:
            self._have_spare()
        return slot

    def _free_slot(self) -> _Slot | None:
        for _ in range(len(self.free)):
            slot = self.free.popleft()
            if slot.event.is_reached:
                return slot
            self.free.append(slot)
        return None

    def _make(self) -> _Slot:
        return _Slot(self._device.pinned(np.zeros(self.size_bytes, np.uint8)), self._device.create_event(timed=False))

    def _have_spare(self) -> None:
        """Have a slot made beside the frames if none is free: a GPU takes 20 ms for a picture of 3840 x 2160."""
        if not any(slot.event.is_reached for slot in self.free):
            self._count, self._is_making = self._count + 1, True
            self._maker.submit(self._make_spare)

    def _make_spare(self) -> None:
        try:
            self._device.activate()
            self.free.append(self._make())
        except DeviceError:  # of too little memory, which the frame that needs it reports
            self._count -= 1
        finally:
            self._is_making = False

    def close(self) -> None:
        """Free the slots that nobody uses; a later call frees more, and the device the rest when it is closed."""
        slots = [self.free.popleft() for _ in range(len(self.free))]
        release_all(*(free for slot in slots for free in (slot.pinned.free, slot.event.destroy)))


class _Sources:
    """Memory of the device that was given to buffers, which is kept until it was copied."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept: deque[tuple[LentMemory, Event]] = deque()

    def keep(self, memory: LentMemory, stream: Stream) -> None:
        """Keep the source of a copy that was just put into a stream."""
        self._kept.append((memory, event := self._next_event()))
        stream.record(event)

    def _next_event(self) -> Event:
        event = None
        while self._kept and self._kept[0][1].is_reached:
            if event is not None:
                event.destroy()
            event = self._kept.popleft()[1]
        return event or self._device.create_event(timed=False)

    def close(self) -> None:
        """Forget what was copied; a later call forgets more."""
        while self._kept and self._kept[0][1].is_reached:
            self._kept.popleft()[1].destroy()


class _Bound:
    """A live block of the running graph, and the slots and copies of its buffers."""

    def __init__(self, block: LiveBlock, reading: Reading, described: Mapping[str, object], sources: _Sources) -> None:
        self.block = block
        #: The files and the structural values, as keys, of the description that the block runs with.
        self.reading, self.described = reading, described
        self.fed: dict[str, Layout] = {}
        self.watched: dict[str, Layout] = {}
        self.slots: dict[str, _Slots] = {}
        self.sources = sources
        #: The copies to the host that have not arrived, the oldest first: buffer, layout, frame, slots, slot.
        self.flying: deque[tuple[str, Layout, int, _Slots, _Slot]] = deque()

    def land(self) -> None:
        """Pass on the contents that have arrived."""
        while self.flying and self.flying[0][-1].event.is_reached:
            name, layout, frame, slots, slot = self.flying.popleft()
            contents = np.asarray(_Lent(slot, slots.free))
            contents.flags.writeable = False
            self.block.arrive(name, frame, elements_in(layout, contents))


def _keys(values: Mapping[str, object]) -> dict[str, object]:
    """Return values that can be compared: arrays by identity."""
    return {name: bit_key(value) if type(value).__hash__ is not None else id(value) for name, value in values.items()}


def _fits(given: Array | LentMemory, layout: Layout) -> bool:
    """True if given contents have the layout of a buffer."""
    if isinstance(given, LentMemory):
        return given.size_bytes == layout.size_bytes
    return bool(given.shape == layout.shape + layout.dtype.numpy.shape)


class LiveBuffers:
    """Binds the live blocks of the running graph, and copies for them. It belongs to the engine's thread."""

    def __init__(self, context: CudaContext) -> None:
        self._context, self._device = context, context.device
        self._bound: dict[str, _Bound] = {}
        self._retired: list[_Slots | _Sources] = []
        self._shares = SharedDevices(self._device)
        #: Makes slots.
        self._maker = ThreadPoolExecutor(1, "warploom-slots")
        self._waits = False
        #: True in a replay, which writes no files; it is set before the first frame.
        self.is_replay = False

    @property
    def is_empty(self) -> bool:
        """True while the graph has no live block."""
        return not self._bound

    @property
    def is_flying(self) -> bool:
        """True while there are contents that no block has got."""
        return any(bound.flying for bound in self._bound.values())

    @property
    def has_given(self) -> bool:
        """True while there are contents that no launch has got."""
        return any(map(self._context.value_graph.has_given, self._bound))

    def follow(self, compiled: CompiledGraph | None) -> None:
        """Bind the live blocks of the graph after an update: a block with another description is another object."""
        kinds = compiled.plan.description.kinds if compiled is not None else ()
        if not (self._bound or any(kind.feeds or kind.watches for kind in kinds)):
            return
        found = compiled.plan.description.nodes if compiled is not None else ()
        nodes = {node.id: node.description for node in found if node.description.feeds or node.description.watches}
        for slots in self._retired:
            slots.close()
        for node in self._bound.keys() - nodes.keys():
            self._retire(self._bound.pop(node))
            self._context.value_graph.drop(node)
        for node, made in nodes.items():
            assert compiled is not None
            placed, bound = self._context.registry.placed.get(node), self._bound.get(node)
            block = placed.block if placed is not None else None
            is_described = block is not None and block.description.stands_for(made)
            if placed is not None and is_described and (bound is None or bound.reading is not placed.reading):
                bound = self._bind(placed)
            if bound is not None:
                layouts = compiled.plan.layouts
                bound.block.watched = bound.watched = {name: layouts[PortRef(node, name)] for name in made.watches}
                bound.block.fed = bound.fed = {name: layouts[PortRef(node, name)] for name in made.feeds}
                columns = compiled.plan.columns
                bound.block.watched_columns = {name: columns.get(PortRef(node, name), ()) for name in made.watches}

    def deliver(self, *, waits: bool, counts: bool) -> None:
        """Give blocks the contents that have arrived, before they are updated."""
        self._waits = waits
        for bound in self._bound.values():
            bound.block.waits, bound.block.counts = waits, counts
            bound.land()

    def feed(self, compiled: CompiledGraph, stream: Stream) -> None:
        """Copy given contents to the device, before a launch."""
        for node, bound in self._bound.items():
            for name, array in self._context.value_graph.given(node).items():
                layout = bound.fed.get(name)
                if layout is None or not _fits(array, layout):
                    continue  # given before the graph was replaced
                place = compiled.plan.buffers.places[PortRef(node, name)]
                memory = part_of(compiled.memory[place.owner], place.offset, layout.size_bytes)
                if isinstance(array, LentMemory):
                    stream.copy(memory, array.memory, layout.size_bytes)
                    bound.sources.keep(array, stream)
                    continue
                if not self._device.info.is_asynchronous and layout.strides is None:
                    self._device.write(memory, array)  # the launch before has ended
                    continue
                slots = self._slots(bound, name, layout.size_bytes)
                slot = slots.take(MOST_SLOTS)
                if slot is None:
                    slot = slots.free.popleft()
                    slot.event.synchronize()
                elements_in(layout, slot.pinned.array)[...] = array
                stream.copy(memory, slot.pinned, layout.size_bytes)
                stream.record(slot.event)
                slots.free.append(slot)

    def take(self, compiled: CompiledGraph, stream: Stream, frame: int) -> None:
        """Copy watched contents to the host, after the launch of a frame."""
        for node, bound in self._bound.items():
            is_late = bound.block.waiting >= MOST_SLOTS  # it is not updated
            for name, layout in bound.watched.items():
                memory = lasting_place(compiled, PortRef(node, name))
                assert memory is not None  # watched buffers are looked at
                slots = self._slots(bound, name, layout.span_bytes)
                slot = slots.take(None if self._waits and not is_late else MOST_SLOTS)
                if slot is None:
                    bound.block.missed += 1
                    continue
                stream.copy(slot.pinned, memory, layout.span_bytes)
                stream.record(slot.event)
                bound.flying.append((name, layout, frame, slots, slot))

    def finish(self) -> None:
        """Pass on everything that was watched; all copies must have ended."""
        for bound in self._bound.values():
            bound.land()

    def close(self) -> None:
        """End the life of all blocks; the device must be done with the graph."""
        self._maker.shutdown()
        try:
            self.finish()
        finally:
            self._context.value_graph.end_steps()
            for bound in self._bound.values():
                self._retire(bound)
            self._bound.clear()
            release_all(*(slots.close for slots in self._retired), self._shares.close)

    def _bind(self, placed: PlacedNode) -> _Bound | None:
        """Create the object that runs for a node, with its structural values as described, and others as they are."""
        node, block_type, before = placed.id, placed.block_type, self._bound.pop(placed.id, None)
        assert block_type is not None
        if before is not None:
            self._retire(before)
        failed = partial(
            code_diagnostic, what=f"construction of {block_type.id}", near=block_type.source_file(), node=node
        )
        made = self._context.code.run(
            partial(block_type, node), failed, ours=is_ours(block_type), at=(node, "construction")
        )
        if not isinstance(made, LiveBlock):
            _log.error("%s: %s", node, made.message if isinstance(made, Diagnostic) else type(made).__name__)
            return None
        described = {name: placed.values[name] for name, spec in placed.specs.items() if spec.structural}
        if before is not None and type(before.block) is type(made) and before.described == _keys(described):
            made.before = before.block.before or before.block  # one that has not begun has nothing to go on with
        made.values = ChainMap(described, self._context.parameters.values[node])  # type: ignore[assignment]
        made.engine_device, made.share_device = self._device.info.name, self._shares.share
        made.is_replay, made.file_to_write = self.is_replay, partial(self._file_to_write, node)
        made.note_written = lambda path: self._context.save_place().note(path)
        bound = self._bound[node] = _Bound(made, placed.reading, _keys(described), _Sources(self._device))
        self._context.value_graph.place(made)
        return bound

    def _retire(self, bound: _Bound) -> None:
        bound.land()
        self._retired += [*bound.slots.values(), bound.sources]

    def _slots(self, bound: _Bound, name: str, size_bytes: int) -> _Slots:
        slots = bound.slots.get(name)
        if slots is None or slots.size_bytes != size_bytes:
            if slots is not None:
                self._retired.append(slots)
            slots = bound.slots[name] = _Slots(self._device, size_bytes, self._maker)
        return slots

    def _file_to_write(self, node: str, name: str) -> Path:
        if self.is_replay:
            raise PatchError("file must not be written while the patch is replayed to find a fault")
        place = self._context.save_place()
        path = place.base / name
        if refused := place.refusal(node, path) or place.overwriting(node, path):
            raise PatchError(f"{refused.message} ({refused.remedy})")
        return path
