"""`Beside`: slow work on a separate thread, with a follow-up on the UI's thread."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal

_log = logging.getLogger(__name__)
#: Milliseconds after which work is reported as slow.
_REPORT_AFTER_MS = 200
#: Runs `work`, which `what` describes in a few words, and then `then`.
Run = Callable[[str, Callable[[], object], Callable[[], None]], None]


def at_once(what: str, work: Callable[[], object], then: Callable[[], None]) -> None:
    """Run `work` and then `then` on the caller's thread, where no window would freeze."""
    work()
    then()


class Beside(QObject):
    """Runs one piece of work after another; their follow-ups run in the same order."""

    #: The description of slow work; "" when it is done.
    reported = Signal(str)
    _done = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thread = ThreadPoolExecutor(1, "warploom-beside")
        self._waiting: list[str] = []
        self._is_reported = False
        self._timer = QTimer(self, singleShot=True, interval=_REPORT_AFTER_MS)
        self._timer.timeout.connect(self._report)
        self._done.connect(self._follow, Qt.ConnectionType.QueuedConnection)

    def run(self, what: str, work: Callable[[], object], then: Callable[[], None]) -> None:
        """Run `work` on the thread, and `then` on the UI's thread, even if the work has failed."""
        self._waiting.append(what)
        self._timer.start()
        self._thread.submit(self._work, work, then)

    def close(self) -> None:
        """Cancel pending work, and wait for running work."""
        self._thread.shutdown(cancel_futures=True)

    def _work(self, work: Callable[[], object], then: Callable[[], None]) -> None:
        try:
            work()
        except Exception:  # noqa: BLE001 - `then` reports the failure, since it needs the result of the work
            _log.exception("work beside the UI failed")
        finally:
            self._done.emit(then)

    def _follow(self, then: Any) -> None:
        self._waiting.pop(0)
        if not self._waiting:
            self._timer.stop()
            if self._is_reported:  # otherwise it would clear other messages
                self._is_reported = False
                self.reported.emit("")
        then()

    def _report(self) -> None:
        self._is_reported = True
        self.reported.emit(self._waiting[0])
