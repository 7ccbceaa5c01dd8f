"""`PinRuns`: runs a copy of the patch from frame 0 in a second engine."""

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from warploom.app.documents.session import Session
from warploom.app.qt.beside import Beside
from warploom.engine.diagnostics import WarploomError
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import SetFusing, SetKernelTimeLimit
from warploom.engine.runtime.check.pins import copy_for_pins

GoesOn = Callable[[int, int], bool]


class PinRuns(QObject):
    """One run at a time, on a thread of its own."""

    #: So many frames of so many have run.
    progressed = Signal(int, int)
    #: A run has begun or ended.
    running_changed = Signal(bool)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._beside = Beside(self)
        self._stop: threading.Event | None = None

    @property
    def is_running(self) -> bool:
        """True while another engine runs the patch."""
        return self._stop is not None

    def run(self, session: Session, work: Callable[[Client, GoesOn], object], then: Callable[[Any], None]) -> None:
        """Call `work` with an engine that has run no frame; `then` gets its result, or an error, on this thread.

        `work` passes the number of frames so far and of all to the function that it gets, and ends if that is False.
        """
        assert session.patch is not None and self._stop is None
        stop = self._stop = threading.Event()
        copy, fuses, limit_s = copy_for_pins(session.patch), session.fuses, session.kernel_time_limit_s

        def goes_on(done: int, frames: int) -> bool:
            if not stop.is_set():
                self.progressed.emit(done, frames)
            return not stop.is_set()

        def job() -> object:
            try:
                with session.make_engine(copy, ProfilingLevel.NONE) as client:
                    client.post(SetKernelTimeLimit(limit_s))
                    client.post(SetFusing(fuses))
                    return work(client, goes_on)
            except WarploomError as problem:
                return problem

        def follow(found: object) -> None:
            self._end()
            then(found if found is not None else WarploomError("the run has failed; the log has the reason"))

        self._beside.run("Running the patch for its pins …", job, follow, self._end)
        self.running_changed.emit(True)

    def cancel(self) -> None:
        """Drop the result of a run; its engine ends before the next frame."""
        if self._stop is not None:
            self._stop.set()
            self._beside.cancel()

    def close(self) -> None:
        """Cancel a run, and wait for its engine to end."""
        if self._stop is not None:
            self._stop.set()
        self._beside.close()

    def _end(self) -> None:
        self._stop = None
        self.running_changed.emit(False)
