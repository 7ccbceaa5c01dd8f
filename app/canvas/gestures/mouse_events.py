"""Mouse events: clicks, and keys that change what they mean."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QMouseEvent

_CLICK = 4  # the most pixels that a click may move


def is_apart(one: QPoint, other: QPoint) -> bool:
    """Return whether two positions are too far apart for a click."""
    return (one - other).manhattanLength() > _CLICK


def adds_to_selection(event: QMouseEvent) -> bool:
    """Return whether a click adds to or removes from the selection."""
    return bool(event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier))


def shift_as_control(event: QMouseEvent) -> QMouseEvent:
    """Treat Shift like Ctrl, since Qt adds to the selection only with Ctrl."""
    if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
        return event
    return QMouseEvent(
        event.type(),
        event.position(),
        event.scenePosition(),
        event.globalPosition(),
        event.button(),
        event.buttons(),
        event.modifiers() | Qt.KeyboardModifier.ControlModifier,
        event.pointingDevice(),
    )
