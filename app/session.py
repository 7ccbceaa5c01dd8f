"""`Session`: the open document, which is a patch and the engine that runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.media_paths import paths_to_keep
from engine.diagnostics import WarploomError
from engine.patch.changes import Change
from engine.patch.document import Patch
from engine.patch.files import load_patch, save_patch
from engine.runtime.messages import Message, ProfilingLevel, SetProfiling, SetRunning

if TYPE_CHECKING:
    from engine import Engine

MakeEngine = Callable[[Patch, ProfilingLevel], "Engine"]


class Session(QObject):
    """One patch at a time, with its engine. Engines are closed beside the UI: nothing here waits for one."""

    #: Another patch is open, or none; its engine has started.
    replaced = Signal()
    #: The same patch has another engine.
    engine_changed = Signal()
    #: The patch, its undo history or its saved mark changed; at most once per turn of the event loop.
    changed = Signal()
    #: The engine could not start; the text says why. The patch can still be edited and saved.
    engine_failed = Signal(str)
    #: Playing began or ended.
    running_changed = Signal(bool)

    def __init__(self, make_engine: MakeEngine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.patch: Patch | None = None
        self.engine: Engine | None = None
        self.profiling = ProfilingLevel.PER_BLOCK
        self.running = True
        self._make_engine = make_engine
        self._failure = ""
        self._is_saved = True
        self._unsubscribe: Callable[[], None] | None = None
        self._closing: list[threading.Thread] = []
        # The history records an edit after its changes were heard, so looking at it waits for the next turn.
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self.changed)

    @property
    def path(self) -> Path | None:
        """File of the patch; None when it was never saved."""
        return self.patch.path if self.patch else None

    @property
    def is_modified(self) -> bool:
        """True when the patch holds work that its file does not."""
        return self.patch is not None and not (self._is_saved and self.patch.history.is_saved)

    def open(self, path: Path) -> None:
        """Open a file in place of the present patch; PatchError when it is no patch, and then the present one stays."""
        self.replace(load_patch(path))

    def replace(self, patch: Patch | None, *, is_saved: bool = True) -> None:
        """Show another patch (or none) and start its engine; `is_saved` is False for work that no file holds."""
        self._end_engine()
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self.patch, self._is_saved = patch, is_saved
        if patch is not None:
            self._unsubscribe = patch.subscribe(self._on_change)
            self._start_engine(patch)
        self.replaced.emit()
        self._tell_failure()
        self.notify()

    def save(self, path: Path) -> None:
        """Write the patch to a file and go on with that file; PatchError when it can't be written."""
        if self.patch is not None:
            # Not an edit of the person's: undo must not make a file disappear.
            self.patch.restore(paths_to_keep(self.patch, self.patch.folder, path.resolve().parent))
            save_patch(self.patch, path)
            self._is_saved = True
            self.notify()

    def undo(self) -> None:
        """Take the last edit back."""
        if self.patch is not None:
            self.patch.undo()
            self.notify()

    def redo(self) -> None:
        """Bring the last undone edit back."""
        if self.patch is not None:
            self.patch.redo()
            self.notify()

    def notify(self) -> None:
        """Emit `changed` in the next turn of the event loop."""
        self._later.start()

    def post(self, message: Message) -> None:
        """Send a message to the engine, when one runs."""
        if self.engine is not None:
            self.engine.post(message)

    def set_running(self, running: bool) -> None:
        """Play or pause."""
        self.running = running
        self.post(SetRunning(running))
        self.running_changed.emit(running)

    def step(self) -> None:
        """Run one frame, and pause."""
        self.running = False
        self.post(SetRunning(True, frames=1))
        self.running_changed.emit(False)

    def set_profiling(self, level: ProfilingLevel) -> None:
        """Measure at another level, in this patch and in those opened later."""
        self.profiling = level
        self.post(SetProfiling(level))

    def close(self) -> None:
        """End the engine and wait until every engine has given its device back."""
        self.replace(None)
        for thread in self._closing:
            thread.join()
        self._closing.clear()

    def restart_engine(self) -> None:
        """Start a fresh engine for the same patch, after a device failed."""
        if self.patch is not None:
            self._end_engine()
            self._start_engine(self.patch)
            self.engine_changed.emit()
            self._tell_failure()

    def _on_change(self, change: Change) -> None:
        self._later.start()

    def _start_engine(self, patch: Patch) -> None:
        try:
            self.engine = self._make_engine(patch, self.profiling)
            self.engine.start()
            self.engine.watch_kernels()
        except WarploomError as problem:
            self._failure = str(problem)
            self._end_engine()
            return
        if not self.running:
            self.engine.post(SetRunning(False))

    def _tell_failure(self) -> None:
        # Only now, when everyone has turned to the new patch: this is what they are to show of it.
        if self._failure:
            failure, self._failure = self._failure, ""
            self.engine_failed.emit(failure)

    def _end_engine(self) -> None:
        if self.engine is None:
            return
        self._closing = [thread for thread in self._closing if thread.is_alive()]
        thread = threading.Thread(target=self.engine.close, name="close engine")
        thread.start()
        self._closing.append(thread)
        self.engine = None
