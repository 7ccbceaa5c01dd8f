"""Finding a block type and placing it: alone, at the end of a connection, or in the middle of one."""

from collections.abc import Callable

from PySide6.QtCore import (
    QEvent,
    QMargins,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QPointF,
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
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.canvas.drawing.node_layout import HEADER, ROW
from app.canvas.drawing.shapes import paint_text, qcolor
from app.edits import nodes as node_edits
from app.edits.compatible import fitting_types
from app.edits.nodes import snapped
from app.qt.safe_overrides import safe_overrides
from app.theme import colours
from app.theme.fonts import BODY, SMALL
from app.theme.icons import category_icon
from app.widgets.marked_text import without_marks
from engine.blocktypes.block import Block
from engine.diagnostics import PatchError
from engine.patch.changes import Connection, PortRef
from engine.patch.document import Patch

#: Returns the block types to show for a text, best first.
Find = Callable[[str], list[type[Block]]]

_WIDTH = 384
_ROW_HEIGHT = 40
_MOST_ROWS = 9
_MOST_RECENT = 5
_ICON = 18
_BLOCK_TYPE = Qt.ItemDataRole.UserRole


#: What the new block is for: to connect to a port, to be inserted on a connection, or neither.
Goal = PortRef | Connection | None


@safe_overrides
class SearchPopup(QFrame):
    """A field and the block types that match it; up, down and Enter choose, Escape closes."""

    chosen = Signal(type)  # of Block

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setObjectName("search")
        self._find: Find = lambda text: []
        self.field = QLineEdit(clearButtonEnabled=True)
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        self.list = QListWidget()
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setUniformItemSizes(True)
        self.list.setMinimumHeight(_ROW_HEIGHT)
        self.list.itemClicked.connect(self._choose)
        self.nothing = QLabel(alignment=Qt.AlignmentFlag.AlignCenter, wordWrap=True)
        layout = QVBoxLayout(self, contentsMargins=QMargins(8, 8, 8, 8), spacing=8)
        layout.addWidget(self.field)
        layout.addWidget(self.list, 1)
        layout.addWidget(self.nothing, 1)
        self.hide()

    def open(self, position: QPoint, find: Find, hint: str) -> None:
        """Show the search with its field at a position of the parent, over the block types that `find` returns."""
        theme = colours.current()
        self.setStyleSheet(
            f"#search {{ background: {theme.dock}; border: 1px solid {theme.border}; border-radius: 4px; }}"
        )
        self._find = find
        self.field.setPlaceholderText(hint)
        self.field.clear()
        self._fill("")
        room = self._room.rect().adjusted(8, 8, -8, -8)
        x = min(position.x() - 16, room.right() - self.width())
        y = min(position.y() - 16, room.bottom() - self.height())
        self.move(max(x, room.left()), max(y, room.top()))
        self.show()
        self.raise_()
        self.field.setFocus()

    def close_search(self) -> None:
        """Hide the search and return the focus."""
        if self.isVisible():
            self.hide()
            self._room.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the field's keys move the selection; close when the focus leaves."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._handle_key(event.key())
        if event.type() == QEvent.Type.FocusOut and not self.isAncestorOf(self.window().focusWidget()):
            self.hide()
        return super().eventFilter(watched, event)

    def _handle_key(self, key: int) -> bool:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -6, Qt.Key.Key_PageDown: 6}
        if key in steps:
            row = self.list.currentRow() + steps[Qt.Key(key)]
            self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.list.currentItem() is not None:
                self._choose(self.list.currentItem())
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_Tab):
            self.close_search()
        else:
            return False
        return True

    def _fill(self, text: str) -> None:
        self.list.clear()
        for block_type in self._find(text):
            item = QListWidgetItem(block_type.title)
            item.setData(_BLOCK_TYPE, block_type)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        is_empty = self.list.count() == 0
        self.list.setVisible(not is_empty)
        self.nothing.setVisible(is_empty)
        self.nothing.setText(f"No block matches “{text}”." if text else "No block fits here.")
        self._resize_to_rows()

    def _resize_to_rows(self) -> None:
        """Make the popup as small as the found block types allow."""
        frame = 3 * 8 + self.field.sizeHint().height()
        rows = min(max(self.list.count(), 1), _MOST_ROWS)
        self.resize(QSize(_WIDTH, frame + rows * _ROW_HEIGHT).boundedTo(self._room.size() - QSize(16, 16)))

    def _choose(self, item: QListWidgetItem) -> None:
        block_type = item.data(_BLOCK_TYPE)
        self.close_search()
        self.chosen.emit(block_type)


