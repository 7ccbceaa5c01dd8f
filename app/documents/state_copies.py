"""`StateCopies`: has the engine copy its state every few seconds, for the engine that follows when it fails."""

import time

from PySide6.QtCore import QObject

from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.engine.protocol.messages import FrameReport, StateCopy

#: How often the state is copied, and the bytes of its buffers above which it is not: a copy falls between two frames.
_PERIOD_S, _MOST_BYTES = 5.0, 16 << 20
#: A patch whose time goes back by more has begun again, or has gone to another frame: its copy is outdated.
_BACK_S = 1.0


class StateCopies(QObject):
    """Keeps the newest copy of the state of a session's engine, if that runs in a process of its own.

    A copy is given to one engine only. If that fails before it has made a copy, the state may be the cause.
    """

    def __init__(self, session: Session, bridge: Bridge, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._copy: StateCopy | None = None
        # When the copy arrived, the newest report arrived, and a copy was last requested.
        self._copied_s = self._seen_s = self._asked_s = 0.0
        session.replaced.connect(self._forget)
        session.engine_changed.connect(self._wait)
        bridge.report.connect(self._ask)
        bridge.copied.connect(self._keep)

    def take(self) -> tuple[StateCopy | None, str]:
        """Return the copy for the next engine, if there is one, and the end of a sentence that says how old it is."""
        copy, self._copy = self._copy, None
        if copy is None:
            return None, ""
        age_s = round(self._seen_s - self._copied_s)
        return copy, f" with the state of {age_s} s before" if age_s > 0 else " with its last state"

    def _forget(self) -> None:
        self._copy = None

    def _wait(self) -> None:
        self._asked_s = time.monotonic()

    def _ask(self, report: FrameReport) -> None:
        engine, copy = self._session.engine, self._copy
        if engine is None or not engine.transport.has_own_process or report.failed:
            return
        self._seen_s = now_s = time.monotonic()
        if copy is not None and report.time_s < copy.time_s - _BACK_S:
            self._copy = None
        if now_s - self._asked_s >= _PERIOD_S:
            self._asked_s = now_s
            engine.copy_state(_MOST_BYTES)

    def _keep(self, copy: StateCopy) -> None:
        self._copy, self._copied_s = copy, time.monotonic()
