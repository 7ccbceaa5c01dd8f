"""Calls a function at most once per interval; requests in between give one more call."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Throttle(QObject):
    """Calls `act` at once, or as soon as `interval_ms` have passed since its last call."""

    def __init__(self, act: Callable[[], None], interval_ms: int, parent: QObject) -> None:
        super().__init__(parent)
        self._act = act
        self._is_wanted = False
        self._rest = QTimer(self, singleShot=True, interval=interval_ms)
        self._rest.timeout.connect(self._act_late)

    def ask(self) -> None:
        """Request a call, now or soon."""
        if self._rest.isActive():
            self._is_wanted = True
        else:
            self._is_wanted = False
            self._rest.start()
            self._act()

    def slow_to(self, interval_ms: int) -> None:
        """Change the interval between calls."""
        if interval_ms != self._rest.interval():
            self._rest.setInterval(interval_ms)

    def stop(self) -> None:
        """Cancel the pending call."""
        self._rest.stop()
        self._is_wanted = False

    def _act_late(self) -> None:
        if self._is_wanted:
            self.ask()
