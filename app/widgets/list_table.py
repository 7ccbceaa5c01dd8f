"""Read-only tables, their models, and buttons that filter a list."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Generic, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolButton, QWidget

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
Index = QModelIndex | QPersistentModelIndex
R = TypeVar("R")


class ListModel(QAbstractTableModel, Generic[R]):
    """A list with columns, the newest row last. A subclass defines the texts of the cells."""

    HEADERS: ClassVar[tuple[str, ...]]
    #: Tooltips of the headers, if any.
    TOOLTIPS: ClassVar[tuple[str, ...]] = ()
    #: Columns of numbers, which are right-aligned.
    NUMBERS: ClassVar[tuple[int, ...]] = ()
    #: The most rows, which is more than arrive at once. Of more, a tenth is dropped at once, since the view is laid out
    #: again each time.
    LIMIT: ClassVar[int] = 5000

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.rows: list[R] = []

    def texts(self, row: R) -> Sequence[str]:
        """Return the texts of a row, column by column."""
        raise NotImplementedError

    def tooltip(self, row: R, column: int) -> str:
        """Return the tooltip of a cell."""
        raise NotImplementedError

    def colour(self, row: R, column: int) -> str:
        """Return the colour of a cell's text."""
        raise NotImplementedError

    def set_rows(self, rows: Iterable[R]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self.rows = list(rows)
        self.endResetModel()

    def add(self, rows: Sequence[R]) -> None:
        """Add the newest rows, and drop the oldest ones of too many."""
        over = len(self.rows) + len(rows) - self.LIMIT
        if over > 0 and self.rows:
            gone = min(len(self.rows), max(over, self.LIMIT // 10))
            self.beginRemoveRows(QModelIndex(), 0, gone - 1)
            del self.rows[:gone]
            self.endRemoveRows()
        if rows:
            first = len(self.rows)
            self.beginInsertRows(QModelIndex(), first, first + len(rows) - 1)
            self.rows += rows
            self.endInsertRows()

    # Qt

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.HEADERS[section]
        if role == Qt.ItemDataRole.ToolTipRole and self.TOOLTIPS:
            return self.TOOLTIPS[section]
        return self._alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = self.rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.texts(row)[column]
            case Qt.ItemDataRole.ToolTipRole:
                return self.tooltip(row, column)
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._alignment(column)
            case Qt.ItemDataRole.ForegroundRole:
                return QColor(self.colour(row, column))
            case Qt.ItemDataRole.UserRole:
                return row
        return None

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        return RIGHT if column in self.NUMBERS else LEFT


class RowFilter(QSortFilterProxyModel, Generic[R]):
    """The rows of a list that fit a condition."""

    def __init__(self, rows: ListModel[R]) -> None:
        super().__init__(rows)
        self._rows = rows
        self._fits: Callable[[R], bool] = lambda row: True
        self.setSourceModel(rows)

    def choose(self, fits: Callable[[R], bool]) -> None:
        """Show the rows that fit."""
        self.beginFilterChange()
        self._fits = fits
        self.endFilterChange(QSortFilterProxyModel.Direction.Rows)

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        return self._fits(self._rows.rows[row])


def make_table(model: QAbstractItemModel, name: str, widths: Mapping[int, int], stretched: int) -> QTableView:
    """Return a read-only table: columns of fixed `widths` in pixels, and one that takes the rest."""
    table = QTableView(tabKeyNavigation=False)  # Tab goes on to the next control
    table.setModel(model)
    table.setAccessibleName(name)
    rows, header = table.verticalHeader(), table.horizontalHeader()
    rows.hide()
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setDefaultSectionSize(22)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    header.setHighlightSections(False)
    for section, width in widths.items():
        header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(section, width)
    header.setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)
    return table


def grow_tables(root: QWidget, growth: float) -> None:
    """Enlarge the rows and the fixed columns of all tables in a widget, for a larger font."""
    for header in root.findChildren(QHeaderView):
        if header.orientation() is Qt.Orientation.Vertical:
            header.setDefaultSectionSize(round(header.defaultSectionSize() * growth))
            continue
        for section in range(header.count()):
            if header.sectionResizeMode(section) in (header.ResizeMode.Fixed, header.ResizeMode.Interactive):
                header.resizeSection(section, round(header.sectionSize(section) * growth))


def level_filter(name: str, tooltip: str, choose: Callable[[], object]) -> QToolButton:
    """Return a checked button that hides or shows the rows of a level; `choose` is called when it is toggled."""
    button = QToolButton(checkable=True, checked=True, autoRaise=True, objectName="levelFilter", toolTip=tooltip)
    button.setAccessibleName(f"Show {name}")
    button.toggled.connect(choose)
    return button
