"""Samples: what people look at in ports, read back after frames and reduced beside them.

The bytes of a buffer that keeps its memory are copied like a viewer's picture (`previews.py`): on a second stream, into
pinned memory; a GPU takes the means of a thumbnail's cells first, and only these are transferred. Other contents are
read as `Client.read` does it. A thread makes the sample of them. The engine's thread spends a tenth of its time on this
at most, and the other thread a third.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.protocol import MemoryPart, Stream, part_of
from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.sampling import Reduction, Sample, Sampling
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.preview.picture_slot import Downscaler, PictureSlot, next_due_ns
from warploom.engine.runtime.preview.reading import elements_in, lasting_place
from warploom.engine.runtime.preview.reducing import make_sample, part_of_shape
from warploom.engine.types import Array, dtype_of
from warploom.engine.types.layout import Layout

#: A larger buffer is looked at in parts.
MOST_BYTES = 256 << 20
#: Samples take so many bytes a second at most, through a pipe too.
BYTES_PER_S = 128e6
_ENGINE_SHARE, _WORKER_SHARE = 10, 3


@dataclass(eq=False)
class Watch:
    """A sampled port: the request, the time at which the next sample is due, and the identity of the last one."""

    name: str
    sampling: Sampling
    slot: PictureSlot
    due_ns: int = 0
    key: object = None
    value: Array | None = None
    making: "Future[None] | None" = None

    @property
    def is_free(self) -> bool:
        """True when no sample is under way."""
        return self.slot.is_free and (self.making is None or self.making.done())


@dataclass(frozen=True)
class SampleCopy:
    """Some bytes that are copied now: rows of a buffer from `first_row` on.

    With `rows`, these are all that is copied, of `layout.shape[1:]` each; `memory` is then that of the whole buffer.
    With `is_reduced`, the device takes the means of cells, and the cells of `layout` are all that is copied.
    """

    watch: Watch
    layout: Layout
    whole: Layout
    memory: MemoryPart
    first_row: int
    frame: int
    rows: tuple[int, ...] = ()
    is_reduced: bool = False


class Samples:
    """Takes samples for an engine. Its methods belong to the engine's thread; `beside` makes the samples."""

    def __init__(
        self,
        services: DeviceServices,
        outbox: Outbox,
        beside: Executor,
        downscaler: Downscaler,
        clock: Callable[[], int],
    ) -> None:
        self._device, self._pool, self._outbox, self._beside = services.device, services.pool, outbox, beside
        self._downscaler, self._clock_ns = downscaler, clock
        self._watches: dict[str, Watch] = {}
        self._spare: list[PictureSlot] = []
        #: The last launch, and the last frame.
        self._launch = self._frame = 0
        #: What the client looks at, and samples that are for others, with the functions that take them.
        self._asked: Mapping[str, Sampling] = {}
        self._takers: Mapping[str, tuple[Sampling, Callable[[Sample], None]]] = {}

    def observe(self, samplings: Mapping[str, Sampling]) -> None:
        """Take these samples from now on, by name."""
        self._asked = samplings
        self._follow({**samplings, **{name: sampling for name, (sampling, _) in self._takers.items()}})

    def give(self, takers: Mapping[str, tuple[Sampling, Callable[[Sample], None]]]) -> None:
        """Take further samples, each for a function, which any thread may call."""
        self._takers = takers
        self.observe(self._asked)

    def _follow(self, samplings: Mapping[str, Sampling]) -> None:
        for name in self._watches.keys() - samplings.keys():
            self._spare.append(self._watches.pop(name).slot)
            self._outbox.drop_sample(name)
        for name, sampling in samplings.items():
            watch = self._watches.get(name)
            if watch is None:
                self._watches[name] = Watch(name, sampling, self._take_slot())
            elif sampling != watch.sampling:
                watch.sampling, watch.due_ns, watch.key, watch.value = sampling, 0, None, None

    @property
    def is_watched(self) -> bool:
        """True while a port is observed."""
        return bool(self._watches)

    def due(self, launch: int, frame: int, *, by_hand: bool) -> list[Watch]:
        """Return the watches whose sample is to be taken now, after launch number `launch`.

        `frame` is the number of the last frame.
        """
        self._launch, self._frame, now_ns = launch, frame, self._clock_ns()
        return [
            watch
            for watch in self._watches.values()
            if watch.is_free and (by_hand or (now_ns >= watch.due_ns and not self._outbox.has_sample(watch.name)))
        ]

    @property
    def has_work(self) -> bool:
        """True when there is a sample to take, even without a launch."""
        return any(map(self.needs_read, self.due(self._launch, self._frame, by_hand=False)))

    def _key(self, watch: Watch) -> object:
        """Return the identity of the present sample of a watch."""
        return (self._launch, self._frame) if watch.sampling.each_frame else self._launch

    def take_value(self, watch: Watch, value: float, frame: int) -> None:
        """Take a value port's sample, if it is new."""
        array = np.array(value)
        is_new, watch.key = self.needs_read(watch) and watch.sampling.each_frame, self._key(watch)
        if is_new or watch.value is None or array.tobytes() != watch.value.tobytes():
            watch.value = array
            self._put(make_sample(watch.name, watch.sampling, frame, dtype_of(array), (), array))
            self._pace(watch, 0, 0)

    def plan(self, compiled: CompiledGraph | None, watch: Watch, frame: int) -> SampleCopy | None:
        """Return the copy for a watch; None if there is none, or the contents must be read otherwise (`needs_read`).

        A port without contents gets a sample without data.
        """
        if not self.needs_read(watch):
            return None
        sampling, missing = watch.sampling, ""
        inner = None if compiled is None else compiled.plan.inlined.output(sampling.port)
        if compiled is None or inner not in compiled.plan.layouts:
            missing = f"{sampling.port} is not part of the running graph"
        else:
            whole = compiled.plan.layouts[inner]
            layout, first_row = _rows(whole, sampling)
            place = lasting_place(compiled, sampling.port)
            if place is not None and (rows := _single_rows(whole, sampling)):
                reduces = self._can_reduce(whole, sampling)
                picked = Layout(whole.dtype, (len(rows), sampling.size[1] if reduces else whole.shape[1]))
                return SampleCopy(watch, picked, whole, place, 0, frame, rows, reduces)
            if layout.span_bytes > MOST_BYTES:
                missing = f"{whole} has {whole.span_bytes >> 20} MB, of which {MOST_BYTES >> 20} can be shown at once"
            elif place is not None and layout.span_bytes:
                row_bytes = whole.span_bytes // whole.shape[0] if whole.shape and layout is not whole else 0
                part = part_of(place.whole, place.offset + first_row * row_bytes, layout.span_bytes)
                return SampleCopy(watch, layout, whole, part, first_row, frame)
            else:
                return None
        watch.key = self._key(watch)
        self.miss(watch, frame, missing)
        return None

    def _can_reduce(self, whole: Layout, sampling: Sampling) -> bool:
        """True when the device can take the means of cells, so that not all columns of their rows are transferred."""
        is_smaller = len(sampling.size) == 2 and sampling.size[1] < whole.shape[1] and not sampling.field
        is_all = part_of_shape(sampling, whole.shape) == tuple((0, extent) for extent in whole.shape)
        return self._device.info.has_own_memory and is_smaller and is_all and self._downscaler.can_reduce(whole.dtype)

    def needs_read(self, watch: Watch) -> bool:
        """True if a watch has no sample of this launch yet, or of this frame if it needs each."""
        return watch.key != self._key(watch)

    def miss(self, watch: Watch, frame: int, missing: str) -> None:
        """Leave a sample without data."""
        watch.key = self._key(watch)
        self._put(Sample(watch.name, watch.sampling, frame, missing=missing))
        self._pace(watch, 0, 0)

    def take_read(self, watch: Watch, layout: Layout, array: Array, frame: int, held_ns: int) -> None:
        """Make a sample of contents that `read_port` returned after `held_ns`."""
        watch.key = self._key(watch)
        self._pace(watch, held_ns, 0)
        watch.making = self._beside.submit(self._make, watch, watch.sampling, frame, layout, array, 0)

    def has_room(self, reading: SampleCopy, *, by_hand: bool) -> bool:
        """False while memory is being reserved for a sample, and when there is none, which the sample then says."""
        slot, staged = reading.watch.slot, self._device.info.has_own_memory
        room = slot.make_room(reading.layout.span_bytes, on_device=staged, beside=self._beside, wait=by_hand)
        if room is not False:
            return room is True
        self.miss(reading.watch, reading.frame, f"sample must fit in memory: {slot.refused[1]}")
        return False

    def begin(self, reading: SampleCopy, stream: Stream) -> None:
        """Copy bytes out of the graph's memory, on a stream."""
        slot, begun_ns = reading.watch.slot, self._clock_ns()
        slot.is_free, reading.watch.key = False, self._key(reading.watch)
        is_staged, place, size = self._device.info.has_own_memory, reading.memory, reading.layout.span_bytes
        if reading.is_reduced:
            self._downscaler.reduce_cells(stream, place, reading.whole, slot.memory, reading.layout)
        elif reading.rows:
            size //= len(reading.rows)
            for number, row in enumerate(reading.rows):
                source = part_of(place.whole, place.offset + row * size, size)
                if is_staged:
                    stream.copy(part_of(slot.memory, number * size, size), source, size)
                else:  # a copy on the host is done at once
                    self._device.read(source, slot.pinned.array[number * size : (number + 1) * size])
        else:
            stream.copy(slot.memory if is_staged else slot.pinned, place, size)
        self._pace(reading.watch, self._clock_ns() - begun_ns, 0)

    def transfer(self, reading: SampleCopy, stream: Stream) -> None:
        """Copy the bytes to the host where `begin` has left them on the device."""
        if self._device.info.has_own_memory:
            slot = reading.watch.slot
            stream.copy(slot.pinned, slot.memory, reading.layout.span_bytes)

    def complete(self, reading: SampleCopy) -> None:
        """Make the sample of bytes that have arrived."""
        watch = reading.watch
        if self._watches.get(watch.name) is not watch:
            watch.slot.is_free = True
            return
        array = elements_in(reading.layout, watch.slot.pinned.array[: reading.layout.span_bytes])
        watch.making = self._beside.submit(
            self._make,
            watch,
            watch.sampling,
            reading.frame,
            reading.whole,
            array,
            reading.first_row,
            bool(reading.rows),
        )

    def abandon(self, reading: SampleCopy) -> None:
        """Forget a copy that has failed."""
        reading.watch.slot.is_free, reading.watch.key = True, None

    def finish(self) -> None:
        """Wait for the samples under way, for a frame by hand."""
        for watch in self._watches.values():
            if watch.making is not None:
                watch.making.result()

    def slots(self) -> Iterator[PictureSlot]:
        """Return all slots, for closing."""
        yield from self._spare
        yield from (watch.slot for watch in self._watches.values())

    def _make(
        self,
        watch: Watch,
        sampling: Sampling,
        frame: int,
        whole: Layout,
        array: Array,
        first_row: int,
        has_rows: bool = False,
    ) -> None:
        begun_ns = time.thread_time_ns()
        try:
            if has_rows:
                few = structs.replace(sampling, part=((0, len(array)), *sampling.part[1:]))
                made = make_sample(watch.name, few, frame, whole.dtype, array.shape[:2], array)
                part = part_of_shape(sampling, whole.shape)
                sample = structs.replace(made, sampling=sampling, shape=whole.shape, part=part)
            else:
                sample = make_sample(watch.name, sampling, frame, whole.dtype, whole.shape, array, first_row)
        except (WarploomError, MemoryError) as problem:
            sample = Sample(watch.name, sampling, frame, str(whole.dtype), whole.shape, missing=str(problem))
        finally:
            watch.slot.is_free = True
        self._pace(watch, 0, time.thread_time_ns() - begun_ns, 0 if sample.data is None else sample.data.nbytes)
        if self._watches.get(watch.name) is watch:
            self._put(sample)

    def _put(self, sample: Sample) -> None:
        taker = self._takers.get(sample.name)
        if taker is None:
            self._outbox.put_sample(sample)
        else:
            taker[1](sample)

    def _pace(self, watch: Watch, held_ns: int, worked_ns: int, size_bytes: int = 0) -> None:
        """Let the next sample wait so long that samples take only their share of threads and bytes."""
        now_ns = self._clock_ns()
        count = max(1, len(self._watches))
        after_ns = max(_ENGINE_SHARE * held_ns, _WORKER_SHARE * worked_ns, int(1e9 * size_bytes / BYTES_PER_S)) * count
        at_ns = watch.due_ns if worked_ns or size_bytes else next_due_ns(watch.due_ns, now_ns, watch.sampling.rate)
        watch.due_ns = max(at_ns, now_ns + after_ns)

    def _take_slot(self) -> PictureSlot:
        for index, slot in enumerate(self._spare):
            if slot.is_free:
                slot.refused = (0, "")
                return self._spare.pop(index)
        return PictureSlot(self._device, self._pool)


