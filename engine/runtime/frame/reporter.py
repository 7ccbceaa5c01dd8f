"""The reporter: makes the report of each frame, and renews its expensive parts only where something changed."""

import logging
import time
from collections.abc import Mapping

from msgspec.structs import force_setattr

from warploom.engine.diagnostics import Diagnostic, Sighting
from warploom.engine.figures import plural
from warploom.engine.patch.changes import PortRef
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import EngineStatistics, FrameReport, UpdateLevel, UpdateRecord
from warploom.engine.runtime.frame.launch_plan import LaunchPlan
from warploom.engine.runtime.measure.profiler import FrameProfiler
from warploom.engine.runtime.model.context import CudaContext
from warploom.engine.runtime.report.diagnostics_store import REPORT_INTERVAL_NS
from warploom.engine.runtime.report.node_reports import NodeReports, append_counts
from warploom.engine.runtime.update.updater import Updater

_log = logging.getLogger(__name__)
_SECOND_NS = 1_000_000_000
# Looked up once: a frame compares with it several times.
_NONE, _HOT = UpdateLevel.NONE, UpdateLevel.HOT


class Reporter:
    """Makes reports: `prepare` while the device works, `renew` if there are results to look at, and then `report`."""

    def __init__(self, context: CudaContext, updates: Updater, profiler: FrameProfiler) -> None:
        self._context, self._updates, self._profiler = context, updates, profiler
        self._nodes = NodeReports(context)
        self.statistics = EngineStatistics(context.device.info.name)
        self._values: dict[str, float] = {}
        #: Whether profiles are visible.
        self.watches_profile = False
        self._profiled_frame = -1
        self._profiled_ns = 0
        #: The times in reports, from `_samples` samples.
        self._profile, self._samples = profiler.profile(times_only=True), -1
        self._renewed_ns = self._valued_ns = 0
        self._reported: tuple[Diagnostic, ...] | None = None  # the diagnostics in `_nodes` and `statistics`
        self._was_preparing = False
        self._hot_updates = self._hot_logged = 0
        self._hot_logged_ns = 0
        self._counts: dict[str, int] = {}
        self._counted: Mapping[PortRef, int] | None = None  # the status words in `_counts`
        #: Where a film is, see `FrameReport`.
        self.exact, self.left_out = True, 0
        self.replay_to: int | None = None
        #: The newest report.
        self.last = self._next = FrameReport(0, UpdateLevel.NONE, 0, {}, {}, self.statistics)
        #: When the newest report was prepared.
        self.reported_ns = 0
        #: A frame that is not reported unless nothing follows it: its plan, when it began, and facts for its report.
        self._put_off: tuple[LaunchPlan, int, int, float, int] | None = None

    def put_off(self, plan: LaunchPlan, began_ns: int, frame: int, time_s: float, launches: int) -> None:
        """Note the last frame of a burst, which is not reported unless nothing follows it."""
        self._put_off = plan, began_ns, frame, time_s, launches

    def catch_up(self, ended_ns: int) -> FrameReport | None:
        """Return the report of the last frame, which ended at a time; None if it was reported."""
        if self._put_off is None:
            return None
        plan, began_ns, frame, time_s, launches = self._put_off
        self.prepare(_NONE, now=True)
        self.report(frame, time_s, _NONE, (), True, launches, plan.in_flight)
        return self.ended((ended_ns - began_ns) // plan.burst)

    def prepare(self, level: UpdateLevel, *, now: bool) -> None:
        """Renew the parts of the report that are not facts of one frame.

        The reports of nodes and the statistics are renewed where something changed; numbers that change all the time,
        at an interval that people can read, or `now`.
        """
        updates, profiler, time_ns = self._updates, self._profiler, time.perf_counter_ns()
        self.reported_ns, self._put_off = time_ns, None
        is_other = profiler.level is not self.statistics.profiling  # `_follow` renews the statistics
        if level > _HOT:
            self._counted = self._reported = None
        elif level is _HOT:
            self._hot_updates += 1
        changed = self._context.changed_blocks or updates.preparing != self._was_preparing
        if updates.diagnostics.all is not self._reported or changed:
            self._follow()
        is_due = now or time_ns - self._renewed_ns >= REPORT_INTERVAL_NS
        if is_other or (profiler.level and is_due):
            self._renewed_ns = time_ns
            if is_other or profiler.samples != self._samples:
                self._samples, self._profile = profiler.samples, profiler.profile(times_only=True)
                self._nodes.measure(self._profile)
            self._count()
            profiler.spend_since(time_ns)
        if not self._context.value_graph.is_empty:
            if now or time_ns - self._valued_ns >= REPORT_INTERVAL_NS:
                self._valued_ns, self._values = time_ns, self._context.value_graph.snapshot()
        elif self._values:
            self._values = {}
        if self._hot_updates != self._hot_logged and _log.isEnabledFor(logging.DEBUG):
            self._log_hot(time_ns)

    def renew(self) -> None:
        """Renew the parts that depend on the frame's status words and pictures."""
        store = self._updates.diagnostics
        if store.all is not self._reported:
            self._follow()
        if store.status is not self._counted:
            self._counted, self._counts = store.status, append_counts(self._updates.compiled, store.status)

    def report(
        self,
        frame: int,
        time_s: float,
        level: UpdateLevel,
        records: tuple[UpdateRecord, ...],
        running: bool,
        launches: int,
        in_flight: int,
    ) -> None:
        """Make the report of a frame from its facts and the prepared parts, before the device is done if possible."""
        store = self._updates.diagnostics
        # By position, which takes half the time; the order is that of the fields.
        self._next = FrameReport(
            frame,
            level,
            0,
            self._nodes.reports,
            self._updates.buffers,
            self.statistics,
            store.all,
            records,
            running,
            time_s,
            self._counts,
            self._values,
            self._was_preparing,
            self._hot_updates,
            launches,
            in_flight,
            False,
            store.sightings,
            self.exact,
            self.replay_to,
            self.left_out,
        )

    def ended(self, frame_time_ns: int) -> FrameReport:
        """Return the report that was made, of a frame that has ended now."""
        self.last = report = self._next
        force_setattr(report, "frame_time_ns", frame_time_ns)  # no one has seen it
        return report

    def watch_profile(self, is_watched: bool) -> None:
        """Set whether profiles are visible; the current profile is shown first."""
        self.watches_profile, self._profiled_frame = is_watched, -1

    def take_profile(self) -> Profile | None:
        """Return the profile of a frame that was measured since the last call, if the interval has passed."""
        frame = self._profiler.frame
        if frame in (-1, self._profiled_frame):
            return None
        now_ns = time.perf_counter_ns()
        if now_ns - self._profiled_ns < REPORT_INTERVAL_NS:
            return None
        self._profiled_ns, self._profiled_frame = now_ns, frame
        profile = self._profiler.profile()
        self._profiler.spend_since(now_ns)
        return profile

    def last_report(self, frame: int, *new: Diagnostic, failed: bool) -> FrameReport:
        """Return the report of a frame in which the device has failed, without using the device.

        `new` diagnostics come last.
        """
        store = self._updates.diagnostics
        diagnostics = (*store.all, *new)
        self._nodes.follow(self._updates.kernels, diagnostics)
        return FrameReport(
            frame=frame,
            update_level=UpdateLevel.NONE,
            frame_time_ns=0,
            nodes=self._nodes.reports,
            buffers=self._updates.buffers,
            statistics=self.statistics,
            diagnostics=diagnostics,
            failed=failed,
            sightings=(*store.sightings, *(Sighting.now() for _ in new)),
        )

    def _log_hot(self, now_ns: int) -> None:
        """Log how many frames only wrote parameters, once a second: a moved slider does so in every frame."""
        if now_ns - self._hot_logged_ns >= _SECOND_NS:
            frames = plural(self._hot_updates - self._hot_logged, "frame")
            _log.debug("HOT: %s wrote parameters, %d in all", frames, self._hot_updates)
            self._hot_logged, self._hot_logged_ns = self._hot_updates, now_ns

    def _follow(self) -> None:
        self._reported = self._updates.diagnostics.all
        self._nodes.follow(self._updates.kernels, self._reported, preparing=self._updates.preparing)
        self._was_preparing = self._updates.preparing
        self._count()

    def _count(self) -> None:
        updates, pool = self._updates, self._context.services.pool
        used_bytes = pool.used_bytes
        self.statistics = EngineStatistics(
            device=self._context.device.info.name,
            blocks=len(self._context.registry.placed),
            kernels=len(updates.compiled.kernels) if updates.compiled else 0,
            launch_ns=self._profile.launch_ns or self._profile.measured_ns,
            work_ns=self._profile.work_ns if self._profile.spans else None,
            profiling=self._profiler.level,
            pool_used_bytes=used_bytes,
            pool_allocated_bytes=used_bytes + pool.idle_bytes,
        )
