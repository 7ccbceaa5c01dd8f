"""Where the things are on the screen that a gesture names as a person would: by their words."""

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QModelIndex, QPoint, QPointF, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLabel,
    QLineEdit,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QSlider,
    QStatusBar,
    QTabBar,
    QWidget,
)

from tests.tasks.hands import top_at, tops
from warploom.app.canvas.items.parameter_tray import ParameterTray
from warploom.app.docks.code.code import Code
from warploom.app.inspector.parameter_row import ParameterRow
from warploom.app.viewers.picture_view import PictureView
from warploom.app.window.main_window import MainWindow


class Screen:
    """Finds things of the window and its dialogs, and what is written there."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self._finders: dict[str, Callable[[str], Iterator[QPoint | None]]] = {
            "block": self._block,
            "input": lambda name: self._port(name, True),
            "output": lambda name: self._port(name, False),
            "parameter": self._parameter,
            "connection": self._connection,
            "frame": self._frame,
            "canvas": self._canvas,
            "button": self._button,
            "menu": self._menu,
            "item": self._item,
            "tab": self._tab,
            "field": self._field,
            "slider": self._slider,
            "row": self._row,
            "text": self._text,
            "code": self._code,
            "pixel": self._pixel,
        }

    def find(self, kind: str, name: str) -> QPoint | None:
        """Return the place of the first thing of a kind and a name that nothing covers; None if there is none."""
        return next((place for place in self._finders[kind](name) if place is not None), None)

    def reads(self, text: str) -> bool:
        """Return whether a text can be read somewhere, in labels, buttons, lists and fields."""
        return any(text in shown for shown in self._texts())

    def _texts(self) -> Iterator[str]:
        for widget in self._widgets(QWidget):
            match widget:
                case QLabel() | QAbstractButton() | QLineEdit():
                    yield widget.text()
                case QPlainTextEdit():
                    yield widget.toPlainText()
                case QAbstractItemView():
                    yield from (str(index.data()) for index in _indexes(widget))
                case QStatusBar():
                    yield widget.currentMessage()
                case QTabBar():
                    yield from (widget.tabText(n) for n in range(widget.count()))
                case _:
                    yield widget.windowTitle() if widget.isWindow() else ""

    def _widgets(self, kind: type[QWidget]) -> Iterator[Any]:
        """Yield the visible widgets of a kind; of a modal dialog only, while one is open."""
        modal = QApplication.activeModalWidget()
        for top in [modal] if modal is not None else tops():
            for widget in [top, *top.findChildren(QWidget)] if kind is QWidget else top.findChildren(kind):
                if widget.isVisible() and not widget.visibleRegion().isEmpty():
                    yield widget

    # Things of the canvas

    def _block(self, title: str) -> Iterator[QPoint | None]:
        for view in self.window.canvas.scene.nodes.values():
            if view.model.title == title:
                yield self._on_canvas(view.place.topLeft() + QPointF(min(40, view.place.width() / 2), 12))

    def _port(self, name: str, is_input: bool) -> Iterator[QPoint | None]:
        title, _, port = name.rpartition(".")
        for view in self.window.canvas.scene.nodes.values():
            if view.model.title == title and (port, is_input) in view.ports:
                yield self._on_canvas(view.ports[port, is_input].scenePos())

    def _parameter(self, name: str) -> Iterator[QPoint | None]:
        """Yield the rows of a tray, which unfolds while a value is dragged over a block."""
        for tray in self.window.canvas.scene.items():
            if isinstance(tray, ParameterTray):
                for candidate in tray._candidates:
                    if candidate.ref.port == name:
                        yield self._on_canvas(tray.port_of(candidate) + QPointF(20, 0))

    def _connection(self, name: str) -> Iterator[QPoint | None]:
        scene = self.window.canvas.scene
        for connection, view in scene.connections.items():
            titles = (scene.nodes[end.node].model.title for end in (connection.source, connection.target))
            ends = (connection.source.port, connection.target.port)
            if " -> ".join(f"{title}.{port}" for title, port in zip(titles, ends, strict=True)) == name:
                yield self._on_canvas(view.path().pointAtPercent(0.5))

    def _frame(self, title: str) -> Iterator[QPoint | None]:
        for view in self.window.canvas.scene.frames.views.values():
            if view.frame.title == title:
                yield self._on_canvas(view.rect.topLeft() + QPointF(24, 12))

    def _canvas(self, name: str) -> Iterator[QPoint | None]:
        """Yield a place by its shares of the canvas: "30% 50%"."""
        yield _share(self.window.canvas.view.viewport(), name)

    def _on_canvas(self, point: QPointF) -> QPoint | None:
        view = self.window.canvas.view
        return _free(view.viewport(), view.mapFromScene(point))

    # Things of the window

    def _button(self, name: str) -> Iterator[QPoint | None]:
        for button in self._widgets(QAbstractButton):
            names = (button.text().replace("&", ""), button.accessibleName(), button.toolTip().split("\n")[0])
            if button.isEnabled() and name in names:
                yield _middle(button)

    def _menu(self, title: str) -> Iterator[QPoint | None]:
        for bar in self._widgets(QMenuBar):
            yield from self._actions(bar, title)

    def _item(self, title: str) -> Iterator[QPoint | None]:
        for menu in self._widgets(QMenu):
            yield from self._actions(menu, title)

    def _actions(self, holder: Any, title: str) -> Iterator[QPoint | None]:
        for action in holder.actions():
            if action.text().replace("&", "").split("\t")[0] == title and action.isEnabled():
                yield _free(holder, holder.actionGeometry(action).center())

    def _tab(self, title: str) -> Iterator[QPoint | None]:
        for bar in self._widgets(QTabBar):
            for n in range(bar.count()):
                if bar.tabText(n) == title:
                    yield _free(bar, bar.tabRect(n).center())

    def _field(self, name: str) -> Iterator[QPoint | None]:
        for row in self._parameters(name):
            for field in row.findChildren(QLineEdit):
                yield _middle(field)
        for kind in (QLineEdit, QPlainTextEdit):
            for field in self._widgets(kind):
                if name in (field.accessibleName(), field.placeholderText()):
                    yield _middle(field)
        for label in self._widgets(QLabel):
            if label.text().replace("&", "") == name and label.buddy() is not None:
                yield _middle(label.buddy())

    def _slider(self, name: str) -> Iterator[QPoint | None]:
        """Yield a place of a parameter's slider: "sigma", its handle, or "sigma 80%"."""
        name, _, share = name.partition(" ")
        for row in self._parameters(name):
            for slider in row.findChildren(QSlider):
                span = slider.maximum() - slider.minimum()
                at = float(share.rstrip("%")) / 100 if share else (slider.value() - slider.minimum()) / span
                yield _free(slider, QPoint(round(6 + at * (slider.width() - 12)), slider.height() // 2))

    def _parameters(self, name: str) -> Iterator[ParameterRow]:
        return (row for row in self._widgets(ParameterRow) if row.label.text() == name)

    def _row(self, text: str) -> Iterator[QPoint | None]:
        for view in self._widgets(QAbstractItemView):
            for index in _indexes(view):
                if text in str(index.data()):
                    yield _free(view.viewport(), view.visualRect(index).center())

    def _text(self, text: str) -> Iterator[QPoint | None]:
        for label in self._widgets(QLabel):
            if text in label.text():
                yield _middle(label)

    def _code(self, text: str) -> Iterator[QPoint | None]:
        """Yield the place of a text in the code, at its first letter."""
        for dock in self._widgets(Code):
            cursor = dock.text.document().find(text)
            if not cursor.isNull():
                cursor.setPosition(cursor.selectionStart() + 1)
                yield _free(dock.text.viewport(), dock.text.cursorRect(cursor).center())

    def _pixel(self, name: str) -> Iterator[QPoint | None]:
        """Yield a place by its shares of the picture that is shown: "30% 50%"."""
        for view in self._widgets(PictureView):
            yield _share(view, name)


def _share(widget: QWidget, name: str) -> QPoint | None:
    x, y = (float(part.rstrip("%")) / 100 for part in name.split())
    return _free(widget, QPoint(round(x * widget.width()), round(y * widget.height())))


def _middle(widget: QWidget) -> QPoint | None:
    return _free(widget, widget.rect().center())


def _free(widget: QWidget, place: QPoint) -> QPoint | None:
    """Return a place of a widget on the screen; None if it is outside the widget, or another widget covers it."""
    at = widget.mapToGlobal(place)
    top = top_at(at)
    found = (top.childAt(top.mapFromGlobal(at)) or top) if top is not None else None
    is_free = found is not None and (found is widget or widget.isAncestorOf(found))
    return at if is_free and QRect(QPoint(), widget.size()).contains(place) else None


def _indexes(view: QAbstractItemView) -> Iterator[QModelIndex]:
    """Yield the cells of a list that are in view."""
    model, room = view.model(), view.viewport().rect()
    todo = [QModelIndex()]
    while todo and model is not None:
        parent = todo.pop()
        for row in range(model.rowCount(parent)):
            first = model.index(row, 0, parent)
            if view.visualRect(first).top() > room.bottom():
                break
            for column in range(model.columnCount(parent)):
                if (index := model.index(row, column, parent)).data() not in (None, ""):
                    yield index
            if first.flags() & Qt.ItemFlag.ItemIsEnabled and model.rowCount(first):
                todo.append(first)
