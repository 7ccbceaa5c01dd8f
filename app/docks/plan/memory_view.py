"""Rows of buffers, with a bar from the first to the last operation that uses each."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolTip, QWidget

from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, length, widget_font
from warploom.app.view_models.profile.launched_graph import blocks_of
from warploom.engine.compiler.inspection.data import FramePlan, PlannedMemory
from warploom.engine.figures import format_bytes, plural

_ROW, _HEAD = 18, 20  # pixels
_NAMES, _BYTES = 180, 72
_NAMED = 6  # how many of the buffers that share bytes are named
_LIFETIMES = {
    "graph": "kept within a frame",
    "region": "kept within a turn of its region",
    "state": "kept from frame to frame",
    "provided": "uploaded",
    "external": "memory of the person's program",
    "status": "read back after each frame",
    "fused": "never stored, since one kernel writes and reads it",
}


class MemoryView(QWidget):
    """Paints a plan's buffers. The arrow keys go from row to row; a click or Enter chooses the row's block."""

    #: The block of the chosen row.
    node_chosen = Signal(str)
    #: The middle of the chosen row, which is to be seen.
    row_shown = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Buffers of the frame")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.plan: FramePlan | None = None
        self._title: Callable[[str], str] = str
        #: The buffers that the selected blocks write or read, by their names.
        self.marked: frozenset[str] = frozenset()
        self._row = -1

    @property
    def rows(self) -> tuple[PlannedMemory, ...]:
        """The buffers: those that share memory first, in the order of their first use."""
        return self.plan.buffers if self.plan is not None else ()

    @property
    def chosen(self) -> PlannedMemory | None:
        """The buffer of the chosen row."""
        return self.rows[self._row] if 0 <= self._row < len(self.rows) else None

    def show_plan(self, plan: FramePlan, title: Callable[[str], str] = str) -> None:
        """Show another plan, with titles of blocks; the chosen buffer stays chosen if it is still there."""
        self._title = title
        name = self.chosen.name if self.chosen is not None else ""
        self.plan = plan
        self._row = next((row for row, buffer in enumerate(plan.buffers) if buffer.name == name), -1)
        self.updateGeometry()
        self.setMinimumHeight(self.sizeHint().height())
        self.update()

    def show_selection(self, nodes: frozenset[str]) -> None:
        """Mark the buffers that some blocks write or read, and choose one of theirs unless one is chosen."""
        operations = self.plan.operations if self.plan is not None else ()
        used = {name for each in operations if nodes & set(blocks_of(each)) for name in (*each.reads, *each.writes)}
        own = [row for row, buffer in enumerate(self.rows) if buffer.node.partition("/")[0] in nodes]
        self.marked = frozenset(used.union(self.rows[row].name for row in own))
        if self._row not in own:
            self._row = next(iter(own), -1)
        self.update()
        self._reveal()

    def choose(self, row: int) -> None:
        """Choose a row, and with it its block."""
        self._row = min(max(row, 0), len(self.rows) - 1)
        if self.chosen is not None and self.chosen.node:
            self.node_chosen.emit(self.chosen.node.partition("/")[0])
        self.update()
        self._reveal()

    def _reveal(self) -> None:
        if self._row >= 0:
            self.row_shown.emit(length(_HEAD) + length(_ROW) * self._row + length(_ROW) // 2)

    def bar(self, row: int) -> QRectF:
        """Return the place of a row's bar."""
        buffer, width = self.rows[row], self._column()
        left, top = self._left + width * buffer.first, length(_HEAD) + length(_ROW) * row + 3
        return QRectF(left, top, max(width * (buffer.last - buffer.first + 1) - 1, 2), length(_ROW) - 6)

    def name(self, buffer: PlannedMemory) -> str:
        """Return a buffer's name as people read it: its block and port."""
        block, slash, inside = buffer.node.partition("/")
        return f"{self._title(block)}{slash}{inside} · {buffer.port}" if block else buffer.port

    def operation_at(self, x: float) -> int:
        """Return the operation of a column; -1 left of all."""
        count = len(self.plan.operations) if self.plan is not None else 0
        index = int((x - self._left) // self._column())
        return index if 0 <= index < count else -1

    def tooltip(self, row: int) -> str:
        """Return what is known about a buffer, as lines."""
        buffer, plan = self.rows[row], self.plan
        assert plan is not None
        lines = [f"{buffer.name}: {buffer.contents}, {format_bytes(buffer.size_bytes)}", _LIFETIMES[buffer.lifetime]]
        if buffer.offset >= 0:
            lines.append(f"{format_bytes(buffer.held_bytes)} at {buffer.offset:,} of the shared memory")
        if buffer.shares:
            more = f" and {len(buffer.shares) - _NAMED} more" if len(buffer.shares) > _NAMED else ""
            lines.append(f"shares bytes with {', '.join(buffer.shares[:_NAMED])}{more}")
        if plan.operations:
            first, last = plan.operations[buffer.first], plan.operations[buffer.last]
            lines.append(f"from {buffer.first} ({first.title}) to {buffer.last} ({last.title})")
        return "\n".join(lines)

    @property
    def _left(self) -> int:
        """The left edge of the bars."""
        return length(_NAMES) + length(_BYTES)

    def _column(self) -> float:
        count = max(len(self.plan.operations), 1) if self.plan is not None else 1
        return max((self.width() - self._left - 8) / count, 0.5)

    def _row_at(self, y: float) -> int:
        row = int((y - length(_HEAD)) // length(_ROW))
        return row if y >= length(_HEAD) and row < len(self.rows) else -1

    # Qt

    def sizeHint(self) -> QSize:
        """Return the size of all rows."""
        return QSize(self._left + 200, length(_HEAD) + length(_ROW) * len(self.rows) + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the chosen row in view."""
        super().resizeEvent(event)
        self._reveal()

    def event(self, event: QEvent) -> bool:
        """Show the tooltip of the row under the pointer."""
        if not isinstance(event, QHelpEvent):
            return super().event(event)
        row, index = self._row_at(event.pos().y()), self.operation_at(event.pos().x())
        text = self.tooltip(row) if row >= 0 else ""
        if self.plan is not None and event.pos().y() < length(_HEAD) and index >= 0:
            text = f"{index}: {self.plan.operations[index].title}, {self.plan.operations[index].work}"
        QToolTip.showText(event.globalPos(), text, self)
        return True

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the row under the pointer."""
        row = self._row_at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and row >= 0:
            self.choose(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from row to row."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is not None and self.rows:
            self.choose(self._row + step)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the visible rows."""
        painter, theme, font = QPainter(self), colours.current(), widget_font(SMALL)
        painter.fillRect(event.rect(), QColor(theme.canvas))
        painter.setFont(font)
        metrics, chosen = QFontMetricsF(font), self.chosen
        self._paint_bodies(painter)
        self._paint_head(painter, metrics)
        sharers = set(chosen.shares) if chosen is not None else set()
        first = max((event.rect().top() - length(_HEAD)) // length(_ROW), 0)
        for row in range(first, min((event.rect().bottom() - length(_HEAD)) // length(_ROW) + 1, len(self.rows))):
            buffer = self.rows[row]
            top = length(_HEAD) + length(_ROW) * row
            if row == self._row or buffer.name in self.marked:
                painter.fillRect(QRect(0, top, self.width(), length(_ROW)), QColor(theme.control))
            painter.setPen(QColor(theme.text))
            left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
            name = metrics.elidedText(self.name(buffer), Qt.TextElideMode.ElideMiddle, length(_NAMES - 16))
            painter.drawText(QRectF(length(8), top, length(_NAMES - 16), length(_ROW)), left, name)
            painter.setPen(QColor(theme.text_dim))
            right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            size = format_bytes(buffer.held_bytes) if buffer.lifetime != "fused" else "fused"
            painter.drawText(QRectF(length(_NAMES), top, length(_BYTES - 12), length(_ROW)), right, size)
            self._paint_bar(painter, row, buffer, is_sharer=buffer.name in sharers)
        painter.end()

    def _paint_bodies(self, painter: QPainter) -> None:
        """Tint the columns of operations in regions."""
        theme, width = colours.current(), self._column()
        for index, operation in enumerate(self.plan.operations if self.plan is not None else ()):
            if operation.region >= 0:
                place = QRectF(self._left + width * index, 0, width, self.height())
                painter.fillRect(place, QColor(colours.mix(theme.canvas, theme.dock, 0.9)))

    def _paint_bar(self, painter: QPainter, row: int, buffer: PlannedMemory, *, is_sharer: bool) -> None:
        theme, place = colours.current(), self.bar(row)
        is_shared = buffer.offset >= 0
        fill = colours.mix(theme.accent if is_shared else theme.text_dim, theme.canvas, 0.35 if is_shared else 0.6)
        if buffer.lifetime == "fused":
            painter.setPen(QColor(theme.text_dim))
            painter.drawRect(place.adjusted(0.5, 0.5, -0.5, -0.5))
        else:
            painter.fillRect(place, QColor(fill))
        if is_sharer or row == self._row:
            painter.setPen(QColor(theme.text if is_sharer else theme.accent))
            painter.drawRect(place.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _paint_head(self, painter: QPainter, metrics: QFontMetricsF) -> None:
        """Number the operations as far as there is room."""
        theme, width = colours.current(), self._column()
        painter.setPen(QColor(theme.text_dim))
        count = len(self.plan.operations) if self.plan is not None else 0
        label = metrics.horizontalAdvance(str(count)) + 8
        step = max(round(label / width + 0.5), 1)
        painter.drawText(QPointF(8, length(_HEAD - 6)), "Buffer")
        for index in range(0, count, step):
            painter.drawText(QPointF(self._left + width * index + 1, length(_HEAD - 6)), str(index))


def totals(plan: FramePlan) -> str:
    """Return the memory of a plan as a line."""
    stored = [buffer for buffer in plan.buffers if buffer.lifetime != "fused"]
    shared = f"{format_bytes(plan.arena_bytes)} shared, instead of {format_bytes(plan.unshared_bytes)}"
    return f"{plural(len(stored), 'buffer')}: {shared}; {format_bytes(plan.own_bytes)} with memory of their own"
