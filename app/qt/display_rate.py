"""The refresh rate of a window's screen."""

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QScreen
from PySide6.QtWidgets import QWidget

#: The assumed rate of a screen that reports none; offscreen screens and some virtual machines report 0 or less.
USUAL_RATE = 60.0
_LEAST_RATE = 10.0


def refresh_rate(screen: QScreen | None) -> float:
    """Return a screen's refresh rate in frames per second, rounded to a hundredth; 60 if it reports no usable rate."""
    rate = screen.refreshRate() if screen is not None else 0.0
    return round(rate, 2) if rate >= _LEAST_RATE else USUAL_RATE


class DisplayRate(QObject):
    """Follows a window from screen to screen and reports the refresh rate of the current one."""

    #: The new rate, in frames per second.
    changed = Signal(float)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._screen: QScreen | None = None
        self._is_following = False
        self.rate = refresh_rate(window.screen())
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Start when the window is shown, since before that it is on no screen."""
        if event.type() == QEvent.Type.Show and not self._is_following:
            handle = self._window.windowHandle()
            if handle is not None:
                self._is_following = True
                handle.screenChanged.connect(self._follow)
                self._follow(handle.screen())
        return False

    def _follow(self, screen: QScreen | None) -> None:
        if self._screen is not None:
            self._screen.refreshRateChanged.disconnect(self._tell)
        self._screen = screen
        if screen is not None:
            screen.refreshRateChanged.connect(self._tell)
        self._tell()

    def _tell(self, *_: object) -> None:
        rate = refresh_rate(self._screen)
        if rate != self.rate:
            self.rate = rate
            self.changed.emit(rate)
