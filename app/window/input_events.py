"""Keys and the mouse as inputs of the patch. They are sent to the engine while a block listens, and never consumed."""

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from warploom.app.qt.throttle import Throttle
from warploom.app.viewers.picture_view import PictureView
from warploom.app.viewers.screens import ScreenView
from warploom.engine.blocktypes.updated_blocks import UpdatedBlock
from warploom.engine.patch.changes import BlockTypesChanged, Change, NodeAdded, NodeRemoved
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import SetInput

#: Widgets for text; keys typed there are not inputs of the patch.
_TEXT_FIELDS = (QLineEdit, QTextEdit, QPlainTextEdit, QAbstractSpinBox)
_NOTCH = 120  # eighths of a degree
_MOVE_INTERVAL_MS = 8
_BUTTONS = {
    Qt.MouseButton.LeftButton: "mouse.left",
    Qt.MouseButton.MiddleButton: "mouse.middle",
    Qt.MouseButton.RightButton: "mouse.right",
}
_MODIFIERS = {
    Qt.Key.Key_Shift: "shift",
    Qt.Key.Key_Control: "ctrl",
    Qt.Key.Key_Alt: "alt",
    Qt.Key.Key_AltGr: "altgr",
    Qt.Key.Key_Meta: "meta",
}
#: If one of these is held, a key is a command of the window.
_COMMAND = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier


