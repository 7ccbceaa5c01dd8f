"""`Engine`: a patch and the engine that runs it, as scripts, the command line and the editor use them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from engine.blocktypes import definitions
from engine.catalogue.block_folders import block_folders
from engine.device.open import open_device
from engine.device.protocol import Device
from engine.diagnostics import KernelError, PatchError, WarploomError
from engine.kernel_sources.image import KERNELS_FOLDER
from engine.kernel_sources.watcher import SourceWatcher
from engine.patch.changes import BlockTypesChanged, Change, PortRef
from engine.patch.document import Patch
from engine.profiling.levels import ProfilingLevel
from engine.profiling.trace import Slice
from engine.protocol.messages import FrameReport, KernelFilesChanged, Message, Preview, Saved, Undone
from engine.protocol.outbox import Happening
from engine.protocol.pacing import Pacing
from engine.runtime.frame.cuda_engine import CudaEngine
from engine.runtime.frame.thread import EngineLoop
from engine.runtime.frame.trace_frames import trace_frames
from engine.runtime.preview.outputs import read_outputs
from engine.runtime.update.cost import Asked, EditCost, cost_of

_log = logging.getLogger(__name__)
#: How long closing waits for the frame under way before it interrupts the device.
PATIENCE_S = 0.4


class Engine:
    """Runs a patch and follows its edits.

    Step it by hand (`step`), or let it run on its own thread (`start`, `stop`). `device` is "auto", "host", "cuda:0"
    or an open device, which then stays the caller's. `post` and the `take_` methods never wait; the rest may wait
    for the frame under way. DeviceError when the device cannot be used or fails.
    """

    def __init__(
        self,
        patch: Patch,
        device: str | Device = "auto",
        *,
        profiling: ProfilingLevel = ProfilingLevel.PER_BLOCK,
        time_step_s: float = 1 / 60,
    ) -> None:
        self._own_device = open_device(device) if isinstance(device, str) else None
        self.device: Device = self._own_device or device  # type: ignore[assignment]  # one of the two is a Device
        self.patch = patch
        self._engine = CudaEngine(
            self.device, patch.catalogue, lambda: patch.folder, profiling=profiling, time_step_s=time_step_s
        )
        self._lock = threading.RLock()
        self._loop: EngineLoop | None = None
        self._watcher: SourceWatcher | None = None
        self._closed = False
        for change in patch.as_changes():
            self._engine.post(change)
        self._unsubscribe = patch.subscribe(self._follow)
        self._forget_types = definitions.subscribe(self._follow_types)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def step(self, *, real_time: bool = False) -> FrameReport:
        """Do one frame now, with everything that was edited, and return its report.

        The patch's time goes on by one `time_step_s`, so that the same edits give the same frames on every run; with
        `real_time` it goes on by what has passed since the step before.
        """
        with self._lock:
            self._require_open()
            return self._engine.frame(real_time=real_time)

    def trace(self, frames: int) -> list[Slice]:
        """Do some frames with every kernel timed and return what took time; see `engine.profiling.trace`."""
        with self._lock:
            self._require_open()
            return trace_frames(self._engine, frames)

    def start(self, *, rate: float | None = 60.0, pacing: Pacing | None = None, deterministic: bool = False) -> None:
        """Run frames on a thread of the engine's own, `rate` a second; None means as fast as they go.

        `pacing` says the same and more, in place of `rate`; `SetPacing` changes it later. The patch's time follows the
        wall's, or goes on by one `time_step_s` a frame when it is to be `deterministic`: for recordings.
        """
        self._require_open()
        if pacing is None:
            pacing = Pacing.free() if rate is None else Pacing.fixed(rate)
        if self._loop is None or not self._loop.is_alive:
            self._engine.pacing = pacing
            self._loop = EngineLoop(self._engine, self._lock, real_time=not deterministic)

    def stop(self) -> None:
        """End the thread; the graph and its state stay."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def read(self, port: PortRef) -> np.ndarray[Any, Any]:
        """Return a copy of what a port holds after the last frame; the first frame is done when there was none.

        An array of the port's element type and shape; vectors have an axis of their own, last. A value output and a
        driven parameter give an array without dimensions.
        """
        with self._lock:
            self._require_open()
            compiled = self._engine.updates.compiled
            if compiled is None and self._loop is None:
                self._engine.frame()
                compiled = self._engine.updates.compiled
            value = self._engine.context.value_graph.value(port)
            if value is not None:
                return np.array(value)
            if compiled is None or compiled.plan.inlined.output(port) not in compiled.plan.layouts:
                reasons = "; ".join(str(item) for item in self._engine.updates.diagnostics)
                raise PatchError(f"port {port} must be part of the running graph{': ' + reasons if reasons else ''}")
            return self._engine.read(port)

    def save_outputs(self, folder: Path | None = None) -> list[Saved]:
        """Save outputs (all of them into `folder`, or save blocks to their own paths) and return them."""
        with self._lock:
            self._require_open()
            if self._engine.updates.compiled is None:
                raise PatchError("outputs must come from a running patch; step it first")
            compiled, base = self._engine.updates.compiled, self.patch.folder
            return [output.save() for output in read_outputs(compiled, self.device, folder=folder, base=base)]

    def watch_files(self, folders: Iterable[Path] = ()) -> None:
        """Follow saves of kernel and block files: Warploom's, those beside block types, and those in `folders`.

        Block files count where `trust_blocks` or the catalogue have loaded them from.
        """
        if self._watcher is None:
            self._watcher = SourceWatcher(self._on_saved)
        self._watch_sources(self._watcher)
        for folder in folders:
            self._watcher.watch(folder)

    def post(self, message: Message) -> None:
        """Leave a message for the next frame."""
        self._engine.post(message)

    def cost_of(self, asked: Asked | Iterable[Asked]) -> EditCost:
        """Return what one or several changes would cost, made at once to the patch as it is; nothing is done.

        It never waits, and belongs to the patch's thread: what it knows of the running graph is what the last update
        has left.
        """
        return cost_of(asked, self.patch, self._engine.updates.published)

    def take_report(self) -> FrameReport | None:
        """Return the newest report that was not taken yet."""
        return self._engine.outbox.take_report()

    def take_preview(self, node_id: str) -> Preview | None:
        """Return a viewer's newest picture that was not taken yet; say whom you look at with `Observe`."""
        return self._engine.outbox.take_preview(node_id)

    def take_events(self) -> list[Happening]:
        """Return what happened since the last call: files saved, updates above HOT, failures."""
        return self._engine.outbox.take_events()

    def close(self) -> None:
        """Stop and give everything back; safe to call again. DeviceError when the device fails only now."""
        if self._closed:
            return
        self._closed = True
        self._unsubscribe()
        self._forget_types()
        if self._watcher is not None:
            self._watcher.close()
        try:
            with self._impatience():
                self.stop()
                with self._lock:
                    self._engine.close()
        finally:
            if self._own_device is not None:
                self._own_device.close()

    def _follow(self, change: Change) -> None:
        if not isinstance(change, BlockTypesChanged):  # of which the engine hears without the patch
            self._engine.post(Undone(change) if self.patch.is_undoing else change)

    def _follow_types(self, types: frozenset[str]) -> None:
        """Hear, on the thread that loads block files, that types are others."""
        self._engine.post(BlockTypesChanged(types))
        if self._watcher is not None:
            self._watch_sources(self._watcher)

    def _watch_sources(self, watcher: SourceWatcher) -> None:
        is_more = False
        for folder in self._source_folders():
            try:
                is_more |= watcher.watch(folder)
            except KernelError as problem:  # without it saves are not followed, and all else is as it should be
                _log.warning("%s", problem)
        if is_more:
            block_folders.catch_up()  # with what was saved since it was loaded, while nobody watched

    def _source_folders(self) -> set[Path]:
        used = {block.source_folder() for block in self.patch.catalogue.all()}
        return {KERNELS_FOLDER, *(f for f in (*block_folders.paths, *used) if f is not None and f.is_dir())}

    def _on_saved(self, files: frozenset[Path]) -> None:
        blocks = frozenset(path for path in files if path.suffix == ".py")
        kernels = files - blocks
        # A kernel that is saved with its block goes by the block's new description.
        loaded = block_folders.reload(blocks) if blocks else None
        if kernels and loaded is not None:
            loaded.add_done_callback(lambda _: self._engine.post(KernelFilesChanged(kernels)))
        elif kernels:
            self._engine.post(KernelFilesChanged(kernels))

    @contextmanager
    def _impatience(self) -> Iterator[None]:
        """Interrupt what the device runs when the work inside waits for it too long: a kernel that never ends."""
        interrupt = getattr(self.device, "interrupt", None)
        if interrupt is None:
            yield
            return
        timer = threading.Timer(PATIENCE_S, interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _require_open(self) -> None:
        if self._closed:
            raise WarploomError("engine must be open, got one that was closed")
