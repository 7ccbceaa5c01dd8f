"""`Engines`: starts the engines of the editor, each in a process of its own."""

from PySide6.QtCore import QTimer

from app.engine_command import ENGINE_COMMAND
from engine.patch.document import Patch
from engine.profiling.levels import ProfilingLevel
from engine.protocol.child.process import SpareProcess
from engine.protocol.client import Client
from engine.protocol.culprit import CulpritSearch
from engine.runtime.engine import open_engine

#: How long after an engine was started another process is made ready: it competes with the first frames.
_SPARE_MS = 500
#: How long an operation may take, in a search for the one that made an engine fail, before it counts as endless.
_STUCK_S = 2.0


class Engines:
    """Starts engines on a device: by a command, or by our own in a process that is ready, or in this process."""

    def __init__(self, device: str, command: str | None = None, *, in_process: bool = False) -> None:
        self._device, self._command = device, command
        self._spare = SpareProcess(ENGINE_COMMAND) if command is None and not in_process else None
        if self._spare is not None:
            self._spare.prepare()

    def make(self, patch: Patch, profiling: ProfilingLevel) -> Client:
        """Return an engine that runs a patch. Raise WarploomError if it can't be started."""
        process = None
        if self._spare is not None:
            process = self._spare.take()
            QTimer.singleShot(_SPARE_MS, self._spare.prepare)
        return open_engine(patch, self._device, process or self._command, profiling=profiling, waits=False)

    def make_search(self, patch: Patch, frame: int, fuses: bool) -> CulpritSearch:
        """Return a search for the block that made an engine fail in a frame."""
        command = self._command or ENGINE_COMMAND
        return CulpritSearch(patch, command, self._device, frame=frame, fuse=fuses, stuck_s=_STUCK_S)

    def close(self) -> None:
        """End the process that is ready."""
        if self._spare is not None:
            self._spare.close()
