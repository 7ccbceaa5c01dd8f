"""The updates list ("why did it rebuild?"), with the cause, author and cost of every update above HOT."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QMargins, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warploom.app.docks.dock import Dock, Editor
from warploom.app.qt.throttle import Throttle
from warploom.app.theme import colours
from warploom.app.theme.icons import icon
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.list_table import Index, ListModel, RowFilter, level_filter, make_table
from warploom.engine.figures import format_time
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import FrameReport, UpdateLevel, UpdateRecord

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


class UpdateRows(ListModel[Row]):
    """The updates, oldest first, with their counts by level."""

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
    LIMIT = 1000

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.counts: Counter[UpdateLevel] = Counter()
        self._strong = QFont()
        self._strong.setWeight(QFont.Weight.DemiBold)

    def add_record(self, record: UpdateRecord) -> None:
        """Add the newest update."""
        self.counts[record.level] += 1
        self.add([Row(record, time.strftime("%H:%M:%S"))])

    def texts(self, row: Row) -> Sequence[str]:
        record = row.record
        times = format_time(record.cost_ns), format_time(record.swap_ns)
        return row.clock, LEVELS[record.level][0], record.cause, record.source, f"{record.frame:,}", *times

    def tooltip(self, row: Row, column: int) -> str:
        """Return all details, for columns that are too narrow."""
        record = row.record
        lines = [record.cause, LEVELS[record.level][1]]
        if record.beside_ns:
            lines.append(f"Prepared beside the running graph: {format_time(record.beside_ns)}")
        lines.append(f"The frame waited: {format_time(record.swap_ns)}")
        if record.nodes:
            lines.append(f"Click to go to {record.nodes[0]}")
        return "\n".join(lines)

    def colour(self, row: Row, column: int) -> str:
        tokens = colours.current()
        if column == self.WAITED and row.record.swap_ns > _LATE_NS:
            return tokens.warning
        return tokens.text if column in (self.LEVEL, self.WHY, self.WAITED) else tokens.text_dim

    # Qt

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.FontRole and index.column() == self.LEVEL:
            return self._strong if self.rows[index.row()].record.level is UpdateLevel.COLD else None
        return super().data(index, role)


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
        self._patch = Patch()
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
        self._shown = RowFilter(self.rows)
        self.table = make_table(self._shown, "Updates", _WIDTHS, UpdateRows.WHY)
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
        self._patch = patch or Patch()
        self.begin_again()
        self.clear()

    def set_seen(self, seen: bool) -> None:
        """Begin at the newest update when the list comes into view."""
        if seen:
            self.table.scrollToBottom()

    def begin_again(self) -> None:
        """Note that another engine runs, whose counts start from 0."""
        self._hot_before = self._hot_before - self._hot
        self._hot = 0

    def add(self, record: UpdateRecord) -> None:
        """Add an update."""
        bar = self.table.verticalScrollBar()
        follows = bar.value() == bar.maximum()
        self.rows.add_record(record)
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
        self.rows.set_rows(())
        self.rows.counts.clear()
        self._hot_before = self._hot
        self.set_filled(False)
        self._show_counts()

    def _show_counts(self) -> None:
        for level, button in self.levels.items():
            button.setText(f"{LEVELS[level][0]} {self.rows.counts[level]:,}")
        self.hot_label.setText(f"Hot {self._hot - self._hot_before:,}")

    def _choose(self) -> None:
        levels = {level for level, button in self.levels.items() if button.isChecked()}
        self._shown.choose(lambda row: row.record.level in levels)
        self.table.scrollToBottom()

    def _go_to(self, index: QModelIndex) -> None:
        """Go to the cause's first block that still exists."""
        nodes = index.data(Qt.ItemDataRole.UserRole).record.nodes
        there = [node for node in nodes if node in self._patch.nodes]
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
