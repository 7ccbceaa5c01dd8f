"""The rows of the updates list: one for each update above HOT, bounded in number, counted by level."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from app.qt.safe_overrides import safe_overrides
from app.theme import colours
from engine.figures import format_time
from engine.protocol.messages import UpdateLevel, UpdateRecord

#: So many rows are kept; the oldest then go, many at once, since a view lays itself out anew each time.
LIMIT, _DROPPED_AT_ONCE = 5000, 500
#: The levels that are listed, dearest first, as a person reads them, with what each one means.
LEVELS = {
    UpdateLevel.COLD: ("Cold", "The graph was built anew, because its structure changed"),
    UpdateLevel.CODE: ("Code", "A kernel's function was exchanged in the running graph"),
    UpdateLevel.RECAPTURE: ("Recapture", "A library call was captured again"),
    UpdateLevel.WARM: ("Warm", "Pointers or launch sizes were changed in the running graph"),
}
#: A frame that waits for longer is late on a display of 60 Hz.
_LATE_NS = 1e9 / 60
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Row:
    """An update, with the time of day at which it was heard of."""

    record: UpdateRecord
    clock: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The row as it is read, column by column."""
        record = self.record
        return (
            self.clock,
            LEVELS[record.level][0],
            record.cause,
            record.source,
            f"{record.frame:,}",
            format_time(record.cost_ns),
            format_time(record.swap_ns),
        )

    @property
    def tooltip(self) -> str:
        """All that is known, for when a column is too narrow."""
        record = self.record
        lines = [record.cause, LEVELS[record.level][1]]
        if record.beside_ns:
            lines.append(f"Prepared beside the running graph: {format_time(record.beside_ns)}")
        lines.append(f"The frame waited: {format_time(record.swap_ns)}")
        if record.nodes:
            lines.append(f"Click to go to {record.nodes[0]}")
        return "\n".join(lines)


@safe_overrides
class UpdateRows(QAbstractTableModel):
    """Oldest first. Rows of levels that are not `shown` are kept and counted, but not among the model's rows."""

    HEADERS = ("Time", "Level", "Why", "By", "Frame", "Took", "Frame waited")
    TOOLTIPS = (
        "Time of day",
        "What had to be done; parameter writes (Hot) are only counted",
        "What changed",
        "Who changed it",
        "The first frame that had it",
        "From when the work began to when its result ran; the patch ran on meanwhile",
        "How long the frame was held up in which it was swapped in",
    )
    WHY, LEVEL, WAITED = 2, 1, 6
    _NUMBERS = (4, 5, 6)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[Row] = []  # all
        self.counts: Counter[UpdateLevel] = Counter()
        self.shown: frozenset[UpdateLevel] = frozenset(LEVELS)
        self._visible: list[Row] = []  # those of the levels that are shown
        self._strong = QFont()
        self._strong.setWeight(QFont.Weight.DemiBold)

    def row(self, index: _Index) -> Row:
        """Return what an index stands for."""
        return self._visible[index.row()]

    def add(self, record: UpdateRecord) -> None:
        """Add the newest update."""
        if len(self.rows) >= LIMIT:
            self._drop_oldest()
        row = Row(record, time.strftime("%H:%M:%S"))
        self.rows.append(row)
        self.counts[record.level] += 1
        if record.level in self.shown:
            self.beginInsertRows(QModelIndex(), len(self._visible), len(self._visible))
            self._visible.append(row)
            self.endInsertRows()

    def show_levels(self, levels: Iterable[UpdateLevel]) -> None:
        """Show the rows of these levels."""
        self.beginResetModel()
        self.shown = frozenset(levels)
        self._visible = [row for row in self.rows if row.record.level in self.shown]
        self.endResetModel()

    def clear(self) -> None:
        """Forget all rows and counts."""
        self.beginResetModel()
        self.rows, self._visible = [], []
        self.counts.clear()
        self.endResetModel()

    def _drop_oldest(self) -> None:
        """Forget the oldest rows; they stay counted."""
        gone = sum(row.record.level in self.shown for row in self.rows[:_DROPPED_AT_ONCE])
        del self.rows[:_DROPPED_AT_ONCE]
        if gone:
            self.beginRemoveRows(QModelIndex(), 0, gone - 1)
            del self._visible[:gone]
            self.endRemoveRows()

    # Qt

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return 0 if parent.isValid() else len(self._visible)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.HEADERS[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.TOOLTIPS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in self._NUMBERS else _LEFT
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self._visible[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return row.texts[column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.tooltip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column in self._NUMBERS else _LEFT
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(row, column)
        if role == Qt.ItemDataRole.FontRole and column == self.LEVEL and row.record.level is UpdateLevel.COLD:
            return self._strong
        return None

    def _colour(self, row: Row, column: int) -> QColor:
        tokens = colours.current()
        if column == self.WAITED and row.record.swap_ns > _LATE_NS:
            return QColor(tokens.warning)
        return QColor(tokens.text if column in (self.LEVEL, self.WHY, self.WAITED) else tokens.text_dim)
