"""Previews: the pictures of observed viewers, taken on a second stream while the next frame runs.

After a launch, the second stream waits on the device for the end of the frame, scales each picture down to its shown
size, and copies it to pinned memory. The next launch waits, on the device too, until the display buffers have been
read. While it waits for the next frame, or else in a later one, the engine's thread finds the copies done and offers
them to readers. It waits for them only before an update, for the short time in which the buffers are read. By hand
(`step`), all of this happens in the frame.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.protocol import Stream
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import Diagnostic, Source, warning
from warploom.engine.profiling.side_work import SideKind
from warploom.engine.protocol.messages import Viewing
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.runtime.model.context import DeviceServices
from warploom.engine.runtime.preview.picture_slot import (
    PIXEL_BYTES,
    Downscaler,
    PictureSlot,
    PictureSource,
    next_due_ns,
    picture_sources,
)
from warploom.engine.runtime.preview.samples import SampleCopy, Samples


@dataclass
class _Viewer:
    """An observed viewer: the request, the time at which the next picture is due, and the identity of the last one."""

    viewing: Viewing
    slot: PictureSlot
    due_ns: int = 0
    key: object = None
    refused: Diagnostic | None = None


@dataclass(frozen=True)
class _Job:
    """A picture to be taken now."""

    node: str
    viewer: _Viewer
    source: PictureSource
    size: tuple[int, int]
    probe: tuple[int, int] | None
    key: object


class Previews:
    """Takes pictures for an engine; all methods belong to the engine's thread.

    `tell` is called with the reason why pictures of observed viewers are missing or slow, whenever it changes.
    """

    def __init__(
        self, services: DeviceServices, outbox: Outbox, tell: Callable[[tuple[Diagnostic, ...]], None]
    ) -> None:
        device = services.device
        self._device, self._pool, self._times, self._outbox = device, services.pool, services.times, outbox
        #: The time by which pictures are due.
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
        #: Loads the kernel and reserves memory beside the frames.
        self._beside = ThreadPoolExecutor(1, "warploom-pictures")
        self.downscaler = Downscaler(device, self._beside)
        #: The ports that are looked at without a viewer.
        self.samples = Samples(services, outbox, self._beside, self.downscaler, lambda: self.clock_ns())
        self._viewers: dict[str, _Viewer] = {}
        self._spare: list[PictureSlot] = []  # of viewers that are no longer observed
        self._flying: list[_Job] = []
        self._readings: list[SampleCopy] = []  # the samples under way
        #: The second stream still reads the graph's memory.
        self.reads_graph = False
        self._plan: Plan | None = None
        self._sources: dict[str, PictureSource] = {}
        self._unshowable: list[Diagnostic] = []
        self._unloaded: list[Diagnostic] = []
        self._tell = tell
        self._problems: tuple[Diagnostic, ...] = ()  # the problems that were reported last
        self._launch = 0
        self._frame = 0  # the frame of the pictures under way

    def observe(self, viewers: Mapping[str, Viewing]) -> None:
        """Take pictures of these viewers from now on, by node id."""
        self._watch(viewers)
        self._renew_problems()
        if viewers and self._device.info.has_own_memory:
            self.downscaler.load(wait=False)

    def _watch(self, viewers: Mapping[str, Viewing]) -> None:
        for node in self._viewers.keys() - viewers.keys():
            gone = self._viewers.pop(node)
            if self._outbox.drop_preview(node):
                gone.slot.is_free = True
            self._spare.append(gone.slot)
        for node, viewing in viewers.items():
            viewer = self._viewers.get(node)
            if viewer is None:
                self._viewers[node] = _Viewer(viewing, self._take_slot())
            else:
                if viewing.rate != viewer.viewing.rate:
                    viewer.due_ns = 0
                viewer.viewing = viewing

    @property
    def is_watched(self) -> bool:
        """True while a viewer or a port is observed, or a picture is under way."""
        return bool(self._viewers or self.is_flying or self.samples.is_watched)

    @property
    def is_flying(self) -> bool:
        """True while a picture or the bytes of a sample are under way."""
        return bool(self._flying or self._readings)

    @property
    def has_work(self) -> bool:
        """True when there is a picture to offer or to take, or a problem to report, even without a launch."""
        untold = self._viewers and self.downscaler.problem is not None
        return bool(self.is_flying or untold or self._due(by_hand=False) or self.samples.has_work)

    def take(
        self,
        compiled: CompiledGraph | None,
        stream: Stream,
        launch: int,
        frame: int,
        readings: Sequence[SampleCopy] = (),
        *,
        by_hand: bool,
    ) -> None:
        """Offer the pictures that are done, and begin to take those that are due, and the bytes of some samples.

        `launch` counts the launches on `stream`; the last one gave frame number `frame`. By hand, all pictures are due
        and have been offered on return. Raise DeviceError if the device fails.
        """
        self.offer()
        if compiled is None or not (self._viewers or readings) or (self.is_flying and not by_hand):
            return
        self._launch = launch
        if compiled.plan is not self._plan:
            self._plan = compiled.plan
            self._sources, self._unshowable = picture_sources(compiled.plan)
            for viewer in self._viewers.values():
                viewer.slot.refused = (0, "")  # the update may have freed memory
            self._renew_problems()
        jobs: list[_Job] = []
        is_ready = not self._viewers or self._is_ready(wait=by_hand)
        self._complete(wait=by_hand)
        if is_ready:
            jobs = [job for job in self._due(by_hand=by_hand) if self._has_room(job, by_hand=by_hand)]
        roomy = [reading for reading in readings if self.samples.has_room(reading, by_hand=by_hand)]
        if jobs or roomy:
            try:
                self._begin(compiled, stream, jobs, roomy, frame)
            except BaseException:
                self._flying, self._readings = [], []
                for job in jobs:
                    job.viewer.slot.is_free, job.viewer.key = True, None
                for reading in roomy:
                    self.samples.abandon(reading)
                raise
            self._complete(wait=by_hand)

    def land(self) -> None:
        """Wait for what is under way, so that a frame by hand can take all pictures and samples anew."""
        self._complete(wait=True)
        self.samples.finish()

    def before_launch(self, stream: Stream) -> None:
        """Have the next launch on a stream wait, on the device, while the last frame's pictures are read."""
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
        for reading in self._readings:
            self.samples.abandon(reading)
        self._readings = []
        self.samples.observe({})
        for job in self._flying:
            job.viewer.slot.is_free = True
        self._flying = []
        self._watch({})
        used = self._ended, self._began, self._read, self._done, self._stream
        slots = (slot.close for slot in (*self._spare, *self.samples.slots()))
        release_all(self._stream.synchronize, *slots, self.downscaler.close, *(each.destroy for each in used))

    def _take_slot(self) -> PictureSlot:
        for index, slot in enumerate(self._spare):
            if slot.is_free:
                slot.refused = (0, "")
                return self._spare.pop(index)
        return PictureSlot(self._device, self._pool)

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

    def _due(self, *, by_hand: bool) -> list[_Job]:
        """Return the pictures to take now: new ones, at each viewer's rate, of viewers whose last one was fetched."""
        jobs = []
        now = 0 if by_hand else self.clock_ns()
        for node, viewer in self._viewers.items():
            source = self._sources.get(node)
            if source is None or not viewer.slot.is_free or not (by_hand or now >= viewer.due_ns):
                continue
            if not source.is_dense and self.downscaler.kernel is None:
                continue  # only the kernel can gather this picture; its absence has been reported
            size = self._size(source, viewer.viewing)
            probe = viewer.viewing.probe if size != source.size else None  # a whole picture has all pixels
            if probe is not None and not (0 <= probe[0] < source.size[0] and 0 <= probe[1] < source.size[1]):
                probe = None
            key = (self._launch, source, size, probe)
            if viewer.key != key:
                jobs.append(_Job(node, viewer, source, size, probe, key))
        return jobs

    def _size(self, source: PictureSource, viewing: Viewing) -> tuple[int, int]:
        # Without a transfer, copying a picture takes less time than scaling it down.
        if viewing.size is None or not self._device.info.has_own_memory or self.downscaler.kernel is None:
            return source.size
        return fitted_size(source.size, viewing.size)

    def _begin(
        self, compiled: CompiledGraph, stream: Stream, jobs: list[_Job], readings: list[SampleCopy], frame: int
    ) -> None:
        stream.record(self._ended)
        self._stream.wait(self._ended)
        self._stream.record(self._began)
        self.reads_graph = True
        self._flying, self._readings, self._frame = jobs, readings, frame
        for job in jobs:
            self._read_picture(compiled, job)
            viewer = job.viewer
            viewer.slot.is_free = False
            viewer.key = job.key
            if viewer.refused is not None:
                viewer.refused = None
                self._renew_problems()
            viewer.due_ns = next_due_ns(viewer.due_ns, self.clock_ns(), viewer.viewing.rate)
        for reading in readings:
            self.samples.begin(reading, self._stream)
        self._stream.record(self._read)
        # After the event, so that the next launch doesn't wait for a transfer.
        for job in jobs:
            if self._is_staged(job):
                slot, (width, height) = job.viewer.slot, job.size
                extra = job.probe is not None
                self._stream.copy(slot.pinned, slot.memory, PIXEL_BYTES * (width * height + extra))
        for reading in readings:
            self.samples.transfer(reading, self._stream)
        self._stream.record(self._done)

    def _has_room(self, job: _Job, *, by_hand: bool) -> bool:
        """False while memory is being reserved for a picture, and when there is none, which is reported."""
        slot, size_bytes = job.viewer.slot, PIXEL_BYTES * (job.size[0] * job.size[1] + 1)
        room = slot.make_room(size_bytes, on_device=self._is_staged(job), beside=self._beside, wait=by_hand)
        if room is not False:
            return room is True
        text = f"picture of {job.size[0]} x {job.size[1]} must fit in memory: {slot.refused[1]}"
        job.viewer.refused = warning(
            text, node=job.node, remedy="show it smaller, or free memory", source=Source.CAPACITY
        )
        job.viewer.key = job.key
        self._renew_problems()
        return False

    def _renew_problems(self) -> None:
        unshown = [problem for problem in self._unshowable if problem.node in self._viewers]
        refused = [viewer.refused for viewer in self._viewers.values() if viewer.refused is not None]
        found = (*unshown, *(self._unloaded if self._viewers else ()), *refused)
        if found != self._problems:
            self._problems = found
            self._tell(found)

    def _read_picture(self, compiled: CompiledGraph, job: _Job) -> None:
        source, slot, (width, height) = job.source, job.viewer.slot, job.size
        picture, size_bytes = source.memory(compiled), PIXEL_BYTES * width * height
        if job.size != source.size or not source.is_dense:
            probe = job.probe or (0, 0)
            self.downscaler.reduce(self._stream, picture, source.size, source.strides, slot.memory, job.size, probe)
        else:
            self._stream.copy(slot.memory if self._is_staged(job) else slot.pinned, picture, size_bytes)

    def _is_staged(self, job: _Job) -> bool:
        """True when a picture goes through the slot's own device memory, which frees the graph's memory much sooner."""
        return self._device.info.has_own_memory or job.size != job.source.size or not job.source.is_dense

    def _complete(self, *, wait: bool) -> None:
        if self.is_flying and wait:
            self._done.synchronize()
        self.offer()

    def offer(self) -> None:
        """Offer the pictures that have arrived, and make the samples."""
        if not self.is_flying or not self._done.is_reached:
            return
        flown, self._flying = self._flying, []
        readings, self._readings = self._readings, []
        self.reads_graph = False
        names = [*(job.node for job in flown), *(str(reading.watch.sampling.port) for reading in readings)]
        what = names[0] if len(names) == 1 else f"{len(names)} viewers"
        size_bytes = PIXEL_BYTES * sum(width * height for width, height in (job.size for job in flown))
        size_bytes += sum(reading.layout.span_bytes for reading in readings)
        for reading in readings:
            self.samples.complete(reading)
        self._times.add(SideKind.READBACK, what, self._done.elapsed_ns(self._began), size_bytes)
        for job in flown:
            if self._viewers.get(job.node) is job.viewer:
                take = partial(job.viewer.slot.take, job.node, self._frame, job.size, job.source.size, job.probe)
                self._outbox.put_preview(job.node, take)
            else:
                job.viewer.slot.is_free = True


def fitted_size(whole: tuple[int, int], place: tuple[int, int]) -> tuple[int, int]:
    """Return (width, height) of a picture in the proportions of `whole` that fits in `place` and is no larger."""
    scale = min(place[0] / whole[0], place[1] / whole[1], 1.0)
    return max(1, round(whole[0] * scale)), max(1, round(whole[1] * scale))
