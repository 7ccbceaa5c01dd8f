"""Bars for the last frames, which show the time and phases of each."""

from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, length, widget_font
from warploom.app.view_models.profile.flight import Flight
from warploom.engine.figures import format_time
from warploom.engine.protocol.messages import UpdateLevel

#: The height of the marks of updates and slow frames below the bars, in pixels.
_MARKS = 4


def phase_colours() -> dict[str, str]:
    """Return the colour of each phase of a frame in the present theme."""
    theme = colours.current()
    return {
        "late": theme.text_faint,
        "before": theme.accent,
        "launch": colours.category_ink("image", theme),
        "wait": colours.mix(colours.category_ink("math", theme), theme.dock, 0.35),
    }


class FrameBars(QWidget):
    """One bar per frame, the newest at the right, in the colours of its phases.

    A click or an arrow key chooses a frame.
    """

    #: The index of a frame in the record.
    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._flight: Flight | None = None
        self._place: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Times of the last frames")
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setMinimumSize(120, 40)

    def show_flight(self, flight: Flight, place: int | None) -> None:
        """Show a record, with the frame at `place` marked."""
        self._flight, self._place = flight, place
        self.update()

    def clear(self) -> None:
        """Show no frames."""
        self._flight = self._place = None
        self.update()

    def place_at(self, x: float) -> int | None:
        """Return the index of the frame at a position, or of the nearest frame."""
        if self._flight is None or not len(self._flight.frames):
            return None
        columns = self._flight.columns(max(self.width(), 1))
        return max(int(columns[min(max(int(x), 0), len(columns) - 1)]), 0)

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(600, 120)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bars as one image, and marks and labels over them."""
        painter, flight, theme = QPainter(self), self._flight, colours.current()
        painter.fillRect(self.rect(), QColor(theme.canvas))
        if flight is None or not len(flight.frames):
            return
        scale = self.devicePixelRatioF()
        width, height = round(self.width() * scale), round((self.height() - 2 * length(_MARKS)) * scale)
        columns = flight.columns(width)
        image = _bars(flight, columns, max(height, 1))
        painter.drawImage(QRectF(0, 0, self.width(), self.height() - 2 * length(_MARKS)), image)
        self._paint_marks(painter, flight, columns, scale)
        painter.setFont(widget_font(SMALL))
        self._paint_scale(painter, flight)
        if self._place is not None and len(places := np.flatnonzero(columns == self._place)):
            painter.setOpacity(1)
            painter.setPen(QColor(theme.text))
            middle = min((int(places[0]) + int(places[-1]) + 1) / 2 / scale, self.width() - 1)
            painter.drawLine(QPointF(middle, 0), QPointF(middle, self.height()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the frame under the pointer."""
        self._choose(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Choose each frame that the pointer passes."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._choose(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go to the next or previous frame; with Shift, go by ten frames."""
        step = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        count = len(self._flight.frames) if self._flight is not None else 0
        here = count if self._place is None else self._place
        places = {
            Qt.Key.Key_Left: here - step,
            Qt.Key.Key_Right: here + step,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: count - 1,
        }
        place = places.get(Qt.Key(event.key()))
        if place is None or not count:
            super().keyPressEvent(event)
            return
        self.chosen.emit(min(max(place, 0), count - 1))

    def _choose(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position().x())
        if place is not None:
            self.chosen.emit(place)

    def _paint_marks(self, painter: QPainter, flight: Flight, columns: np.ndarray[Any, Any], scale: float) -> None:
        """Mark updates above HOT and slow frames below their bars."""
        theme = colours.current()
        there = columns >= 0
        slow = there & (flight.totals[columns] > flight.record.budget_ns)
        updated = there & (flight.frames["level"][columns] > UpdateLevel.HOT)
        for row, (marked, colour) in enumerate(((updated, theme.accent), (slow, theme.warning))):
            y = self.height() - (2 - row) * length(_MARKS)
            for column in np.flatnonzero(marked).tolist():
                painter.fillRect(QRectF(column / scale - 1, y + 1, 3, length(_MARKS) - 1), QColor(colour))

    def _paint_scale(self, painter: QPainter, flight: Flight) -> None:
        """Draw the budget's line, and label the top; a budget beyond the top is shown beside the label."""
        theme, room = colours.current(), self.height() - 2 * length(_MARKS)
        budget_ns, top_ns = flight.record.budget_ns, flight.top_ns
        label = format_time(top_ns)
        if budget_ns <= top_ns:
            y = room * (1 - budget_ns / top_ns)
            painter.setPen(QColor(theme.warning))
            painter.drawLine(QPointF(0, y), QPointF(self.width(), y))
            _draw_label(painter, QPointF(4, y - 3 if y > length(30) else y + length(12)), format_time(budget_ns))
        else:
            label += f"   (budget {format_time(budget_ns)})"
        painter.setPen(QColor(theme.text_dim))
        _draw_label(painter, QPointF(4, length(12)), label)


def _draw_label(painter: QPainter, place: QPointF, text: str) -> None:
    """Draw a text from `place` on its baseline, on a background that hides bars behind it."""
    ground = painter.fontMetrics().tightBoundingRect(text).adjusted(-2, -1, 2, 1)
    painter.fillRect(QRectF(ground).translated(place), QColor(colours.current().canvas))
    painter.drawText(place, text)


def _bars(flight: Flight, columns: np.ndarray[Any, Any], height: int) -> QImage:
    """Return the bars of `columns` as an image with one pixel per column, transparent where there is no frame."""
    there = columns >= 0
    pixels = np.zeros((height, len(columns)), np.uint32)
    levels = np.arange(height, 0, -1)[:, None]  # each row's height above the bottom
    bottom = np.zeros(len(columns), np.int64)
    for phase, colour in phase_colours().items():
        upper = bottom + np.where(there, flight.frames[phase][columns], 0)
        low, high = (np.ceil(edge * (height / flight.top_ns)) for edge in (bottom, upper))
        pixels[(levels > low) & (levels <= high)] = QColor(colour).rgba()
        bottom = upper
    return QImage(pixels.tobytes(), len(columns), height, 4 * len(columns), QImage.Format.Format_ARGB32).copy()
