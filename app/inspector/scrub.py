"""A number that is dragged by its name, as in other editors; it needs no bounds, which a slider does."""

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from warploom.app.inspector.parameter_editors import NumberEditor

#: Pixels for the whole range of a number that has a slider, and those that a click may move.
_ACROSS, _CLICK = 300, 3
#: The steps of a decade of other numbers, and the step from zero.
_STEPS, _FROM_ZERO = 100, 0.01
_FINE, _COARSE = 0.1, 10.0


class Scrub(QObject):
    """Changes the number of an editor while the mouse drags a label; Shift makes the steps fine, Ctrl coarse."""

    def __init__(self, label: QWidget, editor: NumberEditor, is_free: Callable[[], bool]) -> None:
        super().__init__(label)
        self._label, self._editor, self._is_free = label, editor, is_free
        self._last: QPointF | None = None
        self._is_dragging = False
        self._number = self._step = 0.0
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
            self._is_dragging, self._number = True, self._editor.box.value()
            self._step = step_of(self._number, self._editor.slider_range)
            self._editor.drag_began.emit()
        self._last = at
        step = self._step
        if keys & Qt.KeyboardModifier.ShiftModifier:
            step *= _FINE
        elif keys & Qt.KeyboardModifier.ControlModifier:
            step *= _COARSE
        box = self._editor.box
        low, high = box.minimum(), box.maximum()
        self._number = min(max(self._number + way * step, low), high)
        number = self._number
        if low < number < high:  # the bounds may have more digits than a step
            number = min(max(round(number, max(0, -math.floor(math.log10(step)))), low), high)
        self._editor.drag_to(number)


def step_of(number: float, span: float | None) -> float:
    """Return how much a number changes by a pixel: a share of its range, or else of its decade."""
    if span is not None:
        return span / _ACROSS
    return 10.0 ** math.floor(math.log10(abs(number))) / _STEPS if number else _FROM_ZERO
