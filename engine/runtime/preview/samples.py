"""Samples: what people look at in ports and viewers, read back after frames beside the next ones.

After a launch, a second stream waits on the device for the end of the frame, and copies what is looked at to pinned
memory. A GPU first scales pictures down to their shown size, and takes the means of a thumbnail's cells. The next
launch waits, on the device too, until the graph's memory has been read. While it waits for the next frame, or else in a
later one, the engine's thread finds the copies done. It waits for them only before an update, for the short time in
which the buffers are read. By hand (`step`), all of this happens in the frame.

A viewer's picture is offered to its reader as it arrived. Of other bytes, a thread makes the sample. Contents that
don't keep their memory are read as `Client.read` does it. The engine's thread spends a tenth of its time on this at
most, and the other thread a third.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
from msgspec import structs

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.protocol import Stream
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import Diagnostic, Source, WarploomError, warning
from warploom.engine.profiling.side_work import SideKind
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.sampling import Sample, Sampling
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.preview.copies import (
    Copy,
    PictureCopy,
    PictureSource,
    PortCopy,
    Watch,
    picture_copy,
    picture_sources,
    port_copy,
)
from warploom.engine.runtime.preview.downscaler import Downscaler
from warploom.engine.runtime.preview.reading import elements_in
from warploom.engine.runtime.preview.reducing import make_sample, part_of_shape
from warploom.engine.runtime.preview.slot import Slot
from warploom.engine.types import Array, dtype_of
from warploom.engine.types.layout import Layout

#: Samples take so many bytes a second at most, through a pipe too.
BYTES_PER_S = 128e6
_ENGINE_SHARE, _WORKER_SHARE = 10, 3


class Samples:
    """Takes samples for an engine; all methods belong to the engine's thread.

    `tell` is called with the reason why pictures of observed viewers are missing or slow, whenever it changes.
    """

    def __init__(
        self, services: DeviceServices, outbox: Outbox, tell: Callable[[tuple[Diagnostic, ...]], None]
    ) -> None:
        device = services.device
        self._device, self._pool, self._times, self._outbox = device, services.pool, services.times, outbox
        #: The time by which samples are due.
        self.clock_ns: Callable[[], int] = time.perf_counter_ns
        with ExitStack() as failing:
            self._stream = device.create_stream()
            failing.callback(self._stream.destroy)
            events = []
            for _ in range(4):
                events.append(device.create_event())
                failing.callback(events[-1].destroy)
            self._ended, self._began, self._read, self._done = events
            failing.pop_all()
        #: Loads the kernel, reserves memory and makes samples, beside the frames.
        self._beside = ThreadPoolExecutor(1, "warploom-samples")
        self.downscaler = Downscaler(device, self._beside)
        self._watches: dict[str, Watch] = {}
        #: The watches of viewers, and the others.
        self._pictures: list[Watch] = []
        self._ports: list[Watch] = []
        self._spare: list[Slot] = []  # of what is no longer observed
        #: What the client looks at, and samples that are for others, with the functions that take them.
        self._asked: Mapping[str, Sampling] = {}
        self._takers: Mapping[str, tuple[Sampling, Callable[[Sample], None]]] = {}
        self._flying: Sequence[Copy] = ()
        #: The second stream still reads the graph's memory.
        self.reads_graph = False
        self._plan: Plan | None = None
        self._sources: dict[str, PictureSource] = {}
        self._unshowable: list[Diagnostic] = []
        self._unloaded: list[Diagnostic] = []
        self._tell = tell
        self._problems: tuple[Diagnostic, ...] = ()  # the problems that were reported last
        #: The last launch, and the last frame.
        self._launch = self._last = 0

    # What is observed

    def observe(self, samplings: Mapping[str, Sampling]) -> None:
        """Take these samples from now on, by name."""
        self._asked = samplings
        self._follow({**samplings, **{name: sampling for name, (sampling, _) in self._takers.items()}})
        self._renew_problems()
        if self._pictures and self._device.info.has_own_memory:
            self.downscaler.load(wait=False)

    def give(self, takers: Mapping[str, tuple[Sampling, Callable[[Sample], None]]]) -> None:
        """Take further samples of ports, each for a function, which any thread may call."""
        self._takers = takers
        self.observe(self._asked)

    def _follow(self, samplings: Mapping[str, Sampling]) -> None:
        others = [n for n, w in self._watches.items() if n in samplings and w.is_picture != samplings[n].is_picture]
        for name in [*(self._watches.keys() - samplings.keys()), *others]:  # a picture needs its reader, others don't
            gone = self._watches.pop(name)
            if self._outbox.drop_sample(name) and gone.is_picture:
                gone.slot.is_free = True
            self._spare.append(gone.slot)
        for name, sampling in samplings.items():
            watch = self._watches.get(name)
            if watch is None:
                self._watches[name] = Watch(name, sampling, self._take_slot())
            elif sampling != watch.sampling:
                if not watch.is_picture:  # whether another picture is wanted depends on the launch
                    watch.due_ns, watch.key, watch.value = 0, None, None
                elif sampling.rate != watch.sampling.rate:
                    watch.due_ns = 0
                watch.sampling = sampling
        watches = self._watches.values()
        self._pictures = [watch for watch in watches if watch.is_picture]
        self._ports = [watch for watch in watches if not watch.is_picture]

    def _take_slot(self) -> Slot:
        for index, slot in enumerate(self._spare):
            if slot.is_free:
                slot.refused = (0, "")
                return self._spare.pop(index)
        return Slot(self._device, self._pool)

    @property
    def is_watched(self) -> bool:
        """True while a port or viewer is observed, or a copy is under way."""
        return bool(self._watches or self._flying)

    @property
    def is_flying(self) -> bool:
        """True while copies are under way."""
        return bool(self._flying)

    @property
    def has_work(self) -> bool:
        """True when there is something to offer or to take, or a problem to report, even without a launch."""
        if self._flying or not self._watches:
            return bool(self._flying)
        untold = self._pictures and self.downscaler.problem is not None
        due = self.due(self._launch, self._last, by_hand=False)
        return bool(untold or self._due_pictures(0, by_hand=False) or any(map(self.needs_read, due)))

    # Ports

    def due(self, launch: int, last: int, *, by_hand: bool) -> list[Watch]:
        """Return the watches of ports whose sample is to be taken now, after launch number `launch`.

        `last` is the number of the last frame.
        """
        self._launch, self._last = launch, last
        if not self._ports:
            return []
        now_ns, has_sample = self.clock_ns(), self._outbox.has_sample
        return [
            watch
            for watch in self._ports
            if watch.is_free and (by_hand or (now_ns >= watch.due_ns and not has_sample(watch.name)))
        ]

    def _key(self, watch: Watch) -> object:
        """Return the identity of the present sample of a watch."""
        return (self._launch, self._last) if watch.sampling.each_frame else self._launch

    def needs_read(self, watch: Watch) -> bool:
        """True if a watch has no sample of this launch yet, or of this frame if it needs each."""
        return watch.key != self._key(watch)

    def take_value(self, watch: Watch, value: float, frame: int) -> None:
        """Take a value port's sample, if it is new."""
        array = np.array(value)
        is_new, watch.key = self.needs_read(watch) and watch.sampling.each_frame, self._key(watch)
        if is_new or watch.value is None or array.tobytes() != watch.value.tobytes():
            watch.value = array
            self._put(make_sample(watch.name, watch.sampling, frame, dtype_of(array), (), array))
            self._pace(watch, 0, 0)

    def plan(self, compiled: CompiledGraph | None, watch: Watch, frame: int) -> PortCopy | None:
        """Return the copy for a watch; None if there is none, or the contents must be read otherwise (`needs_read`).

        A port without contents gets a sample without data.
        """
        if not self.needs_read(watch):
            return None
        made = port_copy(watch, compiled, self._key(watch), frame, self._device, self.downscaler)
        if isinstance(made, str):
            self.miss(watch, frame, made)
            return None
        return made

    def miss(self, watch: Watch, frame: int, missing: str) -> None:
        """Leave a sample without data."""
        watch.key = self._key(watch)
        self._put(Sample(watch.name, watch.sampling, frame, missing=missing))
        self._pace(watch, 0, 0)

    def take_read(self, watch: Watch, layout: Layout, array: Array, frame: int, held_ns: int) -> None:
        """Make a sample of contents that `read_port` returned after `held_ns`."""
        watch.key = self._key(watch)
        self._pace(watch, held_ns, 0)
        watch.making = self._beside.submit(self._make, watch, watch.sampling, frame, layout, array)

    # Copies

    def take(
        self,
        compiled: CompiledGraph | None,
        stream: Stream,
        launch: int,
        frame: int,
        copies: Sequence[PortCopy] = (),
        *,
        by_hand: bool,
    ) -> None:
        """Offer what has arrived, and begin to copy the pictures that are due, and some ports.

        `launch` counts the launches on `stream`; the last one gave frame number `frame`. By hand, all pictures are due
        and have been offered on return. Raise DeviceError if the device fails.
        """
        self.offer()
        pictures = self._pictures
        if compiled is None or not (pictures or copies) or (self._flying and not by_hand):
            return
        self._launch = launch
        if compiled.plan is not self._plan:
            self._plan = compiled.plan
            self._sources, self._unshowable = picture_sources(compiled.plan)
            for watch in self._watches.values():
                watch.slot.refused = (0, "")  # the update may have freed memory
            self._renew_problems()
        is_ready = not pictures or self._is_ready(wait=by_hand)
        self._complete(wait=by_hand)
        wanted = [*(self._due_pictures(frame, by_hand=by_hand) if is_ready else ()), *copies]
        if roomy := [each for each in wanted if self._has_room(each, by_hand=by_hand)]:
            try:
                self._begin(compiled, stream, roomy)
            except BaseException:
                self._flying = ()
                for each in roomy:
                    each.watch.slot.is_free, each.watch.key = True, None
                raise
            self._complete(wait=by_hand)

    def land(self) -> None:
        """Wait for what is under way, so that a frame by hand can take everything anew."""
        self._complete(wait=True)
        self.finish()

    def finish(self) -> None:
        """Wait for the samples that are being made, for a frame by hand."""
        for watch in self._watches.values():
            if watch.making is not None:
                watch.making.result()

    def before_launch(self, stream: Stream) -> None:
        """Have the next launch on a stream wait, on the device, while the last frame's buffers are read."""
        stream.wait(self._read)
        self.reads_graph = False

    def before_update(self) -> None:
        """Wait until nothing reads the graph's memory, which may then be freed. This is soon, since no transfer reads
        it.
        """
        if self.reads_graph:
            self._read.synchronize()
            self.reads_graph = False

    def close(self) -> None:
        """Free all resources, even if some calls fail; then raise their DeviceError."""
        self._beside.shutdown()
        for copy in self._flying:
            copy.watch.slot.is_free = True
        self._flying = ()
        self._follow({})
        used = self._ended, self._began, self._read, self._done, self._stream
        slots = (slot.close for slot in self._spare)
        release_all(self._stream.synchronize, *slots, self.downscaler.close, *(each.destroy for each in used))

    def offer(self) -> None:
        """Offer the pictures that have arrived, and have samples made of other bytes."""
        if not self._flying or not self._done.is_reached:
            return
        flown, self._flying = self._flying, ()
        self.reads_graph = False
        ports = [copy.sampling.port for copy in flown]
        what = str(ports[0]).rstrip(".") if len(ports) == 1 else f"{len(ports)} outputs"
        size_bytes = sum(copy.size_bytes for copy in flown)
        self._times.add(SideKind.READBACK, what, self._done.elapsed_ns(self._began), size_bytes)
        for copy in flown:
            watch = copy.watch
            if self._watches.get(watch.name) is not watch:
                watch.slot.is_free = True
            elif isinstance(copy, PictureCopy):
                self._outbox.put_sample(watch.name, copy.take)
            elif isinstance(copy, PortCopy):
                array = elements_in(copy.layout, watch.slot.pinned.array[: copy.size_bytes])
                watch.making = self._beside.submit(
                    self._make, watch, copy.sampling, copy.frame, copy.whole, array, copy.first_row, bool(copy.rows)
                )

    def _is_ready(self, *, wait: bool) -> bool:
        """False while the kernel is being loaded."""
        if self._device.info.has_own_memory or any(not source.is_dense for source in self._sources.values()):
            if not self.downscaler.load(wait=wait):
                return False
            problem, self.downscaler.problem = self.downscaler.problem, None
            if problem is not None:
                self._unloaded = [problem]
                self._renew_problems()
        return True

    def _due_pictures(self, frame: int, *, by_hand: bool) -> list[PictureCopy]:
        """Return the pictures to take now: new ones, at each viewer's rate, of viewers whose last one was fetched."""
        found, now_ns = [], self.clock_ns()
        for watch in self._pictures:
            if watch.slot.is_free and (by_hand or now_ns >= watch.due_ns):
                source = self._sources.get(watch.sampling.port.node)
                copy = picture_copy(watch, source, self._launch, frame, self._device, self.downscaler)
                if copy is not None:
                    found.append(copy)
        return found

    def _begin(self, compiled: CompiledGraph, stream: Stream, copies: Sequence[Copy]) -> None:
        stream.record(self._ended)
        self._stream.wait(self._ended)
        self._stream.record(self._began)
        self.reads_graph = True
        self._flying = copies
        for copy in copies:
            watch, begun_ns = copy.watch, self.clock_ns()
            watch.slot.is_free, watch.key = False, copy.key
            copy.begin(compiled, self._device, self.downscaler, self._stream)
            if watch.refused is not None:
                watch.refused = None
                self._renew_problems()
            self._pace(watch, 0 if watch.is_picture else self.clock_ns() - begun_ns, 0)
        self._stream.record(self._read)
        for copy in copies:  # after the event, so that the next launch doesn't wait for a transfer
            copy.transfer(self._stream)
        self._stream.record(self._done)

    def _complete(self, *, wait: bool) -> None:
        if self._flying and wait:
            self._done.synchronize()
        self.offer()

    def _has_room(self, copy: Copy, *, by_hand: bool) -> bool:
        """False while memory is being reserved for a sample, and when there is none, which is reported."""
        watch, size_bytes = copy.watch, copy.room_bytes
        room = watch.slot.make_room(size_bytes, on_device=copy.is_staged, beside=self._beside, wait=by_hand)
        if room is not False:
            return room is True
        why = f"must fit in memory: {watch.slot.refused[1]}"
        if isinstance(copy, PictureCopy):
            text, node = f"picture of {copy.size[0]} x {copy.size[1]} {why}", copy.sampling.port.node
            remedy = "show it smaller, or free memory"
            watch.refused, watch.key = warning(text, node=node, remedy=remedy, source=Source.CAPACITY), copy.key
            self._renew_problems()
        else:
            self.miss(watch, copy.frame, f"sample {why}")
        return False

    def _renew_problems(self) -> None:
        pictures = self._pictures
        nodes = {watch.sampling.port.node for watch in pictures}
        unshown = [problem for problem in self._unshowable if problem.node in nodes]
        refused = [watch.refused for watch in pictures if watch.refused is not None]
        found = (*unshown, *(self._unloaded if pictures else ()), *refused)
        if found != self._problems:
            self._problems = found
            self._tell(found)

    # Samples that are made

    def _make(
        self,
        watch: Watch,
        sampling: Sampling,
        frame: int,
        whole: Layout,
        array: Array,
        first_row: int = 0,
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
            self._outbox.put_sample(sample.name, lambda _: sample)
        else:
            taker[1](sample)

    def _pace(self, watch: Watch, held_ns: int, worked_ns: int, size_bytes: int = 0) -> None:
        """Let the next sample wait so long that samples take only their share of threads and bytes."""
        now_ns = self.clock_ns()
        count = max(1, len(self._watches))
        after_ns = max(_ENGINE_SHARE * held_ns, _WORKER_SHARE * worked_ns, int(1e9 * size_bytes / BYTES_PER_S)) * count
        at_ns = watch.due_ns if worked_ns or size_bytes else next_due_ns(watch.due_ns, now_ns, watch.sampling.rate)
        watch.due_ns = max(at_ns, now_ns + after_ns)


def next_due_ns(due_ns: int, now_ns: int, rate: float | None) -> int:
    """Return when the sample after the present one is due; the present one was due at `due_ns`.

    A late sample doesn't delay the next one, so the mean rate holds. At most one missed sample is made up for.
    """
    if rate is None:
        return 0
    interval_ns = round(min(1e9 / rate, 3.6e12))  # an hour at most, since clocks can't wait for arbitrarily long times
    return max(due_ns + interval_ns, now_ns)