@safe_overrides
class _Delegate(QStyledItemDelegate):
    """A row: title and category, and under them the summary."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Return the height of every row."""
        return QSize(0, _ROW_HEIGHT)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint one block type."""
        theme = colours.current()
        block_type: type[Block] = index.data(_BLOCK_TYPE)
        rect, state = option.rect, option.state
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, qcolor(theme.control_hover))
            painter.fillRect(QRect(rect.left(), rect.top(), 2, rect.height()), qcolor(theme.accent))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, qcolor(theme.control))
        drawn = category_icon(block_type.category, block_type.is_value)
        drawn.paint(painter, QRect(rect.left() + 8, rect.center().y() - _ICON // 2, _ICON, _ICON))
        area = QRectF(rect.adjusted(16 + _ICON, 3, -8, -3))
        half = area.height() // 2
        upper, lower = area.adjusted(0, 0, 0, half - area.height()), area.adjusted(0, half, 0, 0)
        paint_text(painter, upper, block_type.title, theme.text, BODY, strong=True)
        paint_text(painter, upper, block_type.category, theme.text_dim, SMALL, align=Qt.AlignmentFlag.AlignRight)
        paint_text(painter, lower, without_marks(block_type.summary), theme.text_dim, SMALL)


class BlockSearch(QObject):
    """The search popup, and what happens with the block type that a person chooses."""

    placed = Signal(str)  # the new node's id
    refused = Signal(str)  # why the block could not be placed

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._patch: Patch | None = None
        self._goal: Goal = None
        self._recent: list[str] = []  # ids of the types that were placed last, the newest at the end
        self._point, self._scope = QPointF(), ""
        self._popup = SearchPopup(parent)
        self._popup.chosen.connect(self._place)

    @property
    def is_open(self) -> bool:
        """True while the popup is shown."""
        return self._popup.isVisible()

    def open(self, patch: Patch, position: QPoint, point: QPointF, goal: Goal, scope: str = "") -> None:
        """Show the popup at a position of the canvas; what is chosen goes to `point` of the scene, into `scope`."""
        self._patch, self._point, self._goal, self._scope = patch, point, goal, scope
        match goal:
            case PortRef():
                hint = f"Connect {goal} to a new block"
            case Connection():
                hint = "Insert a block"
            case None:
                hint = "Add a block"
        self._popup.open(position, self._find, hint)

    def close(self) -> None:
        """Hide the popup."""
        self._popup.close_search()

    def _find(self, text: str) -> list[type[Block]]:
        """Block types that match a text and fit the goal."""
        if self._patch is None:
            return []
        found = self._patch.catalogue.search(text)
        if not text:  # the palette: what was placed last, then all, by category
            recent = {type_id: place for place, type_id in enumerate(reversed(self._recent))}
            found.sort(key=lambda block: (recent.get(block.id, len(recent)), block.category, block.title))
        for ref in _ends_of(self._goal):
            spec = self._patch.find_end(ref)
            found = fitting_types(found, spec) if spec else []
        return found

    def _place(self, block_type: type[Block]) -> None:
        assert self._patch is not None
        # The pointer is at the first port when something is connected, else on the title bar.
        below = HEADER + ROW / 2 if self._goal else HEADER / 2
        position = snapped(self._point.x(), self._point.y() - below)
        try:
            if isinstance(self._goal, Connection):
                placed = node_edits.insert(self._patch, block_type, position, self._goal, self._scope)
            else:
                placed = node_edits.place(self._patch, block_type, position, self._goal, self._scope)
        except PatchError as problem:
            self.refused.emit(str(problem))
        else:
            self._recent = [*(known for known in self._recent if known != block_type.id), block_type.id][-_MOST_RECENT:]
            self.placed.emit(placed)


def _ends_of(goal: Goal) -> list[PortRef]:
    if isinstance(goal, Connection):
        return [goal.source, goal.target]
    return [goal] if goal is not None else []
