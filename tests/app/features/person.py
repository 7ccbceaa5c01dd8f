"""A person who uses the window by mouse and keys only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QListWidget,
    QMenu,
    QPlainTextEdit,
    QToolTip,
    QTreeWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from tests.app.canvas.canvas_support import Hand
from tests.app.conftest import Asked
from tests.app.viewers.test_ports import Ports
from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.app.inspector.parameter_row import ParameterRow
from warploom.app.viewers.ports.port_viewer import PortViewer
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.types import Array, DType

NONE, LEFT = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@dataclass
class Person:
    """A person in front of a window with an open patch."""

    window: MainWindow
    asked: Asked
    qtbot: QtBot
    ports: Ports | None = None

    @property
    def hand(self) -> Hand:
        """The person's mouse over the canvas."""
        return Hand(self.window.canvas)

    @property
    def patch(self) -> Patch:
        """The open patch."""
        patch = self.window.session.patch
        assert patch is not None
        return patch

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition is true."""
        self.qtbot.waitUntil(lambda: bool(holds()))

    def play(self, node: str, dtype: DType, array: Array) -> None:
        """Let the engine report the elements of a block's output, and send what the window asks for."""
        if self.ports is None:
            self.ports = Ports(self.window)
        self.ports.hold(f"{node}.out", dtype, array)
        self.ports.play()

    # Keys

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = NONE) -> None:
        """Press a key over the canvas."""
        if not self.window.isActiveWindow():  # after a dialog or menu, a window manager would do it
            self.window.activateWindow()
            self.until(self.window.isActiveWindow)
        self.window.canvas.setFocus()
        QTest.keyClick(self.hand.view, key, modifiers)

    def type(self, text: str, key: Qt.Key | None = Qt.Key.Key_Return) -> None:
        """Type a text where the keyboard is, and then a key."""
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClicks(focused, text)
        if key is not None:
            QTest.keyClick(focused, key)

    def command(self, text: str) -> None:
        """Find a command in the palette, and run it."""
        self.press(Qt.Key.Key_P, CONTROL | SHIFT)
        self.type(text)
        assert not self.window.chooser.isVisible(), f"{text} is not possible: {self.window.chooser.texts()}"

    # Mouse

    def select(self, *nodes: str) -> None:
        """Click blocks."""
        for number, node in enumerate(nodes):
            self.hand.click(self.hand.title(node), SHIFT if number else NONE)
        assert set(self.window.canvas.selected()) == set(nodes)

    def click(self, button: QWidget | None) -> None:
        """Click a button that can be seen."""
        assert button is not None and button.isVisible() and button.isEnabled()
        QTest.mouseClick(button, LEFT)

    def button(self, inside: QWidget, text: str) -> QAbstractButton:
        """Return the visible button with a text, tooltip or accessible name."""
        (found,) = [
            each
            for each in inside.findChildren(QAbstractButton)
            if each.isVisible() and text in (each.text(), each.toolTip(), each.accessibleName())
        ]
        return found

    def row(self, rows: QListWidget | QTreeWidget, number: int, *, twice: bool = False) -> None:
        """Click, or double-click, a row of a list."""
        place = rows.visualItemRect(rows.item(number) if isinstance(rows, QListWidget) else rows.topLevelItem(number))
        point = QPoint(place.left() + 30, place.center().y())
        QTest.mouseClick(rows.viewport(), LEFT, pos=point)
        if twice:
            QTest.mouseDClick(rows.viewport(), LEFT, pos=point)

    def choose(self, box: QComboBox, text: str) -> None:
        """Choose an entry of a list by its first letters."""
        assert box.isVisible() and box.findText(text) >= 0, [box.itemText(n) for n in range(box.count())]
        box.setFocus()
        for _ in range(box.count()):
            if box.currentText() != text:
                at = box.currentIndex()
                QTest.keyClick(box, Qt.Key.Key_Down if at < box.findText(text) else Qt.Key.Key_Up)
        assert box.currentText() == text

    def menu(self, opener: QWidget, *texts: str) -> None:
        """Open a button's menu with a click, and click through its entries."""

        def go(menu: QWidget | None, *texts: str) -> None:
            assert isinstance(menu, QMenu)
            text, *rest = texts
            action = next(each for each in menu.actions() if each.text().replace("&", "").partition("\t")[0] == text)
            inner: Any = action.menu()
            if rest:
                menu.setActiveAction(action)
                inner.aboutToShow.emit() if not inner.isVisible() else None
                go(inner, *rest)
                menu.close()
            else:
                QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())

        QTimer.singleShot(0, lambda: go(QApplication.activePopupWidget(), *texts))
        self.click(opener)

    def rest(self, point: QPointF) -> str:
        """Rest the pointer at a point of the scene, and return the tooltip."""
        view = self.hand.view
        place = view.mapFromScene(point)
        move_pointer(view.viewport(), place)
        event = QHelpEvent(QEvent.Type.ToolTip, place, view.viewport().mapToGlobal(place))
        QApplication.sendEvent(view.viewport(), event)
        return QToolTip.text()

    # Parts of the window

    def search(self, text: str) -> list[str]:
        """Type into the open search of blocks, and return the titles that it lists."""
        popup = self.window.canvas.findChild(SearchPopup)
        assert popup is not None and popup.isVisible()
        QTest.keyClicks(popup.field, text)
        return [row.text(0) for row in popup.rows()]

    def parameter(self, name: str) -> ParameterRow:
        """Return the row of a parameter in the inspector."""
        row = self.window.inspector.rows[name]
        assert row.isVisible()
        return row

    def set(self, name: str, text: str) -> None:
        """Type into a parameter's field of the inspector."""
        field = self.parameter(name).editor.findChild(QLineEdit)
        assert field is not None
        QTest.mouseClick(field, LEFT)
        QTest.keyClick(field, Qt.Key.Key_A, CONTROL)
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)

    def set_text(self, name: str, text: str) -> None:
        """Replace a parameter's text of several lines, and press Ctrl+Enter."""
        field = self.parameter(name).editor.findChild(QPlainTextEdit)
        assert field is not None
        QTest.mouseClick(field.viewport(), LEFT)
        QTest.keyClick(field, Qt.Key.Key_A, CONTROL)
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return, CONTROL)

    def look(self, node: str) -> PortViewer:
        """Look at what a block holds."""
        self.select(node)
        self.press(Qt.Key.Key_V)
        viewer = self.window.looking.viewer(self.window.looking.follower)
        self.until(lambda: viewer.isVisible() and viewer.view is not None)
        return viewer
