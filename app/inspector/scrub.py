"""A number that is dragged by its name, as in other editors; it needs no bounds, which a slider does."""

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from warploom.app.inspector.parameter_editors import NumberEditor

#: Pixels for the whole range of a number that has a slider, and those that a click may move.
_ACROSS, _CLICK = 300, 3
#: The steps from 1 to 2; each decade has steps of its own. Those around zero are as at the number where a drag begins,
#: or as small as this share of it if there is nothing below zero.
_STEPS, _SMALLEST = 100, 1e-6
_FINE, _COARSE = 0.1, 10.0
#: A step of 0.01 that is computed as 0.00999 has two digits, too.
_ROUNDING = 1e-6


class Scrub(QObject):
    """Changes the number of an editor while the mouse drags a label; Shift makes the steps fine, Ctrl coarse."""

    def __init__(self, label: QWidget, editor: NumberEditor, is_free: Callable[[], bool]) -> None:
        super().__init__(label)
        self._label, self._editor, self._is_free = label, editor, is_free
        self._last: QPointF | None = None
        self._is_dragging = False
        self._place = self._least = 0.0
        label.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the mouse."""
        if event.type() is QEvent.Type.Enter:
            self._label.setCursor(Qt.CursorShape.SizeHorCursor if self._is_free() else Qt.CursorShape.ArrowCursor)
        if not isinstance(event, QMouseEvent):
            return False
        at = event.globalPosition()
        if event.type() is QEvent.Type.MouseButtonPress and event.button() is Qt.MouseButton.LeftButton:
            self._last = at if self._is_free() else None
            return self._last is not None
        if event.type() is QEvent.Type.MouseMove and self._last is not None:
            self._follow(at, event.modifiers())
            return True
        if event.type() is QEvent.Type.MouseButtonRelease and self._last is not None:
            self._last = None
            if self._is_dragging:
                self._is_dragging = False
                self._editor.drag_ended.emit()
            else:
                self._editor.begin()
            return True
        return False

    def _follow(self, at: QPointF, keys: Qt.KeyboardModifier) -> None:
        assert self._last is not None
        way = at.x() - self._last.x()
        if not self._is_dragging:
            if abs(way) < _CLICK:
                return
            self._editor.enter()
            self._is_dragging = True
            number, low, span = self._editor.box.value(), self._editor.box.minimum(), self._editor.slider_range
            self._least = 0.0 if span is not None else _decade(number) * (_SMALLEST if low >= 0 and number else 1.0)
            self._place = self._place_of(number)
            self._editor.drag_began.emit()
        self._last = at
        if keys & Qt.KeyboardModifier.ShiftModifier:
            way *= _FINE
        elif keys & Qt.KeyboardModifier.ControlModifier:
            way *= _COARSE
        low, high = self._editor.box.minimum(), self._editor.box.maximum()
        least, most = self._place_of(low), self._place_of(high)
        self._place = min(max(self._place + way, least), most)
        if self._place in (least, most):  # the bounds may have more digits than a step
            self._editor.drag_to(low if self._place == least else high)
            return
        number = self._number_at(self._place)
        step = abs(self._number_at(self._place + 1) - number)
        if keys & Qt.KeyboardModifier.ShiftModifier:
            step *= _FINE
        number = round(number, max(0, -math.floor(math.log10(step) + _ROUNDING)))
        self._editor.drag_to(min(max(number, low), high))

    def _place_of(self, number: float) -> float:
        """Return where a number is on the scale, in pixels from zero."""
        if not self._least:
            assert self._editor.slider_range is not None
            return number / self._editor.slider_range * _ACROSS
        size = abs(number) / self._least
        if size > 1:
            decade = math.floor(math.log10(size))
            size = size / 10.0**decade + 9 * decade
        return math.copysign(size * _STEPS, number)

    def _number_at(self, place: float) -> float:
        """Return the number at a place."""
        if not self._least:
            assert self._editor.slider_range is not None
            return place / _ACROSS * self._editor.slider_range
        size = abs(place) / _STEPS
        if size > 1:
            decade, rest = divmod(size - 1, 9)
            size = (1 + rest) * 10.0**decade
        return math.copysign(size * self._least, place)


def _decade(number: float) -> float:
    """Return the power of ten at or below a number; 1 for zero."""
    return 10.0 ** math.floor(math.log10(abs(number))) if number else 1.0
