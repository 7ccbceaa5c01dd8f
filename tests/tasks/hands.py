"""Mouse and keyboard: of Qt's test library, or of an X server. Places are points of the screen."""

import subprocess
from collections.abc import Callable
from functools import partial
from typing import Protocol

from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QKeySequence, QWindow
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

_LEFT, _NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
_BUTTONS = {1: _LEFT, 3: Qt.MouseButton.RightButton}
_X_KEYS = {"Return": "Return", "Del": "Delete", "Backspace": "BackSpace", "Esc": "Escape", ".": "period", "/": "slash"}


class Hand(Protocol):
    """A mouse and a keyboard. Calls return at once; the editor gets the events in this order."""

    #: The time, in ms, in which the editor gets the events of a call.
    delay_ms: int

    def move(self, place: QPoint) -> None: ...

    def press(self) -> None: ...

    def release(self) -> None: ...

    def click(self, button: int = 1, times: int = 1) -> None: ...

    def scroll(self, steps: int) -> None: ...

    def key(self, name: str) -> None: ...

    def hold(self, name: str, down: bool) -> None: ...

    def type(self, text: str) -> None: ...


class QtHand:
    """Sends Qt's events to the window at a place, or to the window that has the keyboard."""

    delay_ms = 0

    def __init__(self) -> None:
        self._at = QPoint()
        self._pressed: QWindow | None = None
        self._held = _NONE

    def move(self, place: QPoint) -> None:
        self._later(lambda: self._move(place))

    def press(self) -> None:
        self._later(self._press)

    def release(self) -> None:
        self._later(self._release)

    def click(self, button: int = 1, times: int = 1) -> None:
        self._later(lambda: self._click(_BUTTONS[button], times))

    def scroll(self, steps: int) -> None:
        self._later(lambda: QTest.wheelEvent(_window_at(self._at), QPointF(self._at), QPoint(0, -120 * steps)))

    def key(self, name: str) -> None:
        combination = QKeySequence(name)[0]
        self._later(lambda: _key(combination.key(), combination.keyboardModifiers()))

    def hold(self, name: str, down: bool) -> None:
        modifier = getattr(Qt.KeyboardModifier, f"{name}Modifier")

        def change() -> None:
            self._held = modifier if down else _NONE

        self._later(change)

    def type(self, text: str) -> None:
        for letter in text:
            self._later(partial(_key, letter, _NONE))

    def _later(self, send: Callable[[], object]) -> None:
        """Send an event in the next turn of the event loop, since an event may open a dialog, and so not return."""
        QTimer.singleShot(0, send)

    def _move(self, place: QPoint) -> None:
        self._at = place
        window = self._pressed or _window_at(place)
        QTest.mouseMove(window, window.mapFromGlobal(place))

    def _press(self) -> None:
        _wake()
        self._pressed = _window_at(self._at)
        QTest.mousePress(self._pressed, _LEFT, self._held, self._pressed.mapFromGlobal(self._at))

    def _release(self) -> None:
        window, self._pressed = self._pressed or _window_at(self._at), None
        QTest.mouseRelease(window, _LEFT, self._held, window.mapFromGlobal(self._at))

    def _click(self, button: Qt.MouseButton, times: int) -> None:
        _wake()
        window = _window_at(self._at)
        click = QTest.mouseClick if times == 1 else QTest.mouseDClick
        click(window, button, self._held, window.mapFromGlobal(self._at))


class XHand:
    """Has the X server send its events, by `xdotool`."""

    delay_ms = 60

    def move(self, place: QPoint) -> None:
        _xdotool("mousemove", str(place.x()), str(place.y()))

    def press(self) -> None:
        _xdotool("mousedown", "1")

    def release(self) -> None:
        _xdotool("mouseup", "1")

    def click(self, button: int = 1, times: int = 1) -> None:
        _xdotool("click", "--repeat", str(times), "--delay", "40", str(button))

    def scroll(self, steps: int) -> None:
        _xdotool("click", "--repeat", str(steps), "--delay", "20", "5")

    def key(self, name: str) -> None:
        *modifiers, key = name.replace("++", "+plus").split("+")
        key = _X_KEYS.get(key, key if len(key) > 1 else key.lower())
        _xdotool("key", "+".join([*(modifier.lower() for modifier in modifiers), key]))

    def hold(self, name: str, down: bool) -> None:
        _xdotool("keydown" if down else "keyup", name.lower())

    def type(self, text: str) -> None:
        _xdotool("type", "--delay", "8", "--", text)  # a text may begin with a dash


def _xdotool(*arguments: str) -> None:
    subprocess.run(["xdotool", *arguments], check=True)


def tops() -> list[QWidget]:
    """Return the windows and popups on the screen."""
    return [top for top in QApplication.topLevelWidgets() if top.isVisible()]


def top_at(place: QPoint) -> QWidget | None:
    """Return the window or popup at a place, the topmost of several; Qt's own answer ends with an offscreen screen."""
    found = [top for top in tops() if top.geometry().contains(place)]
    order = [QApplication.activePopupWidget(), QApplication.activeModalWidget()]
    return max(
        found, key=lambda top: (top is order[0], top is order[1], not isinstance(top, QMainWindow)), default=None
    )


def _window_at(place: QPoint) -> QWindow:
    widget = QApplication.activePopupWidget() or top_at(place)
    assert widget is not None, f"a window must be at {place.toTuple()}"
    window = widget.windowHandle()
    assert window is not None
    return window


def _key(key: Qt.Key | str, modifiers: Qt.KeyboardModifier) -> None:
    """Press and release a key; the press may move the keyboard to another widget."""
    QTest.keyPress(_focused(), key, modifiers)  # type: ignore[arg-type]  # its types have no letters for windows
    QTest.keyRelease(_focused(), key, modifiers)  # type: ignore[arg-type]


def _focused() -> QWidget:
    popup = QApplication.activePopupWidget()
    widget = (popup.focusWidget() or popup) if popup is not None else QApplication.focusWidget()
    if widget is None:
        top = _wake()
        widget = top.focusWidget() or top
    return widget


def _wake() -> QWidget:
    """Return the active window. If there is none, activate one, as window managers do after a dialog is closed."""
    active = QApplication.activeWindow()
    if active is None:
        active = QApplication.activeModalWidget() or next(w for w in tops() if isinstance(w, QMainWindow))
        active.activateWindow()
    return active
