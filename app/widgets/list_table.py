"""Read-only tables, their models, and buttons that filter a list."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from PySide6.QtCore import QAbstractItemModel, QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolButton

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
Index = QModelIndex | QPersistentModelIndex


class ListModel(QAbstractTableModel):
    """A list with columns. A subclass has the rows, and its `data` returns the contents of cells."""

    HEADERS: ClassVar[tuple[str, ...]]
    #: Tooltips of the headers, if any.
    TOOLTIPS: ClassVar[tuple[str, ...]] = ()
    #: Columns of numbers, which are right-aligned.
    NUMBERS: ClassVar[tuple[int, ...]] = ()

    def listed(self) -> Sequence[object]:
        """Return the rows."""
        raise NotImplementedError

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        """Return how the texts of a column are aligned."""
        return RIGHT if column in self.NUMBERS else LEFT

    # Qt

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return 0 if parent.isValid() else len(self.listed())

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.HEADERS[section]
        if role == Qt.ItemDataRole.ToolTipRole and self.TOOLTIPS:
            return self.TOOLTIPS[section]
        return self.alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None


def make_table(model: QAbstractItemModel, name: str, widths: Mapping[int, int], stretched: int) -> QTableView:
    """Return a read-only table: columns of fixed `widths` in pixels, and one that takes the rest."""
    table = QTableView()
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


def level_filter(name: str, tooltip: str, choose: Callable[[], object]) -> QToolButton:
    """Return a checked button that hides or shows the rows of a level; `choose` is called when it is toggled."""
    button = QToolButton(checkable=True, checked=True, autoRaise=True, objectName="levelFilter", toolTip=tooltip)
    button.setAccessibleName(f"Show {name}")
    button.toggled.connect(choose)
    return button
