"""`Engines`: starts the engines of the editor, each in a process of its own."""

from weakref import WeakSet

from PySide6.QtCore import QObject, QTimer, Signal

from warploom.app.engine_command import ENGINE_COMMAND
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.child.process import SpareProcesses
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.culprit import CulpritSearch
from warploom.engine.runtime.engine import open_engine

#: How long after a patch's first engine was started another process is made ready: it competes with the first frames.
_SPARE_MS = 500
#: How many are ready after an engine has failed, and until none was started for how long. A process takes some 2.5 s to
#: start, so with one the next failure within that time would have to wait for it.
_READY_AFTER_FAILURE, _QUIET_MS = 2, 60_000
#: How long an operation may take, in a search for the one that made an engine fail, before it counts as endless.
_STUCK_S = 2.0


class Engines(QObject):
    """Starts engines on a device: by a command, or by our own in a process that is ready, or in this process.

    An engine may be started on any thread.
    """

    _started = Signal(bool)  # whether the patch had an engine before

    def __init__(self, device: str, command: str | None = None, *, in_process: bool = False) -> None:
        super().__init__()
        self._device, self._command = device, command
        self._spares = SpareProcesses(ENGINE_COMMAND) if command is None and not in_process else None
        #: The patches that have had an engine.
        self._patches: WeakSet[Patch] = WeakSet()
        self._quiet = QTimer(self, singleShot=True, interval=_QUIET_MS)
        self._quiet.timeout.connect(self._keep)
        self._started.connect(self._follow)
        self._keep()

    def make(self, patch: Patch, profiling: ProfilingLevel) -> Client:
        """Return an engine that runs a patch. Raise WarploomError if it can't be started."""
        process = self._spares.take() if self._spares is not None else None
        try:
            return open_engine(patch, self._device, process or self._command, profiling=profiling, waits=False)
        finally:
            self._started.emit(patch in self._patches)
            self._patches.add(patch)

    def _follow(self, is_again: bool) -> None:
        if is_again:
            self._quiet.start()
            self._keep()
        else:
            QTimer.singleShot(_SPARE_MS, self, self._keep)

    def _keep(self) -> None:
        if self._spares is not None:
            self._spares.keep(_READY_AFTER_FAILURE if self._quiet.isActive() else 1)

    def make_search(self, patch: Patch, frame: int, fuses: bool) -> CulpritSearch:
        """Return a search for the block that made an engine fail in a frame."""
        command = self._command or ENGINE_COMMAND
        return CulpritSearch(patch, command, self._device, frame=frame, fuse=fuses, stuck_s=_STUCK_S)

    def close(self) -> None:
        """End the processes that are ready."""
        spares, self._spares = self._spares, None
        if spares is not None:
            spares.close()
