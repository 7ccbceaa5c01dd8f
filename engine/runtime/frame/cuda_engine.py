"""`CudaEngine`: the one place that launches. One call of `frame` is one frame.

Its phases: read the inbox, update the graph (structure, code, parameters), launch, collect, report.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from engine.catalogue.catalogue import Catalogue
from engine.compiler.executable.compiled_graph import CompiledGraph
from engine.compiler.frame import MOST_IN_FLIGHT
from engine.device.device import Device
from engine.device.protocol import Memory
from engine.diagnostics import DeviceError, Diagnostic
from engine.patch import changes
from engine.patch.changes import PortRef
from engine.patch.trust import SavePlace
from engine.profiling.levels import ProfilingLevel
from engine.protocol import messages
from engine.protocol.messages import FrameReport, Message, UpdateLevel, UpdateRecord
from engine.protocol.outbox import Outbox
from engine.protocol.pacing import Pacing
from engine.runtime.frame.clock import Clock
from engine.runtime.frame.in_flight import FramesInFlight
from engine.runtime.frame.profiler import Profiler
from engine.runtime.frame.recorder import FlightRecorder
from engine.runtime.frame.reporter import Reporter
from engine.runtime.model.context import CudaContext
from engine.runtime.preview.outputs import Saver, read_port
from engine.runtime.preview.previews import Previews
from engine.runtime.report.diagnostics_log import log_diagnostic
from engine.runtime.report.diagnostics_store import REPORT_INTERVAL_NS, fault_diagnostic
from engine.runtime.update.updater import Updater

_log = logging.getLogger(__name__)
_NO_RECORDS: tuple[UpdateRecord, ...] = ()
# Looked up once: a frame compares with them several times.
_NONE, _HOT = UpdateLevel.NONE, UpdateLevel.HOT
_now_ns = time.perf_counter_ns
#: For how long after a message each frame ends before the next one begins: more edits and input may follow.
LIVE_NS = 500_000_000


class CudaEngine:
    """Owns the context and the running graph of one device. Its methods belong to one thread at a time.

    `fault` is the failure that ended the engine. `frames_left` counts down while the engine plays a number of frames.
    """

    def __init__(
        self,
        device: Device,
        catalogue: Catalogue,
        folder: Callable[[], Path],
        *,
        profiling: ProfilingLevel = ProfilingLevel.PER_BLOCK,
        time_step_s: float = 1 / 60,
    ) -> None:
        device.activate()
        self.device = device
        self.context = CudaContext(device, catalogue, folder)
        #: Messages for the next frame; any thread may append one.
        self.inbox: deque[Message] = deque()
        self.outbox = Outbox()
        self.updates = Updater(self.context, self._tell, self.settle)
        #: Launches the graph, and measures some of the launches.
        self.profiler = Profiler(device, self.context.services.uniforms, profiling)
        self.previews = Previews(device, self.context.services.pool, self.outbox)
        self.running = True
        self.frames_left: int | None = None
        self.fault: DeviceError | None = None
        self.clock = Clock(time_step_s)
        #: When frames of the engine's thread begin.
        self.pacing = Pacing()
        #: What frames are launched on.
        self.stream = device.create_stream()
        self.in_flight = FramesInFlight(device, self.stream)
        # When the last message was read, the last frame ended, and a frame was waited for last.
        self._heard_ns = self._ended_ns = self._waited_ns = 0
        # The same for waiting for room on the device, launches, and pictures and files.
        self._room_ns = self._launching_ns = self._launched_ns = self._pictures_ns = 0
        self._saves: deque[str | None] = deque()
        self._saver = Saver(device, self.outbox)
        #: How often the graph was launched.
        self.launches = 0
        self._is_current = False  # the last launch was of the graph and state as they are now
        self._is_frozen = False  # a sentinel has paused the engine, and the clock still shows that frame
        self._reporter = Reporter(self.context, self.updates, self.profiler)
        self.recorder = FlightRecorder(self.updates, self.profiler, is_asynchronous=device.info.is_asynchronous)

    @property
    def has_work(self) -> bool:
        """True when there is a reason for a frame: the engine plays, something changed, or something is under way."""
        if self.running or self.inbox or self.in_flight.count:
            return True
        return self.updates.pending or self.previews.has_work or bool(self.updates.found.fading)

    def frame(self, *, free_running: bool = False, real_time: bool = False, due_ns: int = 0) -> FrameReport:
        """Do one frame and return its report.

        A frame by hand finishes all preparations and always advances. A `free_running` one leaves preparations to the
        worker, and skips a launch that would repeat the last one. While the engine is paused it doesn't advance: an
        edit is then shown by a launch with a time step of 0 at the same frame index. With `real_time` the patch's time
        follows the wall clock, see `Clock`. DeviceError when the device fails.

        Where frames overlap (`Pacing.overlap`), a free-running frame is launched and not waited for. The time in its
        report is then that since the last frame, and the rest is told of a frame that ended a moment ago.

        `due_ns` is when the frame should have begun, for the flight recorder; 0 means when it did.
        """
        if self.fault is not None:
            raise self.fault
        start_ns = _now_ns()
        began_ns = self._ended_ns if free_running and self.in_flight.count else start_ns
        by_hand = not free_running
        if by_hand:
            self.device.activate()  # the engine's own thread has done so
        try:
            if self.inbox:
                self.read_inbox()
                self._heard_ns = start_ns
            advance = self.running or by_hand
            if advance and self._is_frozen:
                self._is_frozen = False
                self.clock.end()
            self.clock.begin(start_ns, advance=advance, real=real_time)
            level = self._update(advance, by_hand) if self._is_outdated else _NONE
            compiled = self.updates.compiled
            overlaps = not by_hand and self._may_overlap(start_ns)
            is_told = False
            # A launch is left out when it would give what the last one gave.
            if compiled is not None and not (
                free_running and level is _NONE and self._is_current and (compiled.is_still or not advance)
            ):
                # Status words are read as often as a person reads what they tell.
                has_status = compiled.status is not None or self.updates.found.has_status
                is_due = has_status and start_ns - self._waited_ns >= REPORT_INTERVAL_NS
                waits = is_due or not overlaps
                if waits:
                    self._waited_ns = start_ns
                is_told = self._launch(compiled, level, advance, by_hand, waits)
            elif self.in_flight.count:
                self.in_flight.finish()
                self._read_status(by_hand)
            if self._saves or self.previews.is_watched:
                self._pictures_ns = _now_ns()
                self._collect(compiled, by_hand)
        except DeviceError as problem:
            self.fault = problem
            told = fault_diagnostic(problem, self.updates.compiled, self.profiler.operations)
            told = self.updates.found.inlined.shown(told)
            self.fail(told)
            stamps = self._room_ns, self._launching_ns, self._launched_ns, _now_ns()
            self.recorder.put((self.clock.moment.frame, _NONE, due_ns or began_ns, began_ns, *stamps))
            problem.args = (f"node {told.node}: {told.message}" if told.node else told.message,)  # for who catches it
            raise
        if self.updates.found.fading:
            self.updates.found.fade()
        self._ended_ns = _now_ns()
        if not is_told:
            self._reporter.renew(level, self._ended_ns, now=by_hand)
        # The first frame of an engine that plays waits for the first build.
        is_done = advance and (by_hand or compiled is not None)
        return self._report(level, due_ns or began_ns, began_ns, is_done, MOST_IN_FLIGHT if overlaps else 1)

    def settle(self) -> None:
        """Wait until nothing on the device uses the graph and its memory, which may then be read, changed or freed."""
        self.in_flight.finish()
        self.previews.before_update()

    def read(self, port: PortRef) -> np.ndarray[Any, Any]:
        """Return a copy of what a port of the running graph held in the last frame."""
        assert self.updates.compiled is not None
        self.settle()
        return read_port(self.updates.compiled, self.context.services, self.updates.values, self.stream, port)

    def fail(self, diagnostic: Diagnostic) -> None:
        """Leave a last report that says why the engine has stopped, without using the device."""
        self.outbox.put_report(self._reporter.last_report(self.clock.moment.frame, diagnostic))
        self.updates.found.log.add_failure(diagnostic)
        self._tell(diagnostic)

    def cancel(self) -> None:
        """Stop what is being prepared, before `close`; any thread may call it."""
        self.updates.cancel()

    def close(self) -> None:
        """Give back everything on the device, whatever it refuses.

        Then raise a DeviceError that came up, unless the engine had failed before.
        """
        try:
            with ExitStack() as closing:  # runs in reverse order, all of it even when one raises
                closing.callback(self.context.close)
                for used in (self.in_flight, self.stream):
                    closing.callback(used.destroy)
                for part in (self.updates, self.profiler, self._saver, self.previews, self.recorder):
                    closing.callback(part.close)
                closing.callback(self.stream.synchronize)
                self.device.activate()
        except DeviceError:
            if self.fault is None:
                raise

    def read_inbox(self) -> None:
        """Follow the messages that have come since the last frame."""
        while (message := self.context.parameters.read(self.inbox)) is not None:
            match message:
                case changes.NodeAdded() | changes.Connected():  # thousands of them when a patch is opened
                    self.updates.apply(message)
                case messages.KernelFilesChanged(paths):
                    self.context.dirty.kernel_files |= paths
                    self.context.services.modules.overtake(paths)
                case messages.Observe(viewers):
                    self.previews.observe(viewers)
                    self._follow_pictures()
                case messages.SetRunning(running, frames):
                    self.running, self.frames_left = running and frames != 0, frames
                case messages.SetPacing(pacing):
                    self.pacing = pacing
                case messages.SetProfiling(level):
                    self.settle()  # the present level's copy of the graph goes
                    self.profiler.set_level(level)
                    _log.info("measuring at the level %s", level.name)
                case messages.ObserveProfile(is_watched):
                    self._reporter.watch_profile(is_watched)
                case messages.SetFrameBudget(budget_ns):
                    self.recorder.budget_ns = budget_ns
                case messages.SetFusing(fuses):
                    self.updates.set_fusing(fuses)
                case messages.SetTrust(trusted):
                    self.updates.set_trusted(trusted)
                case messages.Reset():
                    _log.info("all state begins again at frame 0")
                    self.settle()
                    self.context.services.states.clear()
                    if self.updates.compiled is not None:
                        self.updates.compiled.begin_again()
                    self.context.value_graph.begin_again()
                    self.clock.reset()
                    self._is_current = self._is_frozen = False
                case messages.SaveOutputs(node):
                    self._saves.append(node)
                case messages.SetInput(name, value):
                    self.context.value_graph.inputs.post(name, value)
                case messages.Undone(change):
                    self.updates.apply(change, "undo")
                case change:
                    self.updates.apply(change)

    def _tell(self, diagnostic: Diagnostic) -> None:
        log_diagnostic(diagnostic)
        self.outbox.put_event(diagnostic)

    @property
    def _is_outdated(self) -> bool:
        """True when the graph may not be what the patch says now."""
        context = self.context
        return self.updates.pending or context.parameters.is_written or not context.value_graph.is_empty

    def _update(self, advance: bool, by_hand: bool) -> UpdateLevel:
        """Bring the running graph to what the patch says, and return the highest level that this took."""
        updates, context, moment = self.updates, self.context, self.clock.moment
        level = _NONE
        if by_hand and updates.preparing:  # values are computed with everything that was edited
            level = updates.catch_up(moment.frame)
        if not context.value_graph.is_empty:
            at_interval = advance and not by_hand and self.frames_left is None
            if context.value_graph.update(moment, fresh=not at_interval):
                updates.found.tell()
        if context.parameters.is_written:  # before the structure, which changes when a kernel refuses a value
            level = max(level, updates.write_parameters())
        if updates.pending or level > _HOT:
            level = max(level, updates.run(moment.frame, wait=by_hand))
            if level > UpdateLevel.HOT:
                self.profiler.graph_changed()
        return level

    def _may_overlap(self, now_ns: int) -> bool:
        """True when the next frame may be launched while this one runs."""
        if not (self.running and self.device.info.is_asynchronous):
            return False
        compiled, asked = self.updates.compiled, self.pacing.overlap
        if compiled is not None and compiled.plan.freezes:
            return False  # the next frame is launched only if this one holds what it should
        if asked is not None:
            return asked
        is_live = now_ns - self._heard_ns < LIVE_NS or self.context.value_graph.is_listening
        return self.pacing.rate is None and not is_live

    def _launch(self, compiled: CompiledGraph, level: UpdateLevel, advance: bool, by_hand: bool, waits: bool) -> bool:
        """Launch the graph, and see it end if the frame `waits` for that.

        Return whether the report was renewed while the device worked.
        """
        now, stream, reporter = self.clock.moment, self.stream, self._reporter
        in_flight, uniforms = self.in_flight, self.context.services.uniforms
        if in_flight.count:
            self._room_ns = _now_ns()
            in_flight.make_room()
            uniforms.turn()
        if compiled.uses_frame:
            uniforms.pack(now.frame, now.time_s, now.time_step_s)
        kept: list[tuple[Memory, np.ndarray[Any, Any]]] = []  # what a frame that is shown again must leave as it was
        if not advance:
            in_flight.finish()
            kept = [(memory, np.empty(size, np.uint8)) for memory, size in compiled.kept_turns]
            for memory, contents in kept:
                self.device.read(memory, contents)
        self.previews.before_launch(stream)
        self._launching_ns = begun_ns = _now_ns()
        self.profiler.launch(compiled, stream, now.frame, begun_ns, advance=advance, wait=by_hand)
        self._launched_ns = launched_ns = _now_ns()
        self.launches += 1
        self._is_current = True
        if not waits:
            in_flight.add()
        is_told = not (by_hand and self.profiler.level)  # by hand, the report has the times of this very launch
        if is_told:
            reporter.renew(level, launched_ns, now=by_hand)
        if waits:
            in_flight.synchronize()
        for memory, contents in kept:
            self.device.write(memory, contents)
        if self.profiler.level:
            self.profiler.collect()
        if waits:
            self._read_status(by_hand)
            if advance and self.updates.found.freezing:
                self._freeze(self.updates.found.freezing)
        return is_told

    def _freeze(self, reasons: tuple[Diagnostic, ...]) -> None:
        """Pause after this frame, whose data stays as it is; an edit is shown at the same frame."""
        self.running, self.frames_left, self._is_frozen = False, None, True
        frame = self.clock.moment.frame
        _log.info(
            "frame %d is frozen: %s", frame, "; ".join(f"{item.node}.{item.port}: {item.message}" for item in reasons)
        )
        self.outbox.put_event(messages.Frozen(frame, reasons))

    def _read_status(self, by_hand: bool) -> None:
        """Read the status words of the last launch, which has ended."""
        compiled, found = self.updates.compiled, self.updates.found
        if found.has_status or (compiled is not None and compiled.status is not None):
            found.read_status(compiled, fresh=by_hand)

    def _collect(self, compiled: CompiledGraph | None, by_hand: bool) -> None:
        """Take the pictures that are looked at, and save what was asked for."""
        if self.previews.is_watched:
            self.previews.take(compiled, self.stream, self.launches, self.clock.moment.frame, by_hand=by_hand)
            self._follow_pictures()
        # Edits made before the request count: a new file name, a new value.
        while self._saves and not self.updates.pending:
            self.settle()
            place = SavePlace(self.context.folder(), trusted=self.context.trusted)
            self._saver.save(compiled, self._saves.popleft(), place, wait=by_hand)

    def _follow_pictures(self) -> None:
        """Tell what is wrong with pictures that somebody looks at."""
        found = self.updates.found
        if self.previews.problems is not found.pictures:
            found.pictures = self.previews.problems
            found.tell()

    def _report(self, level: UpdateLevel, due_ns: int, began_ns: int, is_done: bool, in_flight: int) -> FrameReport:
        """Leave the frame's report, and record it and advance to the next one if it `is_done`."""
        clock, outbox, ended_ns = self.clock, self.outbox, self._ended_ns
        records = self.updates.take_records() if level > _HOT else _NO_RECORDS
        for record in records:
            outbox.put_event(record)
            self.recorder.note_update(record, ended_ns)
        if is_done and self.frames_left:
            self.frames_left -= 1
            self.running = self.frames_left > 0
        time_ns = ended_ns - began_ns
        report = self._reporter.report(clock.moment, level, time_ns, records, self.running, self.launches, in_flight)
        if is_done:
            recorder, room_ns, launching_ns = self.recorder, self._room_ns, self._launching_ns
            recorder.put((report.frame, level, due_ns, began_ns, room_ns, launching_ns, self._launched_ns, ended_ns))
            if ended_ns - due_ns > recorder.budget_ns:
                recorder.note_slow(records, self._pictures_ns)
            if not self._is_frozen:
                clock.end()
        outbox.put_report(report)
        if (profile := self._reporter.take_profile()) is not None:
            outbox.put_profile(profile)
        if not (is_done and self.running):
            clock.hold()
        return report
