"""The updates list, "why did it rebuild?": every update above HOT with its cause, who made it, and what it cost."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.docks.update_rows import LEVELS, UpdateRows
from app.qt.throttle import Paced
from app.theme.icons import icon
from app.widgets.empty_state import EmptyState
from engine.patch.document import Patch
from engine.protocol.messages import FrameReport, UpdateLevel, UpdateRecord

_HINT = "No rebuilds yet.\nEdits that are more than a parameter write are listed here, with their cause and cost"
_REFRESH_MS = 250  # a person can't read figures that change faster
_WIDTHS = {0: 80, 1: 84, 3: 96, 4: 80, 5: 80, 6: 108}


class Updates(EmptyState):
    """The newest update is last, and stays in view while the list is at its end; buttons choose the levels."""

    #: Go to a node.
    node_activated = Signal(str)
    #: Something to tell the person.
    noted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        page = QWidget()
        super().__init__(page, _HINT, parent)
        self._patch: Patch | None = None
        self._hot = self._hot_before = 0
        self.rows = UpdateRows(self)
        self.levels = {level: self._make_level(level) for level in LEVELS}
        self._hot_label = QLabel()
        self._hot_label.setObjectName("faint")
        self._hot_label.setToolTip("Frames that only wrote parameters: they cost next to nothing, and are only counted")
        self.clear_button = QToolButton(autoRaise=True)
        self.clear_button.setObjectName("listButton")
        self.clear_button.setToolTip("Clear the list and its counts")
        self.clear_button.setAccessibleName("Clear the updates")
        self.clear_button.clicked.connect(self.clear)
        self.table = self._make_table()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(2)
        column.addLayout(self._make_bar())
        column.addWidget(self.table)
        self.refresh_icons()
        self._counts = Paced(self._show_counts, _REFRESH_MS, self)
        self._counts.ask()

    @property
    def hot_text(self) -> str:
        """How many frames only wrote parameters, as it is shown."""
        return self._hot_label.text()

    def set_patch(self, patch: Patch | None) -> None:
        """List the updates of another patch, which has none yet."""
        self._patch = patch
        self.begin_again()
        self.clear()

    def begin_again(self) -> None:
        """Another engine runs, which counts from 0."""
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
        """Empty the list and count from 0."""
        self.rows.clear()
        self._hot_before = self._hot
        self.set_filled(False)
        self._show_counts()

    def refresh_icons(self) -> None:
        """Draw the icons again, in the colours of the present theme."""
        self.clear_button.setIcon(icon("clear"))

    def _show_counts(self) -> None:
        for level, button in self.levels.items():
            button.setText(f"{LEVELS[level][0]} {self.rows.counts[level]:,}")
        self._hot_label.setText(f"Hot {self._hot - self._hot_before:,}")

    def _choose_levels(self) -> None:
        self.rows.show_levels(level for level, button in self.levels.items() if button.isChecked())
        self.table.scrollToBottom()

    def _go_to(self, index: QModelIndex) -> None:
        """Go to the first block of the cause that is still there."""
        nodes = self.rows.row(index).record.nodes
        there = [node for node in nodes if self._patch is not None and node in self._patch.nodes]
        if there:
            self.node_activated.emit(there[0])
        elif nodes:
            self.noted.emit(f"{nodes[0]} is no longer in the patch")

    def _make_level(self, level: UpdateLevel) -> QToolButton:
        button = QToolButton(checkable=True, checked=True, autoRaise=True)
        button.setObjectName("levelFilter")
        button.setToolTip(f"{LEVELS[level][1]}.\nClick to hide or show them")
        button.setAccessibleName(f"Show {LEVELS[level][0]} updates")
        button.toggled.connect(self._choose_levels)
        return button

    def _make_bar(self) -> QHBoxLayout:
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 0, 8, 0)
        bar.setSpacing(4)
        for button in self.levels.values():
            bar.addWidget(button)
        bar.addSpacing(8)
        bar.addWidget(self._hot_label)
        bar.addStretch(1)
        bar.addWidget(self.clear_button)
        return bar

    def _make_table(self) -> QTableView:
        table = QTableView()
        table.setModel(self.rows)
        table.verticalHeader().hide()
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        table.verticalHeader().setDefaultSectionSize(22)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setAccessibleName("Updates")
        table.clicked.connect(self._go_to)
        table.activated.connect(self._go_to)  # by the keyboard
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        for section, width in _WIDTHS.items():
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, width)
        header.setSectionResizeMode(UpdateRows.WHY, QHeaderView.ResizeMode.Stretch)
        return table
