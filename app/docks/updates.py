"""The updates list ("why did it rebuild?"), with the cause, author and cost of every update above HOT."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMargins, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.docks.dock import Dock, Editor
from app.qt.throttle import Throttle
from app.theme import colours
from app.theme.icons import icon
from app.widgets.empty_state import EmptyState
from app.widgets.list_table import Index, ListModel, level_filter, make_table
from engine.figures import format_time
from engine.patch.document import Patch
from engine.protocol.messages import FrameReport, UpdateLevel, UpdateRecord

#: The most rows, and the number of old rows dropped at once, since the view is laid out again each time.
LIMIT, _DROPPED_AT_ONCE = 5000, 500
#: The listed levels, most expensive first, with titles and explanations.
LEVELS = {
    UpdateLevel.COLD: ("Cold", "The graph was rebuilt, because its structure changed"),
    UpdateLevel.CODE: ("Code", "A kernel's function was swapped in the running graph"),
    UpdateLevel.RECAPTURE: ("Recapture", "A library call was captured again"),
    UpdateLevel.WARM: ("Warm", "Pointers or launch sizes were changed in the running graph"),
}
#: If a frame waits longer than this, it is late on a 60 Hz display.
_LATE_NS = 1e9 / 60
_HINT = "No rebuilds yet.\nEdits that cost more than a parameter write are listed here, with their cause and time"
_REFRESH_MS = 250  # milliseconds; a person can't read figures that change faster
_WIDTHS = {0: 80, 1: 84, 3: 96, 4: 80, 5: 80, 6: 108}


@dataclass(frozen=True)
class Row:
    """An update, with the time of day at which it arrived."""

    record: UpdateRecord
    clock: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the row, column by column."""
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
        """All details, for columns that are too narrow."""
        record = self.record
        lines = [record.cause, LEVELS[record.level][1]]
        if record.beside_ns:
            lines.append(f"Prepared beside the running graph: {format_time(record.beside_ns)}")
        lines.append(f"The frame waited: {format_time(record.swap_ns)}")
        if record.nodes:
            lines.append(f"Click to go to {record.nodes[0]}")
        return "\n".join(lines)


class UpdateRows(ListModel):
    """The updates, oldest first. Rows of levels that are not `shown` are kept and counted, but not listed."""

    HEADERS = ("Time", "Level", "Why", "By", "Frame", "Took", "Frame waited")
    TOOLTIPS = (
        "Time of day",
        "Update level; parameter writes (Hot) are only counted",
        "The edit or event that caused the update",
        "Source of the change",
        "The first frame with the change",
        "From the start of the update until its result ran; the patch kept running meanwhile",
        "Delay of the frame in which the update was swapped in",
    )
    WHY, LEVEL, WAITED = 2, 1, 6
    NUMBERS = (4, 5, 6)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[Row] = []  # all
        self.counts: Counter[UpdateLevel] = Counter()
        self.shown: frozenset[UpdateLevel] = frozenset(LEVELS)
        self._visible: list[Row] = []  # rows of the shown levels
        self._strong = QFont()
        self._strong.setWeight(QFont.Weight.DemiBold)

    def listed(self) -> Sequence[Row]:
        """Return the rows of the shown levels."""
        return self._visible

    def row(self, index: Index) -> Row:
        """Return the update at an index."""
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
        """Drop the oldest rows, but keep their counts."""
        gone = sum(row.record.level in self.shown for row in self.rows[:_DROPPED_AT_ONCE])
        del self.rows[:_DROPPED_AT_ONCE]
        if gone:
            self.beginRemoveRows(QModelIndex(), 0, gone - 1)
            del self._visible[:gone]
            self.endRemoveRows()

    # Qt

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self._visible[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return row.texts[column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.tooltip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
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


class Updates(EmptyState, Dock):
    """A list of updates.

    The newest is last, and stays in view while the list is at its end; buttons choose the levels.
    """

    name, title = "updates", "Updates"

    #: The person wants to go to a node.
    node_activated = Signal(str)
    #: A message for the person.
    noted = Signal(str)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self._patch: Patch | None = None
        self._hot = self._hot_before = 0
        self.rows = UpdateRows(self)
        self.levels = {
            level: level_filter(f"{title} updates", f"{hint}.\nClick to hide or show these updates", self._choose)
            for level, (title, hint) in LEVELS.items()
        }
        self.hot_label = QLabel(objectName="faint")
        self.hot_label.setToolTip("Frames that only wrote parameters; they cost almost nothing and are only counted")
        self.clear_button = QToolButton(autoRaise=True, objectName="listButton", icon=icon("clear"))
        self.clear_button.setToolTip("Clear the list and its counts")
        self.clear_button.setAccessibleName("Clear the updates")
        self.clear_button.clicked.connect(self.clear)
        self.table = make_table(self.rows, "Updates", _WIDTHS, UpdateRows.WHY)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.clicked.connect(self._go_to)
        self.table.activated.connect(self._go_to)  # by the keyboard
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=2)
        column.addLayout(self._make_bar())
        column.addWidget(self.table)
        self._counts = Throttle(self._show_counts, _REFRESH_MS, self)
        self._counts.ask()

    def follow(self, editor: Editor) -> None:
        """Follow the updates of the engine, and go to blocks."""
        editor.session.replaced.connect(self.set_patch)
        editor.session.engine_changed.connect(self.begin_again)
        editor.bridge.updated.connect(self.add)
        editor.bridge.report.connect(self.show_report)
        self.node_activated.connect(editor.kernel.go_to)
        self.noted.connect(editor.note)

    def set_patch(self, patch: Patch | None) -> None:
        """List the updates of another patch, which has none yet."""
        self._patch = patch
        self.begin_again()
        self.clear()

    def begin_again(self) -> None:
        """Note that another engine runs, whose counts start from 0."""
        self._hot_before = self._hot_before - self._hot
        self._hot = 0

    def add(self, record: UpdateRecord) -> None:
        """Add an update."""
        bar = self.table.verticalScrollBar()
        follows = bar.value() == bar.maximum()
        self.rows.add(record)
        self.set_filled(True)
        self._counts.ask()
        if follows:
            self.table.scrollToBottom()

    def show_report(self, report: FrameReport) -> None:
        """Count the updates that are not listed."""
        if report.hot_updates != self._hot:
            self._hot = report.hot_updates
            self._counts.ask()

    def clear(self) -> None:
        """Empty the list, and count from 0."""
        self.rows.clear()
        self._hot_before = self._hot
        self.set_filled(False)
        self._show_counts()

    def _show_counts(self) -> None:
        for level, button in self.levels.items():
            button.setText(f"{LEVELS[level][0]} {self.rows.counts[level]:,}")
        self.hot_label.setText(f"Hot {self._hot - self._hot_before:,}")

    def _choose(self) -> None:
        self.rows.show_levels(level for level, button in self.levels.items() if button.isChecked())
        self.table.scrollToBottom()

    def _go_to(self, index: QModelIndex) -> None:
        """Go to the cause's first block that still exists."""
        nodes = self.rows.row(index).record.nodes
        there = [node for node in nodes if self._patch is not None and node in self._patch.nodes]
        if there:
            self.node_activated.emit(there[0])
        elif nodes:
            self.noted.emit(f"{nodes[0]} is no longer in the patch")

    def _make_bar(self) -> QHBoxLayout:
        bar = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0), spacing=4)
        for button in self.levels.values():
            bar.addWidget(button)
        bar.addSpacing(8)
        bar.addWidget(self.hot_label)
        bar.addStretch(1)
        bar.addWidget(self.clear_button)
        return bar
