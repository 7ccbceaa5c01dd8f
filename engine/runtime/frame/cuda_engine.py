"""`CudaEngine`: the one place that launches. One call of `frame` is one frame, or a burst of short ones.

Its phases: read the inbox, update the graph (structure, code, parameters), launch, collect, report.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import get_ident

from msgspec.structs import replace

from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.device.device import Device
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError, Diagnostic
from warploom.engine.patch import changes
from warploom.engine.patch.organise.osc_addresses import OscSend, OscTable
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol import messages
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.messages import FrameReport, Message, StateCopy, UpdateLevel, UpdateRecord
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.sampling import ObservePorts, Sample, Sampling
from warploom.engine.runtime.frame.clock import Clock
from warploom.engine.runtime.frame.launch_plan import LaunchPlan, plan_launches
from warploom.engine.runtime.frame.launcher import Launcher
from warploom.engine.runtime.frame.live_buffers import LiveBuffers
from warploom.engine.runtime.frame.player import Player
from warploom.engine.runtime.frame.reporter import Reporter
from warploom.engine.runtime.frame.results import Results
from warploom.engine.runtime.frame.state_keeper import StateKeeper
from warploom.engine.runtime.measure.profiler import FrameProfiler
from warploom.engine.runtime.measure.recorder import FlightRecorder
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.preview.samples import Samples
from warploom.engine.runtime.report.diagnostics_log import log_diagnostic
from warploom.engine.runtime.report.diagnostics_store import REPORT_INTERVAL_NS
from warploom.engine.runtime.report.faults import find_fault
from warploom.engine.runtime.report.offers import look_for
from warploom.engine.runtime.update.updater import Updater
from warploom.engine.values.osc_control import OscControl

_log = logging.getLogger(__name__)
_NO_RECORDS: tuple[UpdateRecord, ...] = ()
# Looked up once: a frame compares with them several times.
_NONE, _HOT = UpdateLevel.NONE, UpdateLevel.HOT
_now_ns = time.perf_counter_ns
#: For how long after a message each frame ends before the next one begins: more edits and input may follow.
LIVE_NS = 500_000_000
#: The longest time between reports of frames that overlap: to make one takes a quarter of Python's time for a frame.
LONGEST_NS = 1_000_000


class CudaEngine:
    """Owns the context and the running graph of one device. Its methods belong to one thread at a time.

    `fault` is the failure that has stopped it.
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
        #: Messages for the next frame; any thread may append one.
        self.inbox: deque[Message] = deque()
        self.outbox = Outbox()
        self.fault: DeviceError | None = None
        #: The time limit of kernels.
        self.time_limit_s: float | None = None
        self.clock = Clock(time_step_s)
        with ExitStack() as failing:
            self.context = CudaContext(device, catalogue, folder)
            failing.callback(self.context.close)
            self.updates = Updater(self.context, self._tell, self._let_go)
            services, found = self.context.services, self.updates.diagnostics
            #: Measures some of the launches.
            self.profiler = FrameProfiler(device, services.uniforms, services.times, profiling, found.follow_measuring)
            failing.callback(self.profiler.close)
            self.samples = Samples(services, self.outbox, found.follow_pictures)
            failing.callback(self.samples.close)
            #: Launches the graph, and waits for it.
            self.launcher = Launcher(device, services.uniforms, self.clock, self.profiler, self.samples)
            #: The live blocks of the graph.
            self.live = LiveBuffers(self.context)
            failing.pop_all()
        # The times at which the last message was read, the last frame ended, a frame was last waited for, and pictures
        # and files were last begun.
        self._heard_ns = self._ended_ns = self._waited_ns = self._pictures_ns = 0
        self._followed: object = None  # the last update that `live` has followed
        self._thread = 0  # the thread that activated the device last
        self.results = Results(self.context, self.updates, self.launcher, self.samples, self.outbox)
        self._states = StateKeeper(self.context, self.updates, self.launcher, self.clock)
        self.player = Player(self.clock, self._states, self.launcher, self.updates)
        self._reporter = Reporter(self.context, self.updates, self.profiler)
        self.recorder = FlightRecorder(self.updates, self.profiler, is_asynchronous=device.info.is_asynchronous)
        services.times.more.append(self.recorder.hot_updates)

    @property
    def has_work(self) -> bool:
        """True when there is a reason for a frame: the engine plays, something changed, or something is under way."""
        if (
            self.player.running
            or self.inbox
            or self.launcher.flying
            or self.player.shows_next
            or self.player.sought is not None
            or self.context.value_graph.inputs.messages
        ):
            return True
        if self.launcher.live is not None and self.launcher.live.is_flying:
            return True
        return self.updates.pending or self.samples.has_work or bool(self.updates.diagnostics.fading)

    def frame(self, *, free_running: bool = False, real_time: bool = False, due_ns: int = 0) -> FrameReport:
        """Run one frame and return its report.

        A frame by hand finishes all preparations and always advances. A `free_running` one leaves preparations to the
        worker, and skips a launch that would repeat the last one. While the engine is paused it doesn't advance: an
        edit is then shown by a launch that repeats the last frame with a time step of 0. In a film, it shows the frame
        that comes next. With `real_time` the patch's time follows the wall clock, see `Clock`. Raise DeviceError if the
        device fails.

        Where frames overlap (`Pacing.overlap`), a free-running frame is launched and not waited for. The time in its
        report is then that since the last frame, and its other fields describe a frame that has just ended. Some of
        these frames leave no report and return the last one. Where they are short and nothing is new, one call launches
        a burst of them (`Launcher.burst`), and reports the last one, with the mean of their times. See `plan_launches`.

        `due_ns` is the time at which the frame was due, for the flight recorder; 0 means its actual start.
        """
        if self.fault is not None:
            self._recover()
        launcher, updates, clock = self.launcher, self.updates, self.clock
        reporter, player = self._reporter, self.player
        by_hand, is_launched, is_done = not free_running, False, False
        level, records = _NONE, _NO_RECORDS
        began_ns = start_ns = _now_ns()
        if by_hand:
            self._activate()
        elif launcher.flying:
            began_ns = self._ended_ns
        try:
            if player.is_active and player.turns:
                player.turn()
            if self.inbox:
                self.read_inbox()
                self._heard_ns = start_ns
                if self.context.parameters.is_written:
                    player.note_edit()
            if player.sought is not None:
                if by_hand:
                    self._build()
                player.go_to_sought()
            if player.is_active:
                player.begin()
                reporter.exact, reporter.replay_to = player.is_exact, player.replay_to
                reporter.left_out = clock.left_out
                if player.replay_to is not None or (by_hand and player.timeline is not None):
                    real_time = False  # no frame is left out
            advance = player.running or by_hand
            if advance:
                player.is_frozen = False
                if real_time or not clock.is_set:
                    clock.begin(start_ns, advance=True, real=real_time)
            elif not (player.shows_last and clock.repeat()):
                clock.begin(start_ns, advance=False, real=real_time)
            if updates.is_settled and self.context.parameters.is_written:
                level = updates.write_parameters()
            if not updates.is_settled:
                level = max(level, self._update(advance, by_hand))
                if level > _HOT:
                    player.note_edit()
                    records = updates.take_records()
                    if self.context.value_graph.osc.table.outs:
                        self._sample_osc()
            compiled = updates.running.compiled
            if self.context.muted.reasons:
                compiled = self._without_muted(compiled, by_hand)
            if self.context.parameters.restarts:
                self._states.restart_nodes()
            if self._states.copy is not None and compiled is not None:
                self._states.go_on(fresh=by_hand)
                player.note_edit()
            if launcher.live is not None and launcher.live.has_given:
                launcher.is_current = False
            # A launch is skipped when its results would equal those of the last one.
            if compiled is not None and not (
                free_running and level is _NONE and launcher.is_current and (compiled.is_still or not advance)
            ):
                launcher.launch(compiled, advance, by_hand, counts=advance or player.ends)
                is_launched, player.ends = True, False
            # While the device works, everything that doesn't need its results is done.
            has_status = updates.diagnostics.status_plan is not None or (
                compiled is not None and compiled.status is not None
            )
            is_busy = is_launched or bool(launcher.flying)
            if free_running and player.running and self.device.info.is_asynchronous:
                plan = self._plan_overlap(compiled, is_busy, is_launched, level is not _NONE, has_status, start_ns)
            else:
                plan = plan_launches(is_busy=is_busy)
            if is_launched:
                if plan.waits:
                    self._waited_ns = start_ns
                else:
                    if plan.burst > 1:
                        self._launch_rest(plan.burst - 1, real_time, due_ns, began_ns)
                    launcher.fly()
            frame, time_s = clock.moment.frame, clock.moment.time_s
            # The first frame of an engine that plays waits for the first build.
            is_done = advance and (by_hand or compiled is not None)
            if is_done:
                if player.frames_left:
                    player.frames_left -= 1
                    player.running = player.frames_left > 0
                clock.end()
                if player.is_active and not by_hand:
                    player.end()
            elif clock.repeats:
                clock.resume()
            is_late = by_hand and self.profiler.level  # the report has the times of this very launch
            if not plan.reports:
                reporter.put_off(plan, began_ns, frame, time_s, launcher.launches)
            elif not is_late:
                reporter.prepare(level, now=by_hand or not player.running)
            looks = (
                self.profiler.waiting or is_late or has_status or self.results.is_watched or updates.diagnostics.fading
            )
            is_early = plan.reports and not looks
            if is_early:
                reporter.report(frame, time_s, level, records, player.running, launcher.launches, plan.in_flight)
            if plan.waits:
                launcher.synchronize()
            # In most frames, none of these steps is needed.
            if looks:
                self._look(compiled, is_launched, frame, has_status and plan.waits, advance, by_hand)
                if is_late:
                    reporter.prepare(level, now=by_hand or not player.running)
                if plan.reports:
                    reporter.renew()
        except DeviceError as problem:
            if clock.repeats:
                clock.resume()
            elif is_done:
                clock.back()
            if problem is not self.context.muted.failure:
                self._break(problem, due_ns, began_ns, by_hand)
            raise
        self._record(frame if is_done else None, level, due_ns, began_ns, records)
        if not plan.reports:
            return reporter.last
        if not is_early:
            reporter.report(frame, time_s, level, records, player.running, launcher.launches, plan.in_flight)
        report = reporter.ended((self._ended_ns - began_ns) // plan.burst)
        self.outbox.put_report(report)
        if reporter.watches_profile and (profile := reporter.take_profile()) is not None:
            self.outbox.put_profile(profile)
        return report

    def _build(self) -> None:
        """Follow all edits, without a frame."""
        self._activate()
        self.read_inbox()
        self._update(True, True)

    def take_state(self) -> EngineState:
        """Return what the frames so far leave for the next one."""
        if self.updates.compiled is None:
            self._build()
        self._activate()
        return self._states.take()

    def put_state(self, state: EngineState) -> None:
        """Go on from a state; the graph is built first."""
        self._build()
        self.player.is_frozen = False
        self._states.put(state)

    def copy_state(self, most_bytes: int) -> StateCopy | None:
        """Return a copy of what the frames so far leave for the next one, if there is one; see `CopyState`."""
        if self.fault is not None:
            return None
        self._activate()
        return self._states.copied(most_bytes)

    def _activate(self) -> None:
        """Make the device current for a frame by hand; the engine's own thread has already done this.

        A launch works in any context (driver 580), so a frame that does nothing else doesn't ask which one is current.
        """
        changes = self.inbox or not self.updates.is_settled or self.profiler.level or self.launcher.redrawn
        if changes or get_ident() != self._thread:
            self.device.activate()
            self._thread = get_ident()

    def _plan_overlap(
        self,
        compiled: CompiledGraph | None,
        is_busy: bool,
        is_launched: bool,
        is_updated: bool,
        has_status: bool,
        now_ns: int,
    ) -> LaunchPlan:
        """Plan a frame of an engine that plays freely on a device that works beside Python."""
        reporter = self._reporter
        return plan_launches(
            is_busy=is_busy,
            is_launched=is_launched,
            can_overlap=compiled is None or not compiled.plan.freezes,
            pacing=self.player.pacing,
            is_live=now_ns - self._heard_ns < LIVE_NS or self.context.value_graph.is_listening,
            # Status words are read only as often as a person can read their messages.
            has_status=has_status and now_ns - self._waited_ns >= REPORT_INTERVAL_NS,
            is_updated=is_updated,
            frames_left=self.player.frames_left,
            is_special=not self.updates.is_settled or self.profiler.every_frame or bool(self.results.saver.asked),
            burst=self.launcher.burst,
            is_report_due=reporter.last.in_flight == 1 or now_ns - reporter.reported_ns >= LONGEST_NS,
        )

    def _let_go(self) -> None:
        """Wait until neither the device nor another thread uses the graph, which is about to be replaced or changed."""
        self.launcher.quiesce()
        self.profiler.let_go()

    def fail(self, diagnostic: Diagnostic) -> None:
        """Leave a last report with the reason why the engine has stopped, without using the device."""
        self.outbox.put_report(self._reporter.last_report(self.clock.moment.frame, diagnostic, failed=True))
        self.updates.diagnostics.log.add_failure(diagnostic)
        self._tell(diagnostic)

    def stop_for(self, problem: DeviceError) -> None:
        """Stop, since the device has failed outside of a frame."""
        self.fault = problem
        self.fail(find_fault(problem, self.updates.compiled, self.profiler.operations).diagnostic)

    def _break(self, problem: DeviceError, due_ns: int, began_ns: int, by_hand: bool) -> None:
        """Mute the nodes in which the device has failed, or else stop the engine; `problem` then names the node."""
        fault = find_fault(problem, self.updates.compiled, self.profiler.operations)
        why = self.updates.diagnostics.inlined.shown(fault.diagnostic)
        if fault.suspects and self.device.is_usable:
            self.updates.mute(replace(fault, diagnostic=why), problem)
            self.outbox.put_report(self._reporter.last_report(self.clock.moment.frame, failed=by_hand))
            self.outbox.put_event(why)
        else:
            self.fault = problem
            self.fail(why)
        self._record(self.clock.moment.frame, _NONE, due_ns, began_ns, _NO_RECORDS)
        problem.args = (f"node {why.node}: {why.message}" if why.node else why.message,)

    def _recover(self) -> None:
        """Go on after a failure if the device can, and there is news. Raise the failure otherwise."""
        assert self.fault is not None
        if not (self.inbox and self.device.is_usable):
            raise self.fault
        self.fault = None

    def _without_muted(self, compiled: CompiledGraph | None, by_hand: bool) -> CompiledGraph | None:
        """Return the graph, or None as long as it has muted nodes.

        Frames by hand raise the failure instead: their results would lack those of muted nodes.
        """
        muted = self.context.muted
        if by_hand and muted.failure is not None:
            raise muted.failure
        return compiled if self.updates.published.running.isdisjoint(muted.reasons) else None

    def cancel(self) -> None:
        """Cancel the current preparation, before `close`; any thread may call it."""
        self.updates.cancel()

    def close(self) -> None:
        """Free all device resources, even if some calls fail.

        Then raise a DeviceError that came up, unless the engine had failed before.
        """
        try:
            parts = self.recorder, self.samples, self.results.saver, self.profiler, self.updates
            wait = self.device.activate, self.launcher.stream.synchronize
            release_all(
                *wait, self.live.close, *(part.close for part in parts), self.launcher.destroy, self.context.close
            )
        except DeviceError:
            if self.fault is None:
                raise

    def read_inbox(self) -> None:
        """Handle the messages that arrived since the last frame."""
        while (message := self.context.parameters.read(self.inbox)) is not None:
            self.updates.is_settled = False
            self.player.note(message)
            match message:
                case changes.Connected() | changes.NodeAdded():  # thousands of them when a patch is opened
                    self.updates.apply([message])
                case messages.KernelFilesChanged(paths):
                    self.context.dirty.kernel_files |= paths
                    self.context.dirty.read_files |= paths
                    self.context.services.modules.overtake(paths)
                case ObservePorts(samplings):
                    self.samples.observe(samplings)
                case messages.SetRunning(running, frames):
                    self.player.play(running, frames)
                case messages.SetPacing(pacing):
                    self.player.pace(pacing)
                case messages.SetTimeline(timeline):
                    self.player.follow(timeline)
                    self._reporter.exact, self._reporter.replay_to, self._reporter.left_out = True, None, 0
                case messages.Seek(frame, exact):
                    self.player.go_to(frame, exact=exact)
                case messages.SetTime(time_s):
                    self.clock.set_time(time_s)
                case messages.SetProfiling(level):
                    self.launcher.settle()  # the copy of the graph for the present level is dropped
                    self.profiler.set_level(level)
                    _log.info("measuring at the level %s", level.name)
                case messages.ObserveProfile(is_watched):
                    self._reporter.watch_profile(is_watched)
                case messages.SetFrameBudget(budget_ns):
                    self.recorder.budget_ns = budget_ns
                case messages.SetKernelTimeLimit(limit_s):
                    self.time_limit_s = limit_s
                    self.device.set_kernel_time_limit(limit_s)
                case messages.Mute(reasons):
                    self.context.mute(reasons)
                case messages.RunMuted():
                    self.updates.run_muted()
                case messages.SetLeftOut(nodes):
                    self.context.resting = nodes
                case messages.CancelCompiles():
                    self.context.services.modules.cancel()
                case messages.SetFusing(fuses, shares):
                    self.updates.set_fusing(fuses, shares)
                case messages.SetTrust(trusted):
                    self.updates.set_trusted(trusted)
                    self._set_osc(self.context.value_graph.osc.wanted)
                case messages.Reset():
                    self.player.reset()
                case messages.SaveOutputs():
                    self.results.saver.asked.append(message)
                case messages.SetInput(name, value):
                    self.context.value_graph.inputs.post(name, value)
                case messages.LookFor(node):
                    look_for(message, self.context.registry.type_of(node), self.outbox)
                case messages.SetOsc(table):
                    self._set_osc(table)
                case messages.ReleaseOsc(parameters):
                    self.context.value_graph.osc.release(parameters)
                case messages.HoldOsc(values):
                    self.context.value_graph.osc.hold(dict(values))
                case messages.StateCopy():
                    self._states.copy = message
                case messages.Edited(edit, is_undo):
                    self.updates.apply(edit, "undo" if is_undo else "edit")
                case changes.BlockTypesChanged():
                    self.updates.apply([message], "block file")
                case change:
                    self.updates.apply([change])

    def _set_osc(self, table: OscTable) -> None:
        """Receive and send other things by OSC."""
        self.context.value_graph.set_osc(table)
        self._sample_osc()

    def _sample_osc(self) -> None:
        """Sample the buffers that are sent; their blocks may be there only after an update."""
        osc = self.context.value_graph.osc
        self.samples.give(
            {
                f"\0osc {number}": (Sampling(out.port, part), partial(_send_sample, osc, out))
                for number, (out, part) in enumerate(osc.buffers().items())
            }
        )

    def _tell(self, diagnostic: Diagnostic) -> None:
        log_diagnostic(diagnostic)
        self.outbox.put_event(diagnostic)

    def _update(self, advance: bool, by_hand: bool) -> UpdateLevel:
        """Update the running graph to match the patch, and return the highest level that was needed."""
        updates, context, moment, level = self.updates, self.context, self.clock.moment, _NONE
        updates.is_settled = context.value_graph.is_empty and not updates.pending
        if not updates.is_settled:
            if by_hand and updates.preparing:  # values are computed with all edits applied
                level = updates.catch_up(moment.frame)
            if context.registry.live_nodes and updates.pending:  # live blocks need their buffers
                level = max(level, updates.run(moment.frame, wait=by_hand))
            self._follow()
            if not context.value_graph.is_empty:
                at_interval = advance and not (by_hand or self.player.takes_time) and self.player.frames_left is None
                if self.launcher.live is not None:
                    counts = (advance or self.player.ends) and self.player.replay_to is None
                    self.launcher.live.deliver(waits=not at_interval, counts=counts)
                if context.value_graph.update(moment, fresh=not at_interval):
                    updates.diagnostics.renew()
        if context.parameters.is_written:  # before the structure, which changes when a kernel refuses a value
            level = max(level, updates.write_parameters())
        if not updates.is_settled and (updates.pending or level > _HOT):
            level = max(level, updates.run(moment.frame, wait=by_hand))
            self._follow()
            if level > _HOT:
                self.profiler.graph_changed()
        return level

    def _follow(self) -> None:
        """Bind the live blocks of a graph that was replaced or adjusted."""
        if self.updates.published is not self._followed:
            self._followed = self.updates.published
            self.live.follow(self.updates.compiled)
            self.launcher.live = None if self.live.is_empty else self.live

    def tell(self) -> None:
        """Leave a report of the last frame, if it has none."""
        report = self._reporter.catch_up(self._ended_ns)
        if report is not None:
            self.outbox.put_report(report)

    def _launch_rest(self, count: int, real_time: bool, due_ns: int, began_ns: int) -> None:
        """Launch `count` more frames, each of which begins when the one before is launched."""
        launcher, clock, compiled = self.launcher, self.clock, self.updates.running.compiled
        assert compiled is not None
        for _ in range(count):
            self._record(clock.moment.frame, _NONE, due_ns, began_ns, _NO_RECORDS)
            launcher.launched_ns = 0  # a launch that fails does not end
            clock.end()
            if real_time or not clock.is_set:
                clock.begin(self._ended_ns, advance=True, real=real_time)
            launcher.launch(compiled, True, False)

    def _look(
        self,
        compiled: CompiledGraph | None,
        is_launched: bool,
        frame: int,
        has_status: bool,
        advance: bool,
        by_hand: bool,
    ) -> None:
        """Take the device's results, which only some frames have: status words with `has_status`, times, pictures."""
        diagnostics = self.updates.diagnostics
        if is_launched and self.profiler.waiting:
            self.profiler.collect()
        if has_status:
            diagnostics.read_status(compiled, fresh=by_hand)
            if advance and is_launched and diagnostics.freezing:
                self._freeze(frame, diagnostics.freezing)
        if self.results.is_watched:
            if by_hand:
                self.device.activate()
            self._pictures_ns = _now_ns()
            last = self.clock.moment.frame - 1
            self.results.collect(compiled, frame, last, plays=self.player.running, by_hand=by_hand)
        if diagnostics.fading:
            diagnostics.fade()

    def _freeze(self, frame: int, reasons: tuple[Diagnostic, ...]) -> None:
        """Pause after this frame and keep its data; edits are shown at the same frame."""
        self.player.freeze()
        _log.info(
            "frame %d is frozen: %s", frame, "; ".join(f"{item.node}.{item.port}: {item.message}" for item in reasons)
        )
        self.outbox.put_event(messages.Frozen(frame, reasons))

    def _record(
        self, frame: int | None, level: UpdateLevel, due_ns: int, began_ns: int, records: tuple[UpdateRecord, ...]
    ) -> None:
        """Record that a frame has ended, None for a call without one, and report its updates.

        `due_ns` and `began_ns` are those of the whole burst.
        """
        ended_ns, last_ended_ns, recorder = _now_ns(), self._ended_ns, self.recorder
        self._ended_ns = ended_ns
        for record in records:
            self.outbox.put_event(record)
            recorder.note_update(record, ended_ns)
        if frame is not None:
            if last_ended_ns > began_ns:  # an earlier frame of the same burst ended after the burst began
                due_ns = began_ns = last_ended_ns
            due_ns, launcher = due_ns or began_ns, self.launcher
            times = launcher.room_ns, launcher.launching_ns, launcher.launched_ns
            recorder.put((frame, level, due_ns, began_ns, *times, ended_ns))
            if ended_ns - due_ns > recorder.budget_ns:
                recorder.note_slow(records, self._pictures_ns)
        if frame is None or not self.player.running:
            self.clock.hold()


def _send_sample(osc: OscControl, out: OscSend, sample: Sample) -> None:
    if sample.data is not None:
        osc.send_array(out, sample.data)
