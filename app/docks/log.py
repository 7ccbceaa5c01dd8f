"""The log of saved files and messages."""

import time
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.qt.safe_overrides import safe_overrides
from app.theme import colours
from app.widgets.empty_state import EmptyState
from app.widgets.list_table import make_table
from engine.diagnostics import Diagnostic, Severity
from engine.figures import format_shape
from engine.protocol.messages import Saved

_LIMIT = 2000
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Entry:
    """One line of the log; with a severity it is about something that went wrong."""

    clock: str
    label: str
    text: str
    severity: Severity | None = None


@safe_overrides
class _LogModel(QAbstractTableModel):
    HEADERS = ("Time", "What", "Message")

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.entries: list[Entry] = []

    def append(self, entry: Entry) -> None:
        if len(self.entries) >= _LIMIT:
            self.beginRemoveRows(QModelIndex(), 0, 0)
            del self.entries[0]
            self.endRemoveRows()
        self.beginInsertRows(QModelIndex(), len(self.entries), len(self.entries))
        self.entries.append(entry)
        self.endInsertRows()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return 0 if parent.isValid() else len(self.entries)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.HEADERS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (entry.clock, entry.label, entry.text)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return entry.text
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == 1:
            tokens = colours.current()
            special = {Severity.ERROR: tokens.error, Severity.WARNING: tokens.warning}
            return QColor(tokens.text if entry.severity is None else special[entry.severity])
        return None


class Log(EmptyState):
    """The newest entry is last; a filter narrows what is shown."""

    noted = Signal(str)  # what was added, in a line for the status bar

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, "Saved files and messages are listed here")
        self._model = _LogModel(self)
        self._filtered = QSortFilterProxyModel(self)
        self._filtered.setSourceModel(self._model)
        self._filtered.setFilterKeyColumn(-1)
        self._filtered.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.filter = QLineEdit(placeholderText="Filter the log", clearButtonEnabled=True)
        self.filter.setAccessibleName("Filter the log")
        self.filter.textChanged.connect(self._filtered.setFilterFixedString)
        self.table = make_table(self._filtered, "Log", {0: 88, 1: 88}, 2)
        column = QVBoxLayout(page, spacing=4)
        column.setContentsMargins(0, 4, 0, 0)
        column.addWidget(self.filter)
        column.addWidget(self.table)

    @property
    def entries(self) -> list[Entry]:
        """Every entry, oldest first."""
        return list(self._model.entries)

    def add_saved(self, saved: Saved) -> None:
        """Add a file that was saved."""
        what = f"{saved.node}.{saved.port}, {saved.dtype} {format_shape(saved.shape)}"
        self._add("Saved", f"{saved.path} ({what})" if saved.path else what)
        self.noted.emit(f"Saved {saved.path}")

    def add_diagnostic(self, diagnostic: Diagnostic) -> None:
        """Add what the engine could not do."""
        severity = diagnostic.severity
        self._add(severity.value.capitalize(), str(diagnostic).partition(": ")[2], severity)
        self.noted.emit(str(diagnostic))

    def add_message(self, text: str) -> None:
        """Add a message."""
        self._add("Note", text)
        self.noted.emit(text)

    def add_error(self, text: str) -> None:
        """Add an error; one that repeats at once is not listed again."""
        last = self._model.entries[-1] if self._model.entries else None
        if last is None or last.text != text:
            self._add("Error", text, Severity.ERROR)
        self.noted.emit(text)

    def _add(self, label: str, text: str, severity: Severity | None = None) -> None:
        bar = self.table.verticalScrollBar()
        follows = bar.value() == bar.maximum()
        self._model.append(Entry(time.strftime("%H:%M:%S"), label, text, severity))
        self.set_filled(True)
        if follows:
            self.table.scrollToBottom()
