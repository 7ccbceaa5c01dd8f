"""`Chooser`: a field and a list of choices that match it, for the keyboard."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QMargins, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QKeyEvent, QPainter
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

from warploom.app.theme import colours
from warploom.app.theme.fonts import BODY, SMALL, length, widget_font

_WIDTH, _ROW, _ROWS, _TOP, _ICON = 520, 28, 12, 48, 16
_CHOICE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Choice:
    """A line to choose: its text, what it belongs to, its keys or other facts, and what it does.

    A choice that is not `enabled` is shown last, and can't be chosen. Further `words` find it, but aren't shown.
    """

    text: str
    run: Callable[[], object]
    place: str = ""
    note: str = ""
    icon: QIcon | None = None
    enabled: bool = True
    words: str = ""


def matching(choices: Sequence[Choice], text: str) -> list[Choice]:
    """Return the choices that have every word of a text, the best first.

    A match at the start of a text is better than one at the start of a word, and that is better than others. One in
    words that aren't shown comes last.
    """
    words = text.lower().split()

    def rank_of(word: str, choice: Choice) -> int | None:
        shown, whole = choice.text.lower(), f" {choice.text} {choice.place}".lower()
        matches = shown.startswith(word), f" {word}" in whole, word in whole, f" {word}" in f" {choice.words.lower()}"
        return matches.index(True) if any(matches) else None

    def rank(choice: Choice) -> tuple[bool, int] | None:
        starts = [rank_of(word, choice) for word in words]
        return None if None in starts else (not choice.enabled, sum(filter(None, starts)))

    ranked = [(found, choice) for choice in choices if (found := rank(choice)) is not None]
    return [choice for _, choice in sorted(ranked, key=lambda pair: pair[0])]


class Chooser(QFrame):
    """Shows choices over its parent. Up, down and Enter choose, Escape closes, and so does another focus."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setObjectName("chooser")
        self._choices: Sequence[Choice] = ()
        self._before: QWidget | None = None
        self.field = QLineEdit(clearButtonEnabled=True)
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        self.list = QListWidget(uniformItemSizes=True, frameShape=QFrame.Shape.NoFrame)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setItemDelegate(_Delegate(self.list))
        self.list.itemClicked.connect(self._choose)
        self.nothing = QLabel(alignment=Qt.AlignmentFlag.AlignCenter, objectName="hint")
        column = QVBoxLayout(self, contentsMargins=QMargins(8, 8, 8, 8), spacing=8)
        for part in (self.field, self.list, self.nothing):
            column.addWidget(part)
        self.hide()

    def open(self, hint: str, choices: Sequence[Choice], nothing: str) -> None:
        """Show choices, with a hint in the empty field; `nothing` is shown if no choice matches."""
        theme = colours.current()
        self.setStyleSheet(
            f"#chooser {{ background: {theme.dock}; border: 1px solid {theme.border}; border-radius: 4px; }}"
        )
        if not self.isVisible():
            self._before = self.window().focusWidget()
        self._choices = choices
        self.nothing.setText(nothing)
        self.field.setPlaceholderText(hint)
        self.field.setAccessibleName(hint)
        self.field.clear()
        room = self._room.rect()
        width = min(length(_WIDTH), room.width() - 16)
        height = min(_ROWS * length(_ROW) + 64, room.height() - 16)
        self.setGeometry((room.width() - width) // 2, min(length(_TOP), room.height() - height - 8), width, height)
        self._fill("")
        self.show()
        self.raise_()
        self.field.setFocus()

    def texts(self) -> list[str]:
        """Return the texts of the choices that match, from top to bottom."""
        return [self.list.item(row).text() for row in range(self.list.count())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the field's keys move the selection; close when the focus leaves."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._handle_key(Qt.Key(event.key()))
        if event.type() == QEvent.Type.FocusOut and not self.isAncestorOf(self.window().focusWidget()):
            self.hide()
        return super().eventFilter(watched, event)

    def _handle_key(self, key: Qt.Key) -> bool:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -_ROWS, Qt.Key.Key_PageDown: _ROWS}
        if key in steps and self.list.count():
            self.list.setCurrentRow(min(max(self.list.currentRow() + steps[key], 0), self.list.count() - 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.list.currentItem() is not None:
                self._choose(self.list.currentItem())
        elif key == Qt.Key.Key_Escape:
            self._close()
        else:
            return key in steps
        return True

    def _fill(self, text: str) -> None:
        self.list.clear()
        for choice in matching(self._choices, text):
            item = QListWidgetItem(choice.text, self.list)
            item.setData(_CHOICE, choice)
            if choice.icon is not None:
                item.setIcon(choice.icon)
        self.list.setCurrentRow(0)
        self.list.setVisible(self.list.count() > 0)
        self.nothing.setVisible(self.list.count() == 0)
        rows = min(max(self.list.count(), 1), _ROWS + 0.5)  # half a row shows that there are more
        height = 26 + self.field.sizeHint().height() + round(rows * length(_ROW))
        self.resize(self.width(), min(height, self._room.height() - 16))

    def _choose(self, item: QListWidgetItem) -> None:
        choice: Choice = item.data(_CHOICE)
        if choice.enabled:
            self._close()
            choice.run()

    def _close(self) -> None:
        self.hide()
        if self._before is not None:
            self._before.setFocus()


class _Delegate(QStyledItemDelegate):
    """A choice's icon and text, with what it belongs to beside it, and its note at the right."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, length(_ROW))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint a row."""
        theme, rect = colours.current(), option.rect
        choice: Choice = index.data(_CHOICE)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(theme.control_hover))
            painter.fillRect(rect.left(), rect.top(), 2, rect.height(), QColor(theme.accent))
        if choice.icon is not None:
            mode = QIcon.Mode.Normal if choice.enabled else QIcon.Mode.Disabled
            side = length(_ICON)
            choice.icon.paint(painter, rect.left() + 8, rect.center().y() - side // 2 + 1, side, side, mode=mode)
        area = QRectF(rect.adjusted(16 + length(_ICON), 0, -8, 0))
        dim = theme.text_dim if choice.enabled else theme.text_faint
        area.setRight(area.right() - self._draw(painter, area, choice.note, dim, SMALL, is_right=True) - 16)
        ink = theme.text if choice.enabled else theme.text_faint
        area.setLeft(area.left() + self._draw(painter, area, choice.text, ink, BODY) + 8)
        self._draw(painter, area, choice.place, dim, SMALL)

    @staticmethod
    def _draw(painter: QPainter, area: QRectF, text: str, ink: str, size: int, *, is_right: bool = False) -> float:
        """Draw a text in the middle of the area's height, and return its width."""
        painter.setFont(widget_font(size))
        painter.setPen(QColor(ink))
        side = Qt.AlignmentFlag.AlignRight if is_right else Qt.AlignmentFlag.AlignLeft
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(int(area.width()), 0))
        painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter, shown)
        return float(painter.fontMetrics().horizontalAdvance(shown))