class InputEvents(QObject):
    """Watches the application's events while a block of the patch listens to keys or the mouse. It consumes none.

    The mouse counts over `canvas` and over the pictures of viewers, also on other displays. A key or button counts from
    press to release, even if the focus changes meanwhile.
    """

    def __init__(self, post: Callable[[SetInput], None], canvas: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self._post = post
        self._canvas = canvas
        self._unsubscribe: Callable[[], None] = lambda: None
        self._patch = Patch()
        self._listening: dict[str, frozenset[str]] = {}
        self._hears: frozenset[str] = frozenset()
        self._down: dict[int, str] = {}  # names of the held inputs, by the system's code of the key
        self._turned = 0.0
        self._place = QPointF()
        self._moves = Throttle(self._post_place, _MOVE_INTERVAL_MS, self)
        application = QCoreApplication.instance()
        assert isinstance(application, QGuiApplication)
        self._application = application
        application.applicationStateChanged.connect(self._on_state)

    @property
    def is_listening(self) -> bool:
        """True while events are watched."""
        return bool(self._hears)

    def set_patch(self, patch: Patch | None) -> None:
        """Watch for the blocks of another patch."""
        self._unsubscribe()
        self._patch = patch or Patch()
        self._unsubscribe = self._patch.subscribe(self._on_change)
        self._listening.clear()
        self._down.clear()
        for node in self._patch.nodes:
            self._add(node)
        self._watch()

    def _on_change(self, change: Change) -> None:
        match change:
            case NodeAdded(node):
                self._add(node.id)
            case NodeRemoved(node):
                self._listening.pop(node.id, None)
            case BlockTypesChanged():
                self._listening.clear()
                for known in self._patch.nodes:
                    self._add(known)
            case _:
                return
        self._watch()

    def _add(self, node: str) -> None:
        block_type = self._patch.block_type(node)
        if block_type is not None and issubclass(block_type, UpdatedBlock) and block_type.hears:
            self._listening[node] = frozenset(block_type.hears)

    def _watch(self) -> None:
        """Watch events only while a block listens, since the filter makes every event slower."""
        hears = frozenset().union(*self._listening.values())
        if bool(hears) != self.is_listening:
            if hears:
                self._application.installEventFilter(self)
            else:
                self._application.removeEventFilter(self)
                self._moves.stop()
                self._down.clear()
        self._hears = hears

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Observe an event without consuming it."""
        handle = _HANDLERS.get(event.type())
        if handle is not None:
            handle(self, watched, event)
        return False

    # Keys

    def _press_key(self, watched: QObject, event: QKeyEvent) -> None:
        # A key that is a shortcut comes only as ShortcutOverride; others come as both, and to several widgets in turn.
        name = _MODIFIERS.get(Qt.Key(event.key()))
        if event.isAutoRepeat() or _code(event) in self._down or "key" not in self._hears:
            return
        if name is None and event.modifiers() & _COMMAND:
            return
        if _is_typing():
            return
        name = f"key.{name or QKeySequence(event.key()).toString().lower()}"
        self._down[_code(event)] = name
        self._post(SetInput(name, 1.0))

    def _release_key(self, watched: QObject, event: QKeyEvent) -> None:
        if not event.isAutoRepeat():
            self._let_go(_code(event))

    # The mouse

    def _move(self, watched: QObject, event: QMouseEvent) -> None:
        if "mouse" in self._hears and self._locate(watched, event.position()):
            self._moves.ask()

    def _press_button(self, watched: QObject, event: QMouseEvent) -> None:
        name = _BUTTONS.get(event.button())
        code = -event.button().value
        if name is None or code in self._down or "mouse" not in self._hears:
            return
        if self._locate(watched, event.position()):
            self._post_place()
            self._down[code] = name
            self._post(SetInput(name, 1.0))

    def _release_button(self, watched: QObject, event: QMouseEvent) -> None:
        self._let_go(-event.button().value)

    def _turn(self, watched: QObject, event: QWheelEvent) -> None:
        if "mouse" in self._hears and self._is_surface(watched) and event.angleDelta().y():
            self._turned += event.angleDelta().y() / _NOTCH
            self._post(SetInput("mouse.wheel", self._turned))

    def _locate(self, watched: QObject, place: QPointF) -> bool:
        """Store the pointer's position on a surface, from 0 to 1 along both sides. Return False if it is elsewhere."""
        if not isinstance(watched, QWidget) or not self._is_surface(watched):
            return False
        width, height = max(watched.width() - 1, 1), max(watched.height() - 1, 1)
        self._place = QPointF(min(max(place.x() / width, 0.0), 1.0), min(max(place.y() / height, 0.0), 1.0))
        return True

    def _is_surface(self, watched: QObject) -> bool:
        return watched is self._canvas or isinstance(watched, PictureView | ScreenView)

    def _post_place(self) -> None:
        self._post(SetInput("mouse.x", self._place.x()))
        self._post(SetInput("mouse.y", self._place.y()))

    # Letting go

    def _let_go(self, code: int) -> None:
        name = self._down.pop(code, None)
        if name is not None:
            self._post(SetInput(name, 0.0))

    def _on_state(self, state: Qt.ApplicationState) -> None:
        """Release everything when the person switches to another application, which then gets the real releases."""
        if state is not Qt.ApplicationState.ApplicationActive:
            for code in list(self._down):
                self._let_go(code)


def _code(event: QKeyEvent) -> int:
    """Return the system's code of the key, which is the same for press and release, even with other keys held."""
    return event.nativeScanCode() or event.key()


def _is_typing() -> bool:
    """True while keys go to a text field, a menu or a dialog."""
    focused = QApplication.focusWidget()
    is_field = isinstance(focused, _TEXT_FIELDS)
    return is_field or QApplication.activePopupWidget() is not None or QApplication.activeModalWidget() is not None


_HANDLERS: dict[QEvent.Type, Callable[..., None]] = {
    QEvent.Type.ShortcutOverride: InputEvents._press_key,
    QEvent.Type.KeyPress: InputEvents._press_key,
    QEvent.Type.KeyRelease: InputEvents._release_key,
    QEvent.Type.MouseMove: InputEvents._move,
    QEvent.Type.MouseButtonPress: InputEvents._press_button,
    QEvent.Type.MouseButtonDblClick: InputEvents._press_button,
    QEvent.Type.MouseButtonRelease: InputEvents._release_button,
    QEvent.Type.Wheel: InputEvents._turn,
}
