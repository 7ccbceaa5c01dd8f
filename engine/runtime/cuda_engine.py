"""`CudaEngine`: the one place that launches. One call of `frame` is one frame, in the seed's order.

Inbox, then updates (structure, else code, else parameters), then launch, then times, pictures and the report out.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.blocktypes.catalogue import Catalogue
from engine.compiler.inlining import owner
from engine.device.protocol import Device
from engine.diagnostics import DeviceError, Diagnostic, PatchError, error
from engine.patch.changes import PortRef
from engine.profiling.levels import ProfilingLevel
from engine.profiling.statistics import Average, SpanTimes
from engine.runtime.context import CudaContext
from engine.runtime.faults import fault_diagnostic
from engine.runtime.messages import (
    BufferReport,
    EngineStatistics,
    FrameReport,
    KernelFilesChanged,
    Message,
    NodeReport,
    Observe,
    Preview,
    Reset,
    SaveOutputs,
    SetProfiling,
    SetRunning,
    UpdateLevel,
    UpdateRecord,
)
from engine.runtime.outbox import Outbox
from engine.runtime.outputs import displays, read_buffer, save_outputs
from engine.runtime.recomputing import read_port
from engine.runtime.reporting import append_counts, buffer_reports, node_reports
from engine.runtime.updates import REPORT_INTERVAL_NS, Updates


class CudaEngine:
    """Owns the context and the running graph of one device. All methods but `post` belong to one thread at a time."""

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
        self.updates = Updates(self.context, profiling)
        self.inbox: deque[Message] = deque()
        self.outbox = Outbox()
        self.running = True
        self.frames_left: int | None = None
        self.fault: DeviceError | None = None
        self.frame_index = 0
        self._time_step_s = time_step_s
        self._stream = device.create_stream()
        #: Recorded where a measured launch begins, and when that was on the clock of `time.perf_counter_ns`.
        self.graph_start, self.launched_ns = device.create_event(), 0
        self._stop = device.create_event()
        self._observed: frozenset[str] = frozenset()
        self._saves: deque[str | None] = deque()
        self._launches = 0
        self._is_current = False  # the last launch was of the graph and state as they are now
        self._pictured: dict[str, int] = {}  # launch whose picture each viewer has
        self._spans, self._launch_ns = SpanTimes(), Average()
        self._nodes: dict[str, NodeReport] = {}
        self._buffers: dict[str, BufferReport] = {}
        self._statistics = EngineStatistics(device.info.name)
        self._reported_ns = 0
        self._told: tuple[Diagnostic, ...] = ()

    def post(self, message: Message) -> None:
        """Leave a message for the next frame; never waits."""
        self.inbox.append(message)

    def frame(self, *, free_running: bool = False) -> FrameReport:
        """Do one frame and return its report.

        A frame by hand finishes all preparations and always advances. A `free_running` one leaves preparations to the
        worker, and a launch that would give what the last one gave is left out. While the engine is paused it does not
        advance: an edit is then shown by a launch with a time step of 0 at the same frame index. DeviceError when the
        device fails.
        """
        if self.fault is not None:
            raise self.fault
        start_ns = time.perf_counter_ns()
        self.device.activate()
        try:
            self._read_inbox()
            advance = self.running or not free_running
            level = self.updates.run(self.frame_index, wait=not free_running)
            records = self.updates.take_records()
            if level is UpdateLevel.COLD:
                self._spans.clear()
            compiled = self.updates.compiled
            is_same = free_running and level is UpdateLevel.NONE and self._is_current
            if compiled is not None and not (is_same and (compiled.is_still or not advance)):
                self._launch(advance)
                self.updates.read_status(fresh=not free_running)
            self._picture()
            # What was edited before the request counts: a new file name, a new value.
            while self._saves and not self.updates.pending:
                self._save(self._saves.popleft())
        except DeviceError as problem:
            self.fault = problem
            self.fail(fault_diagnostic(problem, self.updates.compiled))
            raise
        finish_ns = time.perf_counter_ns()
        report = self._report(level, finish_ns - start_ns, records, fresh=not free_running)
        if advance and not (free_running and compiled is None):  # the first frame waits for the first build
            self.frame_index += 1
            if self.frames_left:
                self.frames_left -= 1
                self.running = self.frames_left > 0
        return report

    def read(self, port: PortRef) -> np.ndarray[Any, Any]:
        """Return a copy of what a port of the running graph held in the last frame."""
        assert self.updates.compiled is not None
        return read_port(self.updates.compiled, self.context, self._stream, port)

    def fail(self, diagnostic: Diagnostic) -> None:
        """Leave a last report that says why the engine has stopped; the device is not asked for anything."""
        diagnostics = (*self.updates.diagnostics, diagnostic)
        report = FrameReport(
            frame=self.frame_index,
            update_level=UpdateLevel.NONE,
            frame_time_ns=0,
            nodes=node_reports(self.context, self.updates.compiled, diagnostics, {}),
            buffers=self._buffers,
            statistics=self._statistics,
            diagnostics=diagnostics,
            failed=True,
        )
        self.outbox.put_report(report)
        self.outbox.put_event(diagnostic)

    def close(self) -> None:
        """Give everything on the device back."""
        self.device.activate()
        self.updates.close()
        for event in (self.graph_start, self._stop):
            event.destroy()
        self._stream.destroy()
        self.context.close()

    def _read_inbox(self) -> None:
        while self.inbox:
            match self.inbox.popleft():
                case KernelFilesChanged(paths):
                    self.context.dirty.mark_kernel_files(paths)
                case Observe(nodes):
                    self._observed = nodes
                    self._pictured = {node: n for node, n in self._pictured.items() if node in nodes}
                case SetRunning(running, frames):
                    self.running, self.frames_left = running and frames != 0, frames
                case SetProfiling(level):
                    self.updates.set_profiling(level)
                case Reset():
                    self.context.states.clear()
                    if self.updates.compiled is not None:
                        self.updates.compiled.begin_again()
                    self.frame_index = 0
                    self._is_current = False
                case SaveOutputs(node):
                    self._saves.append(node)
                case change:
                    self.updates.apply(change)

    def _launch(self, advance: bool) -> None:
        compiled = self.updates.compiled
        assert compiled is not None
        uniforms = self.context.frame.array
        step = self._time_step_s if advance else 0.0
        uniforms[0] = (self.frame_index & 0xFFFFFFFF, self.frame_index * self._time_step_s, step, 0)
        measured = self.updates.profiling >= ProfilingLevel.SUMMARY
        if measured:
            self.launched_ns = time.perf_counter_ns()
            self._stream.record(self.graph_start)
        kept = [] if advance else [(memory, np.empty(size, np.uint8)) for memory, size in compiled.kept_turns]
        for memory, contents in kept:
            self.device.read(memory, contents)
        compiled.launch(self._stream, advance=advance)
        if measured:
            self._stream.record(self._stop)
        self._stream.synchronize()
        for memory, contents in kept:
            self.device.write(memory, contents)
        self._launches += 1
        self._is_current = True
        if measured:
            self._launch_ns.add(self._stop.elapsed_ns(self.graph_start))
            self._spans.add(compiled.span_times())

    def _picture(self) -> None:
        """Read back what observed viewers show, unless they have it already or have not taken the last one."""
        compiled = self.updates.compiled
        if compiled is None or not self._observed:
            return
        for node, display in displays(compiled):
            node_id, node = node, owner(node)
            if node in self._observed and self._pictured.get(node) != self._launches and display.path is None:
                if self.outbox.has_preview(node):
                    continue
                pixels = read_buffer(compiled, self.device, PortRef(node_id, display.buffer))
                self.outbox.put_preview(Preview(node, self.frame_index, pixels))
                self._pictured[node] = self._launches

    def _save(self, node: str | None) -> None:
        try:
            if self.updates.compiled is None:
                raise PatchError("outputs must come from a running patch, got one that has not been built")
            base = self.context.folder()
            for saved in save_outputs(self.updates.compiled, self.device, folder=None, base=base, node=node):
                if saved.path:
                    self.outbox.put_event(saved)
        except PatchError as problem:
            self.outbox.put_event(error(str(problem), node=node))

    def _report(
        self, level: UpdateLevel, time_ns: int, records: tuple[UpdateRecord, ...], *, fresh: bool
    ) -> FrameReport:
        now = time.perf_counter_ns()
        diagnostics = self.updates.diagnostics
        compiled = self.updates.compiled
        structure = level > UpdateLevel.HOT or diagnostics is not self._told
        measured = self.updates.profiling >= ProfilingLevel.SUMMARY
        if structure or (measured and (fresh or now - self._reported_ns >= REPORT_INTERVAL_NS)):
            self._reported_ns, self._told = now, diagnostics
            self._nodes = node_reports(self.context, compiled, diagnostics, self._spans.by_node())
            self._statistics = EngineStatistics(
                device=self.device.info.name,
                blocks=len(self.context.registry.placed),
                kernels=len(compiled.kernels) if compiled else 0,
                launch_ns=self._launch_ns.mean,
                profiling=self.updates.profiling,
                pool_used_bytes=self.context.pool.used_bytes,
                pool_allocated_bytes=self.context.pool.allocated_bytes,
            )
        if structure:
            self._buffers = buffer_reports(compiled)
        for record in records:
            self.outbox.put_event(record)
        report = FrameReport(
            frame=self.frame_index,
            update_level=level,
            frame_time_ns=time_ns,
            nodes=self._nodes,
            buffers=self._buffers,
            statistics=self._statistics,
            diagnostics=diagnostics,
            updates=records,
            running=self.running,
            counts=append_counts(compiled, self.updates.status),
            preparing=self.updates.preparing,
        )
        self.outbox.put_report(report)
        return report
