"""Keys and the mouse as inputs of a patch."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QShortcut, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from warploom.app.viewers.picture_view import PictureView
from warploom.app.window.input_events import InputEvents
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import SetInput


class Desk:
    """A window with a canvas, a picture, a text field and a shortcut, and the messages it posts."""

    def __init__(self, qtbot: QtBot) -> None:
        self.window = QWidget()
        self.canvas, self.picture, self.field, self.other = QWidget(), PictureView(), QLineEdit(), QWidget()
        column = QVBoxLayout(self.window)
        for widget in (self.canvas, self.picture, self.field, self.other):
            column.addWidget(widget)
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for widget in (self.canvas, self.picture, self.other):
            widget.setFixedSize(101, 51)
        self.canvas.setMouseTracking(True)
        self.shortcuts: list[str] = []
        QShortcut(Qt.Key.Key_K, self.window).activated.connect(lambda: self.shortcuts.append("k"))
        self.posted: list[tuple[str, float]] = []
        self.inputs = InputEvents(self._post, self.canvas, self.window)
        qtbot.addWidget(self.window)
        self.window.show()
        qtbot.waitExposed(self.window)
        self.canvas.setFocus()

    def _post(self, message: SetInput) -> None:
        self.posted.append((message.name, message.value))

    def newest(self) -> dict[str, float]:
        """Return the last value of each input."""
        return dict(self.posted)


@pytest.fixture
def desk(qtbot: QtBot) -> Iterator[Desk]:
    """A desk whose event filter is removed afterwards."""
    desk = Desk(qtbot)
    yield desk
    desk.inputs.set_patch(None)


@pytest.fixture
def patch() -> Patch:
    """A patch that listens to a key and to the mouse."""
    patch = Patch()
    patch.add("value.keyboard", node_id="key")
    patch.add("value.mouse", node_id="mouse")
    return patch


def test_the_window_sends_the_mouse_to_its_engine(window: Any, patch: Patch, qtbot: QtBot) -> None:
    """The mouse over the canvas is sent to the engine from the moment at which a block listens."""
    window.session.replace(patch)
    posted = window.session.engine.posted
    move_pointer(window.canvas.view.viewport(), QPoint(0, 0))
    qtbot.waitUntil(lambda: SetInput("mouse.x", 0.0) in posted and SetInput("mouse.y", 0.0) in posted)
    window.session.replace(None)
    assert not window.inputs.is_listening


def press(
    widget: QObject, kind: QEvent.Type, key: Qt.Key, *, scan_code: int = 0, text: str = "", repeat: bool = False
) -> None:
    """Send a key event with the physical key's code, as the system would."""
    none = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(widget, QKeyEvent(kind, key, none, scan_code, 0, 0, text, repeat))


def test_nothing_is_watched_while_no_block_listens(desk: Desk, patch: Patch) -> None:
    """Events are filtered only while a block listens: the first block starts the filter, and the last one ends it."""
    quiet = Patch()
    desk.inputs.set_patch(quiet)
    QTest.keyClick(desk.canvas, Qt.Key.Key_A)
    move_pointer(desk.canvas, QPoint(5, 5))
    assert not desk.inputs.is_listening and desk.posted == []
    quiet.add("value.mouse")
    assert desk.inputs.is_listening
    QTest.keyClick(desk.canvas, Qt.Key.Key_A)
    assert desk.posted == []
    quiet.undo()
    assert not desk.inputs.is_listening
    desk.inputs.set_patch(patch)
    assert desk.inputs.is_listening
    desk.inputs.set_patch(None)
    assert not desk.inputs.is_listening


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (Qt.Key.Key_A, "key.a"),
        (Qt.Key.Key_7, "key.7"),
        (Qt.Key.Key_Space, "key.space"),
        (Qt.Key.Key_Left, "key.left"),
        (Qt.Key.Key_F1, "key.f1"),
        (Qt.Key.Key_Shift, "key.shift"),
    ],
)
def test_a_key_counts_once_down_and_once_up(desk: Desk, patch: Patch, key: Qt.Key, name: str) -> None:
    """A key's press and release are sent once each, with the key's name in lower case."""
    desk.inputs.set_patch(patch)
    QTest.keyClick(desk.canvas, key)
    assert desk.posted == [(name, 1.0), (name, 0.0)]


def test_a_held_key_does_not_repeat(desk: Desk, patch: Patch) -> None:
    """A held key is sent once, until it is released."""
    desk.inputs.set_patch(patch)
    press(desk.canvas, QEvent.Type.KeyPress, Qt.Key.Key_A)
    for _ in range(3):
        press(desk.canvas, QEvent.Type.KeyRelease, Qt.Key.Key_A, repeat=True)
        press(desk.canvas, QEvent.Type.KeyPress, Qt.Key.Key_A, repeat=True)
    assert desk.posted == [("key.a", 1.0)]
    press(desk.canvas, QEvent.Type.KeyRelease, Qt.Key.Key_A)
    assert desk.posted[1:] == [("key.a", 0.0)]


