"""Tooltips: texts in Qt's format, and texts that follow the running engine."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer, Signal
from PySide6.QtWidgets import QToolTip, QWidget

from warploom.app.theme.fonts import code_font
from warploom.app.widgets.marked_text import marked_html

_REFRESH_MS = 250  # a person can't read figures that change faster


def as_html(text: str) -> str:
    """Return a tooltip for Qt: the first line is bold, marked code has the code font, and quoted code is aligned."""
    first, *rest = marked_html(text).splitlines()
    code = f"<span style=\"font-family: '{code_font().family()}'\">{{}}</span>"
    lines = [f"<b>{first}</b>", *(code.format(line) if line.startswith(" ") else line for line in rest)]
    return "<p style='white-space: pre; margin: 0'>" + "<br>".join(lines) + "</p>"


class LiveTooltip(QObject):
    """A tooltip of one widget. Its text is made only while it is shown, and refreshed a few times a second."""

    #: The tooltip was shown (True) or hidden.
    watching = Signal(bool)

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self._widget = widget
        self._make: Callable[[], str] | None = None
        self._place, self._html = QPoint(), ""
        self._timer = QTimer(self, interval=_REFRESH_MS)
        self._timer.timeout.connect(self._refresh)
        widget.installEventFilter(self)

    def show(self, place: QPoint, make: Callable[[], str]) -> None:
        """Show the text that `make` returns at a screen position, until it returns ""."""
        was_shown, self._make, self._place = self._make is not None, make, place
        if not was_shown:
            self.watching.emit(True)
        self._put()

    def hide(self) -> None:
        """Hide this tooltip, or any other."""
        QToolTip.hideText()
        self._end()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore a tooltip that Qt hides because the pointer has left the widget."""
        if event.type() == QEvent.Type.Leave:
            self._end()
        return False

    def _refresh(self) -> None:
        if QToolTip.isVisible() and QToolTip.text() == self._html:
            self._put()
        else:
            self._end()

    def _put(self) -> None:
        assert self._make is not None
        text = self._make()
        if text:
            self._html = as_html(text)
            QToolTip.showText(self._place, self._html, self._widget)
            self._timer.start()
        else:
            self.hide()

    def _end(self) -> None:
        self._timer.stop()
        if self._make is not None:
            self._make = None
            self.watching.emit(False)
