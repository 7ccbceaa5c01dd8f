"""`Engine`: a patch and the engine that runs it in this process; `LocalEngine`, its transport."""

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from warploom.engine.arguments import checked
from warploom.engine.blocktypes.block import block_types
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph
from warploom.engine.compiler.inspection.data import frame_plan
from warploom.engine.descriptions.ports import count_name
from warploom.engine.device.device import Buffer, Device, DeviceInfo
from warploom.engine.device.open import check_device_name, open_device
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError, Severity, WarploomError, cut, raise_errors
from warploom.engine.garbage import without_collections
from warploom.engine.patch.changes import BlockTypesChanged, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.processes.pool import warm_up
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.nvtx import attached_profiler
from warploom.engine.protocol import questions
from warploom.engine.protocol.child.process import EngineProcess
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import FrameReport, KernelFilesChanged, Message, Saved, SetFusing
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.pacing import Pacing
from warploom.engine.protocol.pipe import connect
from warploom.engine.protocol.questions import Answer, Question
from warploom.engine.runtime.frame.cuda_engine import CudaEngine
from warploom.engine.runtime.frame.thread import EngineLoop, FrameLock
from warploom.engine.runtime.observed.marked_engine import MarkedEngine
from warploom.engine.runtime.observed.replay import Replayer
from warploom.engine.runtime.observed.trace_frames import trace_frames
from warploom.engine.runtime.preview.outputs import read_outputs
from warploom.engine.runtime.report.node_reports import awaited
from warploom.engine.runtime.update.cost import cost_of

if TYPE_CHECKING:
    from warploom.engine.catalogue.saved_files import SavedFiles

_log = logging.getLogger(__name__)
#: Time that closing waits for the current frame before it abandons blocks' code and interrupts the device.
PATIENCE_S = 0.4
#: Time that closing waits for a GPU.
CLOSING_S = 1.5


class Engine(Client):
    """Runs a patch in this process and follows its edits.

    `device` is "auto", "host", "cuda:0" or an open device, which then stays the caller's. Raise DeviceError if it can't
    be used. Kernels of neighbouring blocks are fused unless `fuse` is False. Buffers share memory unless `share` is
    False, for a comparison: then no kernel is fused, and each buffer has separate memory. With `plain_edges`, no kernel
    on a CUDA device begins before those that it waits for are complete, see `open_device`. With `raise_on_error`,
    `step` raises what `check` would raise.
    """

    @checked(PatchError, device="its name or its kind is checked by LocalEngine")
    def __init__(
        self,
        patch: Patch,
        device: str | Device = "auto",
        *,
        profiling: ProfilingLevel = ProfilingLevel.PER_BLOCK,
        time_step_s: Annotated[float, Meta(gt=0)] = 1 / 60,
        fuse: bool = True,
        share: bool = True,
        plain_edges: bool = False,
        raise_on_error: bool = False,
    ) -> None:
        with without_collections():  # a large patch is thousands of messages
            local = LocalEngine(patch, device, profiling=profiling, time_step_s=time_step_s, plain_edges=plain_edges)
            super().__init__(patch, local)
        self.device = local.device
        self._local = local
        #: The engine's frames, for tests and benchmarks that run them one by one.
        self.core = local.engine
        if not (fuse and share):
            self.post(SetFusing(fuse, share))
        if raise_on_error:
            self._step = partial(_step_or_raise, self._step)

    def check(self) -> None:
        """Raise GraphValidationError if a block had an error in the newest frame.

        Runs the first frame if there was none. The error's `errors` and `warnings` are diagnostics with the node, the
        message and the remedy. The last graph without errors keeps running, and so do blocks without errors.
        """
        self._send_begun()
        raise_errors(self._local.diagnostics())

    def buffer(self, port: PortRef) -> Buffer:
        """Return the memory of a port in the running graph, for other libraries: nothing is copied.

        It has the contents of the newest frame. The next frame overwrites them, also while another library reads them:
        let its work end before `step`, or inside `between_frames` while the engine runs by itself. What is written into
        it lasts until then. After an edit above HOT, the port may lie elsewhere, and the buffer's contents are
        undefined: call this again. The memory itself stays as long as an array refers to it. Runs the first frame if
        there was none. Raise PatchError for a port whose memory does not last after a frame, which `read` computes
        again: one that was fused, shares memory with others, swaps places in each frame, or is a strided view.
        """
        leaf = self.patch.leaf(port)
        if leaf is None:
            raise PatchError(f"port to share must lead to a block, got {port}, which leads to none")
        self._send_begun()
        return self._local.lend(leaf)

    @contextmanager
    def between_frames(self) -> Iterator[None]:
        """Hold the engine's thread between two frames: all edits inside take effect in the same frame.

        No frame runs on the device meanwhile.
        """
        with self._local.lock:
            self._local.engine.launcher.settle()
            yield