def test_a_key_is_let_go_whatever_it_is_called_by_then(desk: Desk, patch: Patch) -> None:
    """A key is released by its physical key, even if releasing Shift first changed its name."""
    desk.inputs.set_patch(patch)
    press(desk.canvas, QEvent.Type.KeyPress, Qt.Key.Key_Exclam, scan_code=10, text="!")
    press(desk.canvas, QEvent.Type.KeyRelease, Qt.Key.Key_1, scan_code=10, text="1")
    assert desk.newest() == {"key.!": 0.0}


def test_shortcuts_still_work(desk: Desk, patch: Patch, qtbot: QtBot) -> None:
    """A key that is a shortcut is both an input and a shortcut."""
    desk.inputs.set_patch(patch)
    desk.window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is desk.window)
    QTest.keyClick(desk.canvas, Qt.Key.Key_K)
    assert desk.shortcuts == ["k"]
    assert desk.posted == [("key.k", 1.0), ("key.k", 0.0)]


def test_commands_are_no_input(desk: Desk, patch: Patch) -> None:
    """Commands such as Ctrl+Z are no input."""
    desk.inputs.set_patch(patch)
    QTest.keyClick(desk.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert ("key.z", 1.0) not in desk.posted


def test_typed_text_is_no_input(desk: Desk, patch: Patch, qtbot: QtBot) -> None:
    """Text typed into a field is no input, and the field receives it."""
    desk.inputs.set_patch(patch)
    desk.window.activateWindow()
    desk.field.setFocus()
    qtbot.waitUntil(desk.field.hasFocus)
    QTest.keyClicks(desk.field, "abc")
    assert desk.field.text() == "abc" and desk.posted == []


def test_keys_are_let_go_when_another_application_is_in_front(desk: Desk, patch: Patch, qapp: QApplication) -> None:
    """All keys are released when another application comes to the front, which would receive the releases."""
    desk.inputs.set_patch(patch)
    press(desk.canvas, QEvent.Type.KeyPress, Qt.Key.Key_A)
    qapp.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)
    assert desk.newest() == {"key.a": 0.0}


@pytest.mark.parametrize(
    ("place", "x", "y"), [((0, 0), 0.0, 0.0), ((50, 25), 0.5, 0.5), ((100, 50), 1.0, 1.0), ((25, 50), 0.25, 1.0)]
)
def test_the_mouse_goes_from_0_to_1_over_canvas_and_pictures(
    desk: Desk, patch: Patch, qtbot: QtBot, place: tuple[int, int], x: float, y: float
) -> None:
    """The mouse's position runs from 0 at the first to 1 at the last pixel of the canvas or a picture."""
    desk.inputs.set_patch(patch)
    for surface in (desk.canvas, desk.picture):
        desk.posted.clear()
        move_pointer(surface, QPoint(*place))
        qtbot.waitUntil(lambda: desk.newest() == {"mouse.x": x, "mouse.y": y})
    desk.posted.clear()
    move_pointer(desk.other, QPoint(*place))
    qtbot.wait(20)
    assert desk.posted == []


def test_many_moves_are_few_messages(desk: Desk, patch: Patch, qtbot: QtBot) -> None:
    """A hundred mouse moves make fewer than 60 messages, and the last position arrives."""
    desk.inputs.set_patch(patch)
    for step in range(101):
        move_pointer(desk.canvas, QPoint(step, 0))
    assert len(desk.posted) < 60
    qtbot.waitUntil(lambda: desk.newest()["mouse.x"] == 1.0)


def test_buttons_count_from_press_to_release_wherever_that_is(desk: Desk, patch: Patch) -> None:
    """A button pressed over the canvas is released wherever the drag ends; a press elsewhere is no input."""
    desk.inputs.set_patch(patch)
    QTest.mousePress(desk.canvas, Qt.MouseButton.LeftButton, pos=QPoint(50, 25))
    assert desk.newest() == {"mouse.x": 0.5, "mouse.y": 0.5, "mouse.left": 1.0}
    QTest.mouseRelease(desk.other, Qt.MouseButton.LeftButton)
    assert desk.newest()["mouse.left"] == 0.0
    desk.posted.clear()
    QTest.mouseClick(desk.other, Qt.MouseButton.RightButton)
    assert desk.posted == []


def test_the_wheel_adds_up(desk: Desk, patch: Patch) -> None:
    """The wheel's total is sent; a notch is 1, and positive away from the person."""
    desk.inputs.set_patch(patch)
    for angle in (120, 120, -60):
        point = QPointF(5, 5)
        none, phase = Qt.MouseButton.NoButton, Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(
            point, point, QPoint(), QPoint(0, angle), none, Qt.KeyboardModifier.NoModifier, phase, False
        )
        QApplication.sendEvent(desk.canvas, event)
    assert desk.posted == [("mouse.wheel", 1.0), ("mouse.wheel", 2.0), ("mouse.wheel", 1.5)]


def test_a_new_keyboard_listens_to_no_key_of_the_editor(window: MainWindow) -> None:
    """The default key of a new keyboard block is not used by the editor."""
    window.files.new()
    patch = window.session.patch
    assert patch is not None
    key = patch.value(patch.add("value.keyboard").id, "key")
    commands = window.actions_by_id.commands.values()
    used = {keys.lower() for command in commands for keys in command.keys}
    assert {"space", "f", "."} <= used
    assert key not in used
