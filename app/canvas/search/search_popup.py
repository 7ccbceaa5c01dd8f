"""The search popup: a field, with a palette by category below it, or the block types that match the text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QMargins,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from warploom.app.canvas.drawing.shapes import paint_text, qcolor
from warploom.app.theme import colours
from warploom.app.theme.fonts import BODY, SMALL
from warploom.app.theme.icons import category_icon, icon
from warploom.app.widgets.marked_text import without_marks
from warploom.engine.blocktypes.block import Block

_WIDTH = 384
_ROW_HEIGHT, _HEADING_HEIGHT = 40, 28
_MOST_HEIGHT = 9 * _ROW_HEIGHT
_ICON = 18
_BLOCK_TYPE = Qt.ItemDataRole.UserRole
_RECENT = "Recent"


@dataclass(frozen=True)
class Group:
    """Block types under a heading that folds; the types of a group without a title are always shown.

    A group that is offered `instead` has types for a text that nothing matches.
    """

    title: str
    types: Sequence[type[Block]]
    instead: bool = False


#: Returns the block types to show for a text, best first.
Find = Callable[[str], list[Group]]


def palette(types: Sequence[type[Block]], recent: Sequence[str]) -> list[Group]:
    """Return groups of block types: those with the ids in `recent`, where the newest is last, and each category.

    Categories and their block types keep their order.
    """
    by_id = {block.id: block for block in types}
    groups = {_RECENT: [by_id[known] for known in reversed(recent) if known in by_id]}
    for block in types:
        groups.setdefault(block.category, []).append(block)
    return [Group(title, found) for title, found in groups.items() if found]


class SearchPopup(QFrame):
    """A field and the block types that match it.

    Up, down and Enter choose, and Escape closes. While the field is empty, left and right fold and unfold a group.
    """

    chosen = Signal(type)  # a block type
    shown = Signal(bool)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setObjectName("search")
        self._find: Find = lambda text: []
        self._fits = ""
        #: Titles of the groups that are unfolded.
        self.unfolded = {_RECENT}
        self.field = QLineEdit(clearButtonEnabled=True)
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        self.list = QTreeWidget(headerHidden=True, rootIsDecorated=False, indentation=0, expandsOnDoubleClick=False)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setMinimumHeight(_ROW_HEIGHT)
        self.list.itemClicked.connect(self._choose)
        self.nothing = QLabel(alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        layout = QVBoxLayout(self, contentsMargins=QMargins(8, 8, 8, 8), spacing=8)
        layout.addWidget(self.field)
        layout.addWidget(self.nothing)
        layout.addWidget(self.list, 1)
        self.hide()

    def open(self, position: QPoint, find: Find, hint: str, *, only_fitting: bool = False) -> None:
        """Show the search with its field at a position of the parent, over the block types that `find` returns.

        With `only_fitting`, these are not all that match.
        """
        theme = colours.current()
        self.setStyleSheet(
            f"#search {{ background: {theme.dock}; border: 1px solid {theme.border}; border-radius: 4px; }}"
        )
        self._find, self._fits = find, " that fits here" if only_fitting else ""
        self.field.setPlaceholderText(hint)
        self.field.clear()
        self._fill("")
        room = self._room.rect().adjusted(8, 8, -8, -8)
        x = min(position.x() - 16, room.right() - self.width())
        y = min(position.y() - 16, room.bottom() - self._height(_MOST_HEIGHT))  # the popup may grow to that height
        self.move(max(x, room.left()), max(y, room.top()))
        self.show()
        self.raise_()
        self.field.setFocus()
        self.shown.emit(True)

    def close_search(self) -> None:
        """Hide the search and return the focus."""
        if self.isVisible():
            self._hide()
            self._room.setFocus()

    def rows(self) -> list[QTreeWidgetItem]:
        """Return the visible headings and block types, from top to bottom."""
        tops = _children(self.list.invisibleRootItem())
        return [row for top in tops for row in (top, *(_children(top) if top.isExpanded() else ()))]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the field's keys move the selection; close when the focus leaves."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._handle_key(Qt.Key(event.key()))
        if event.type() == QEvent.Type.FocusOut and not self.isAncestorOf(self.window().focusWidget()):
            self._hide()
        return super().eventFilter(watched, event)

    def _hide(self) -> None:
        self.hide()
        self.shown.emit(False)

    def _handle_key(self, key: Qt.Key) -> bool:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -6, Qt.Key.Key_PageDown: 6}
        current = self.list.currentItem()
        if key in steps:
            self._step(steps[key])
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and not self.field.text() and current is not None:
            self._fold(current.parent() or current, folded=key == Qt.Key.Key_Left)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if current is not None:
                self._choose(current)
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_Tab):
            self.close_search()
        else:
            return False
        return True

    def _step(self, rows: int) -> None:
        shown = self.rows()
        if shown:
            at = shown.index(self.list.currentItem()) + rows
            self.list.setCurrentItem(shown[min(max(at, 0), len(shown) - 1)])

    def _fill(self, text: str) -> None:
        self.list.clear()
        groups = self._find(text)
        for group in groups:
            items = [QTreeWidgetItem([block_type.title]) for block_type in group.types]
            for item, block_type in zip(items, group.types, strict=True):
                item.setData(0, _BLOCK_TYPE, block_type)
            if group.title:
                heading = QTreeWidgetItem([group.title])
                heading.addChildren(items)
                self.list.addTopLevelItem(heading)
                heading.setExpanded(group.title in self.unfolded)
            else:
                self.list.addTopLevelItems(items)
        rows = self.rows()
        if rows:
            self.list.setCurrentItem(rows[1] if rows[0].isExpanded() else rows[0])
        self.list.setVisible(bool(rows))
        self.nothing.setVisible(not rows or groups[0].instead)
        nothing = f"No block{self._fits} matches “{text}”" if text else "No block fits here"
        write = "Write one yourself, or press F1 for help" if rows else "Press F1 for help"
        self.nothing.setText(f"{nothing}.\n{write}, Ctrl+F1 for all that Warploom can do.")
        self._resize_to_rows()

    def _resize_to_rows(self) -> None:
        """Make the popup as small as the shown rows allow."""
        rows = sum(map(_row_height, self.rows()))
        if not self.nothing.isHidden():
            self.nothing.ensurePolished()
            rows += self.nothing.heightForWidth(_WIDTH - 2 * 8 - 2) + 8
        size = QSize(_WIDTH, self._height(min(rows, _MOST_HEIGHT)))
        self.resize(size.boundedTo(self._room.size() - QSize(16, 16)))

    def _height(self, of_rows: int) -> int:
        self.field.ensurePolished()
        return 2 + 3 * 8 + self.field.sizeHint().height() + of_rows  # 2 for the border

    def _choose(self, item: QTreeWidgetItem) -> None:
        block_type = item.data(0, _BLOCK_TYPE)
        if block_type is None:
            self._fold(item, folded=item.isExpanded())
        else:
            self.close_search()
            self.chosen.emit(block_type)

    def _fold(self, heading: QTreeWidgetItem, *, folded: bool) -> None:
        if heading.data(0, _BLOCK_TYPE) is None:
            heading.setExpanded(not folded)
            self.list.setCurrentItem(heading)
            (self.unfolded.discard if folded else self.unfolded.add)(heading.text(0))
            self._resize_to_rows()
            if not folded and heading.childCount():
                self.list.scrollToItem(heading.child(heading.childCount() - 1))
            self.list.scrollToItem(heading)


def _children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    return [item.child(at) for at in range(item.childCount())]


def _row_height(item: QTreeWidgetItem) -> int:
    return _ROW_HEIGHT if item.data(0, _BLOCK_TYPE) is not None else _HEADING_HEIGHT


class _Delegate(QStyledItemDelegate):
    """A heading with its number of block types; or a block type's title and category, with its summary below."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Return the height of a row."""
        return QSize(0, _ROW_HEIGHT if index.data(_BLOCK_TYPE) is not None else _HEADING_HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint a row."""
        theme = colours.current()
        rect, state = option.rect, option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, qcolor(theme.control_hover))
            painter.fillRect(QRect(rect.left(), rect.top(), 2, rect.height()), qcolor(theme.accent))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, qcolor(theme.control))
        block_type: type[Block] | None = index.data(_BLOCK_TYPE)
        if block_type is None:
            self._paint_heading(painter, rect, index, is_open=bool(state & QStyle.StateFlag.State_Open))
            return
        in_category = index.parent().data() == block_type.category
        if not in_category:
            drawn = category_icon(block_type.category, block_type.is_value)
            drawn.paint(painter, QRect(rect.left() + 8, rect.center().y() - _ICON // 2, _ICON, _ICON))
        area = QRectF(rect.adjusted(16 + _ICON, 3, -8, -3))
        half = area.height() // 2
        upper, lower = area.adjusted(0, 0, 0, half - area.height()), area.adjusted(0, half, 0, 0)
        paint_text(painter, upper, block_type.title, theme.text, BODY, strong=True)
        if not in_category:
            paint_text(painter, upper, block_type.category, theme.text_dim, SMALL, align=Qt.AlignmentFlag.AlignRight)
        paint_text(painter, lower, without_marks(block_type.summary), theme.text_dim, SMALL)

    def _paint_heading(
        self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex, *, is_open: bool
    ) -> None:
        theme = colours.current()
        place = QRect(rect.left() + 8, rect.center().y() - _ICON // 2, _ICON, _ICON)
        title = index.data()
        (icon("recent") if title == _RECENT else category_icon(title)).paint(painter, place)
        area = QRectF(rect.adjusted(16 + _ICON, 0, -16 - _ICON, 0))
        left = paint_text(painter, area, title, theme.text, BODY, strong=True)
        count = str(index.model().rowCount(index))
        paint_text(painter, area.adjusted(left + 8, 0, 0, 0), count, theme.text_dim, SMALL)
        place.moveRight(rect.right() - 8)
        icon("unfolded" if is_open else "folded", "text_dim").paint(painter, place)