def _step_or_raise(step: Callable[[bool], FrameReport], real_time: bool) -> FrameReport:
    report = step(real_time)
    if report.diagnostics:
        raise_errors(report.diagnostics)
    return report


@checked(PatchError, device="checked by Engine or the process", command="checked by connect")
def open_engine(
    patch: Patch,
    device: str,
    command: str | EngineProcess | None = None,
    *,
    profiling: ProfilingLevel,
    time_step_s: float = 1 / 60,
    fuse: bool = True,
    plain_edges: bool = False,
    waits: bool = True,
) -> Client:
    """Run a patch in this process, or with a `command` in another one: "warploom engine", say, or a started process.

    `waits` is for another process, see `connect`.
    """
    if command is None:
        return Engine(patch, device, profiling=profiling, time_step_s=time_step_s, fuse=fuse, plain_edges=plain_edges)
    options: dict[str, Any] = {"profiling": profiling, "time_step_s": time_step_s, "plain_edges": plain_edges}
    client = connect(patch, command, device, waits=waits, **options)
    if not fuse:
        client.post(SetFusing(False))
    return client


class LocalEngine:
    """An engine in this process, with its thread and its file watcher: the transport that needs no pipe.

    Changes of `patch` are posted; the patch itself is read only for its folder and for the cost of an edit. Questions
    are answered on the caller's thread.
    """

    silent_s = 0.0
    waits_for = ""
    has_own_process = False
    stuck_in = stuck_file = ""

    def __init__(
        self,
        patch: Patch,
        device: str | Device,
        *,
        profiling: ProfilingLevel,
        time_step_s: float,
        plain_edges: bool = False,
    ) -> None:
        if not hasattr(device, "info"):
            check_device_name(device)  # an object that is neither a name nor a device is refused here
        if plain_edges and not isinstance(device, str):
            raise DeviceError("plain_edges must be given to open_device, got it with a device that is open")
        self._own_device = open_device(device, plain_edges=plain_edges) if isinstance(device, str) else None
        self.device: Device = self._own_device or device  # type: ignore[assignment]  # one of the two is a Device
        self.info: DeviceInfo = self.device.info
        self._patch = patch
        nvtx = attached_profiler()
        make_engine = CudaEngine if nvtx is None else partial(MarkedEngine, nvtx)
        try:
            self.engine = make_engine(
                self.device, patch.catalogue, lambda: patch.folder, profiling=profiling, time_step_s=time_step_s
            )
        except BaseException:
            if self._own_device is not None:
                self._own_device.close()
            raise
        self.engine.context.file = lambda: patch.path
        self.outbox: Outbox = self.engine.outbox
        self.post: Callable[[Message], None] = self.engine.inbox.append
        _log.info("engine on %s (%s)", self.info.name, self.info.title)
        #: Held during each frame.
        self.lock = FrameLock()
        self._loop: EngineLoop | None = None
        self._saved_files: SavedFiles | None = None
        self._replay: Replayer | None = None
        self._closed = False
        self._forget_types = block_types.subscribe(lambda types: self.post(BlockTypesChanged(types)))

    def ask(self, question: Question[Answer], _within_s: float | None = None, /) -> Answer:
        """Answer a question. Raise WarploomError if that fails, or the engine is closed."""
        if self._closed:
            raise _closed()
        answer: Answer = self._answer(question)
        return answer

    def _answer(self, question: Question[Any]) -> Any:
        engine = self.engine
        if type(question) is not questions.Replay:
            self._end_replay()
        match question:
            case questions.Step(real_time):
                return self.step(real_time)
            case questions.Trace(frames):
                with self.lock:
                    return trace_frames(engine, frames)
            case questions.ReadProfile():
                with self.lock:
                    return engine.profiler.profile()
            case questions.ReadRecorder(with_times):
                return engine.recorder.record(with_times=with_times)
            case questions.ReadPlan():
                compiled = engine.updates.compiled
                return frame_plan(compiled.plan) if compiled is not None else None
            case questions.Start(pacing, deterministic):
                return self._start(pacing, deterministic=deterministic)
            case questions.Replay(from_frame):
                if self._replay is None:
                    self._stop()
                    self._replay = Replayer(engine, self.lock, from_frame)
                return self._replay.step()
            case questions.Stop():
                return self._stop()
            case questions.Read(port, valid):
                return self._read(port, valid=valid)
            case questions.SaveTo(folder):
                return self._save(folder)
            case questions.ReadState():
                with self.lock:
                    return engine.take_state()
            case questions.PutState(state):
                with self.lock:
                    return engine.put_state(state)
            case questions.CopyState(most_bytes):
                with self.lock:
                    copy = engine.copy_state(most_bytes)
                if copy is not None:
                    self.outbox.put_event(copy)
                return None
            case questions.FindRefused():
                return self._find_refused()
            case questions.WatchFiles(folders):
                return self._watch(folders)
            case questions.CostOf(edits):
                return cost_of(edits, self._patch.running(), engine.updates.published)

    def step(self, real_time: bool, /) -> FrameReport:
        """Run one frame, see `Client.step`. Raise WarploomError if the engine is closed."""
        if self._closed:
            raise _closed()
        self._end_replay()
        with self.lock:
            if self.engine.launcher.launches:
                return self.engine.frame(real_time=real_time)
            with without_collections():
                return self.engine.frame(real_time=real_time)

    def _end_replay(self) -> None:
        replay, self._replay = self._replay, None
        if replay is not None:
            replay.end()

    def _start(self, pacing: Pacing, *, deterministic: bool) -> None:
        if self._loop is None or not self._loop.is_alive:
            self.engine.player.pace(pacing)
            _log.debug("frames begin, paced by %s", pacing)
            self._loop = EngineLoop(self.engine, self.lock, real_time=not deterministic)

    def _stop(self) -> None:
        if self._loop is not None:
            self._loop.stop()
            _log.debug("frames end after frame %d", self.engine.clock.moment.frame)
            self._loop = None

    def _read(self, port: PortRef, *, valid: bool = False) -> np.ndarray[Any, Any]:
        with self.lock:
            compiled = self._compiled()
            value = self.engine.context.value_graph.value(port)
            if value is not None and not valid:
                return np.array(value)
            self._require_running(compiled, port)
            found = self.engine.results.read(port)
            return found[: self._count_of(compiled, port)] if valid else found

    def _count_of(self, compiled: CompiledGraph | None, port: PortRef) -> int:
        """Return the number of elements in an append buffer. Raise PatchError for any other port."""
        assert compiled is not None
        inner = compiled.plan.inlined.output(port)
        ports = compiled.plan.description.by_id[inner.node].description.ports
        if not any(spec.name == inner.port and spec.append for spec in ports):
            raise PatchError(f"port {port} must be an append buffer to have a valid part, got one that is always full")
        return int(self.engine.results.read(PortRef(inner.node, count_name(inner.port)))[0])

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what was wrong in the newest frame; runs the first frame if there was none."""
        if self._closed:
            raise _closed()
        with self.lock:
            self._compiled()
            return self.engine.updates.diagnostics.all

    def lend(self, port: PortRef) -> Buffer:
        """Return the memory of a port, see `Engine.buffer`."""
        if self._closed:
            raise _closed()
        self._end_replay()
        with self.lock:
            compiled = self._compiled()
            if self.engine.context.value_graph.value(port) is not None:
                raise PatchError(f"port {port} must carry a buffer to be shared, got a value; read it")
            self._require_running(compiled, port)
            self.device.activate()
            return self.engine.results.lend(port)

    def _compiled(self) -> CompiledGraph | None:
        """Return the running graph, after the first frame unless a started engine's frames have failed."""
        # A started engine may not have run its first frame yet.
        if self.engine.updates.compiled is None and (self._loop is None or self.engine.clock.moment.frame == 0):
            self.engine.frame()
        return self.engine.updates.compiled

    def _require_running(self, compiled: CompiledGraph | None, port: PortRef) -> None:
        if compiled is None or compiled.plan.inlined.output(port) not in compiled.plan.layouts:
            reasons = "; ".join(map(str, self._reasons(port.node)))
            raise PatchError(
                f"port {cut(str(port), 200)} must be part of the running graph{': ' + reasons if reasons else ''}"
            )

    def _reasons(self, node: str) -> list[Diagnostic]:
        """Return the problems that keep a node from running, or all if none is known to."""
        context, found = self.engine.context, self.engine.updates.diagnostics.all
        wrong = {item.node for item in found if item.node and item.severity is Severity.ERROR}
        scopes = {placed.id: placed.region for placed in context.registry.placed.values()}
        source = awaited(wrong, scopes, context.connections).get(node)
        return [item for item in found if source in (None, item.node)]

    def _save(self, folder: Path | None) -> list[Saved]:
        with self.lock:
            compiled = self.engine.updates.compiled
            if compiled is None:
                raise PatchError("outputs must come from a running patch; step it first")
            self.engine.launcher.settle()
            # A script decides by itself what is overwritten, and so does a person who names a folder.
            place = self.engine.context.save_place(folder, None if self.engine.context.trusted else ())
            saved, problems = [], []
            for output in read_outputs(compiled, self.engine.context.services, place):
                try:
                    saved.append(output.save())
                except PatchError as problem:
                    problems.append(problem)
            if problems:
                raise PatchError("; ".join(map(str, problems)))
            return saved

    def _find_refused(self) -> list[Diagnostic]:
        with self.lock:
            compiled, context = self.engine.updates.compiled, self.engine.context
            place = context.save_place(overwrites=None if context.trusted else ())
            return place.refusals(compiled.plan.description.files, at_present=True) if compiled is not None else []

    def _watch(self, folders: Collection[Path]) -> None:
        if self._saved_files is None:
            context = self.engine.context
            from warploom.engine.catalogue.saved_files import SavedFiles  # most runs watch no files

            self._saved_files = SavedFiles(
                lambda files: self.post(KernelFilesChanged(files)),
                lambda: (*context.services.modules.readings(), *context.registry.readings()),
            )
            # Kernels will probably be saved.
            host = ("warploom.engine.device.host.modules.build",) if self.info.name == "host" else ()
            warm_up("warploom.engine.kernel_sources.cuda.nvrtc", *host)
        self._saved_files.watch(folders)

    def announce_code(self, announce: Callable[[str, str], None]) -> None:
        """Have blocks' code announced before it runs, by node and method, and with "" at its end."""
        context = self.engine.context
        context.code.announce = context.services.code.announce = announce

    def close(self) -> None:
        """Stop and free all resources; safe to call again. Raise DeviceError if the device fails only now.

        If a GPU does not finish, nothing is freed.
        """
        if self._closed:
            return
        self._closed = True
        self._forget_types()
        if self._saved_files is not None:
            self._saved_files.close()
        self.engine.cancel()
        timer = threading.Timer(PATIENCE_S, self._hurry)
        timer.daemon = True
        timer.start()
        try:
            self._end_frames()
            self._end_replay()
            with self.lock:
                self.engine.close()
        finally:
            timer.cancel()
            if self._own_device is not None and not self.engine.launcher.waits_since_ns:
                self._own_device.close()
            _log.info("engine on %s is closed", self.info.name)

    def _end_frames(self) -> None:
        """End the thread. Raise DeviceError if the device does not finish a frame, which only a GPU may do."""
        patience_s = CLOSING_S if self.info.is_asynchronous else None
        if self._loop is not None:
            self._loop.stop(patience_s)
        is_over = self._loop is None or not self._loop.is_alive
        if not (is_over and self.lock.acquire(timeout=-1 if patience_s is None else patience_s)):
            raise DeviceError(f"{self.info.name} must finish to be closed, got a launch that goes on: end the process")
        self.lock.release()
        self._loop = None

    def _hurry(self) -> None:
        """Abandon a block's code or a kernel for which closing waits."""
        self.engine.context.give_up_block_code()
        self.device.interrupt()


def _closed() -> WarploomError:
    return WarploomError("engine must be open, got one that was closed")