def _single_rows(layout: Layout, sampling: Sampling) -> tuple[int, ...]:
    """Return the first row of each cell, if a sample needs no others."""
    if not (sampling.in_place and sampling.reduction is Reduction.MEAN and len(layout.shape) == 2 and sampling.size):
        return ()
    begin, end = part_of_shape(sampling, layout.shape)[0]
    count = sampling.size[0]
    is_needed = sampling.bins or sampling.probe is not None or layout.strides is not None
    if is_needed or count >= end - begin or not layout.size_bytes:
        return ()
    return tuple(begin + number * (end - begin) // count for number in range(count))


def _rows(layout: Layout, sampling: Sampling) -> tuple[Layout, int]:
    """Return the layout of the rows that a sample needs, and the first of them; statistics need all."""
    if sampling.bins or layout.strides is not None or not layout.shape:
        return layout, 0
    begin, end = part_of_shape(sampling, layout.shape)[0]
    probe = sampling.probe
    if probe is not None and len(probe) == len(layout.shape) and probe[0] < layout.shape[0]:
        begin, end = min(begin, probe[0]), max(end, probe[0] + 1)
    if (begin, end) == (0, layout.shape[0]):
        return layout, 0
    return Layout(layout.dtype, (end - begin, *layout.shape[1:])), begin
