"""Python's garbage collection in the editor: in the UI's thread only, and between the engine's frames."""

from PySide6.QtCore import QObject, QTimer

from engine.runtime.frame.gc_scheduler import COLLECTOR

_BUSY_MS, _QUIET_MS = 20, 500


class GcTimer(QObject):
    """Collects from time to time, when the engines' next frames allow it; `close` returns collection to Python.

    Qt objects in a reference cycle are destroyed by whichever thread collects them. In the engine's thread, that would
    stop a timer or destroy a widget in a foreign thread: Qt warns, and then hangs or crashes.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_open = True
        self._timer = QTimer(self, interval=_QUIET_MS)
        self._timer.timeout.connect(COLLECTOR.collect)
        COLLECTOR.adopt()
        self._timer.start()

    def set_busy(self, busy: bool) -> None:
        """Look more often while an engine runs, since its worker may allocate much."""
        self._timer.setInterval(_BUSY_MS if busy else _QUIET_MS)

    def close(self) -> None:
        """Leave collection to Python; safe to call again."""
        if self._is_open:
            self._is_open = False
            self._timer.stop()
            COLLECTOR.disown()
