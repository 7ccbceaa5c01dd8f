"""`Beside`: slow work on a separate thread, with a follow-up on the UI's thread; the person may cancel some of it."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from warploom.engine.processes.scope import Cancelled, CancelScope

_log = logging.getLogger(__name__)
#: Milliseconds after which work is reported as slow, and after which it can be cancelled.
_REPORT_AFTER_MS, _CANCEL_AFTER_MS = 200, 1000


T = TypeVar("T")


class Run(Protocol):
    """Runs `work`, which `what` describes in a few words, and then `then`, or `cancelled` if the person cancels it.

    `then` gets the result of the work, or None if it raised an error, which is logged. Without `cancelled`, the work
    can't be cancelled.
    """

    def __call__(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T | None], None],
        cancelled: Callable[[], None] | None = None,
        /,
    ) -> None: ...


def at_once(
    what: str, work: Callable[[], T], then: Callable[[T | None], None], cancelled: Callable[[], None] | None = None, /
) -> None:
    """Run `work` and then `then` on the caller's thread, where no window would freeze."""
    then(work())


@dataclass(eq=False)
class _Job:
    what: str
    work: Callable[[], Any]
    then: Callable[[Any], None]
    cancelled: Callable[[], None] | None
    result: Any = None
    scope: CancelScope = field(default_factory=CancelScope)


class Beside(QObject):
    """Runs one piece of work after another; their follow-ups run in the same order."""

    #: The description of slow work; "" when it is done.
    reported = Signal(str)
    #: Whether the work that runs takes long and can be cancelled.
    cancellable = Signal(bool)
    _done = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thread = ThreadPoolExecutor(1, "warploom-beside")
        self._waiting: list[_Job] = []
        self._is_reported = False
        self._timer = QTimer(self, singleShot=True, interval=_REPORT_AFTER_MS)
        self._timer.timeout.connect(self._report)
        self._long = QTimer(self, singleShot=True, interval=_CANCEL_AFTER_MS)
        self._long.timeout.connect(self._offer)
        self._done.connect(self._follow, Qt.ConnectionType.QueuedConnection)

    def run(
        self,
        what: str,
        work: Callable[[], T],
        then: Callable[[T | None], None],
        cancelled: Callable[[], None] | None = None,
        /,
    ) -> None:
        """Run `work` on the thread, and `then` on the UI's thread, even if the work has failed."""
        job = _Job(what, work, then, cancelled)
        if not self._waiting:
            self._long.start()
        self._waiting.append(job)
        self._timer.start()
        self._thread.submit(self._work, job)

    def cancel(self) -> None:
        """Stop waiting for the work that runs, and begin the next.

        Compilers that it waits for are killed, and files that it writes stay as they were. Other work ends on its own
        thread, without effect.
        """
        if not self._waiting or self._waiting[0].cancelled is None:
            return
        job, *others = self._waiting
        job.scope.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._thread = ThreadPoolExecutor(1, "warploom-beside")
        for other in others:
            self._thread.submit(self._work, other)
        self._forget(job)
        assert job.cancelled is not None
        job.cancelled()

    def close(self) -> None:
        """Cancel pending work, and wait for running work."""
        self._thread.shutdown(cancel_futures=True)

    def _work(self, job: _Job) -> None:
        try:
            with job.scope.entered():
                job.result = job.work()
        except Cancelled:
            pass
        except Exception:  # noqa: BLE001 - `then` reports the failure, since it gets no result
            _log.exception("work beside the UI failed")
        finally:
            with suppress(RuntimeError):  # cancelled work may end after the window
                self._done.emit(job)

    def _follow(self, job: Any) -> None:
        if job in self._waiting:  # otherwise it was cancelled
            self._forget(job)
            job.then(job.result)

    def _forget(self, job: _Job) -> None:
        self._waiting.remove(job)
        self.cancellable.emit(False)
        if self._waiting:
            self._long.start()
            return
        self._long.stop()
        self._timer.stop()
        if self._is_reported:  # otherwise it would clear other messages
            self._is_reported = False
            self.reported.emit("")

    def _report(self) -> None:
        self._is_reported = True
        self.reported.emit(self._waiting[0].what)

    def _offer(self) -> None:
        if self._waiting:
            self.cancellable.emit(self._waiting[0].cancelled is not None)
