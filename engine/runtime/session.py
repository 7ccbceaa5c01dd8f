"""`Engine`: a patch and the engine that runs it, as scripts, the command line and the editor use them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from engine.device.open import open_device
from engine.device.protocol import Device
from engine.diagnostics import PatchError, WarploomError
from engine.kernel_sources.files import KERNELS_FOLDER
from engine.kernel_sources.watcher import KernelWatcher
from engine.patch.changes import PortRef
from engine.patch.document import Patch
from engine.profiling.levels import ProfilingLevel
from engine.profiling.trace import Slice
from engine.runtime.cuda_engine import CudaEngine
from engine.runtime.loop import EngineLoop
from engine.runtime.messages import FrameReport, KernelFilesChanged, Message, Preview, Saved
from engine.runtime.outbox import Happening
from engine.runtime.outputs import save_outputs
from engine.runtime.tracing import trace_frames

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
        self._watcher: KernelWatcher | None = None
        self._closed = False
        for change in patch.as_changes():
            self._engine.post(change)
        self._unsubscribe = patch.subscribe(self._engine.post)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def step(self) -> FrameReport:
        """Do one frame now, with everything that was edited, and return its report."""
        with self._lock:
            self._require_open()
            return self._engine.frame()

    def trace(self, frames: int) -> list[Slice]:
        """Do some frames with every kernel timed and return what took time; see `engine.profiling.trace`."""
        with self._lock:
            self._require_open()
            return trace_frames(self._engine, frames)

    def start(self, *, rate: float | None = 60.0) -> None:
        """Run frames on a thread of the engine's own, at most `rate` a second; None means as fast as they go."""
        self._require_open()
        if self._loop is None or not self._loop.is_alive:
            self._loop = EngineLoop(self._engine, self._lock, rate)

    def stop(self) -> None:
        """End the thread; the graph and its state stay."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def read(self, port: PortRef) -> np.ndarray[Any, Any]:
        """Return a copy of what a port holds after the last frame; the first frame is done when there was none.

        An array of the port's element type and shape; vectors have an axis of their own, last.
        """
        with self._lock:
            self._require_open()
            compiled = self._engine.updates.compiled
            if compiled is None and self._loop is None:
                self._engine.frame()
                compiled = self._engine.updates.compiled
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
            return save_outputs(self._engine.updates.compiled, self.device, folder=folder, base=self.patch.folder)

    def watch_kernels(self, folders: Iterable[Path] = ()) -> None:
        """Follow saves of kernel files in Warploom's kernel folder, beside the block library and in `folders`."""
        if self._watcher is None:
            self._watcher = KernelWatcher(lambda paths: self._engine.post(KernelFilesChanged(paths)))
        used = {block.source_folder() for block in self.patch.catalogue.all()}
        for folder in {KERNELS_FOLDER, *(f for f in used if f is not None and f.is_dir()), *folders}:
            self._watcher.watch(folder)

    def post(self, message: Message) -> None:
        """Leave a message for the next frame."""
        self._engine.post(message)

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
        """Stop and give everything back; safe to call again."""
        if self._closed:
            return
        self._closed = True
        self._unsubscribe()
        if self._watcher is not None:
            self._watcher.close()
        with self._impatience():
            self.stop()
            with self._lock:
                self._engine.close()
        if self._own_device is not None:
            self._own_device.close()

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
