"""The table of the last measured frame, with a row for each region, composite, block and operation."""

import time

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView

from warploom.app.theme import colours
from warploom.app.view_models.profile.table import NOTHING, ProfileColumn, ProfileTable
from warploom.app.widgets.list_table import LEFT, RIGHT, Index
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.profile import Profile
from warploom.engine.profiling.rows import RowKind

COLUMNS = tuple(ProfileColumn)
_NUMBER_WIDTH = 68
#: Seconds between changes of the rows' order, so that a person can read them.
_REORDER_S = 2.0


class ProfileModel(QAbstractItemModel):
    """A `ProfileTable`, sorted by a column. The internal id of an index is the number of its row in the table."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.table = ProfileTable()
        self._column, self._descending = ProfileColumn.MEAN, True
        self._children = self.table.children
        self._places: list[int] = []  # the position of each row among its siblings
        self._ordered_s = 0.0

    def index_of(self, number: int, column: int = 0) -> QModelIndex:
        """Return the index of a row by its number in the table."""
        return self.createIndex(self._places[number], column, number) if number >= 0 else QModelIndex()

    def set_patch(self, patch: Patch | None) -> None:
        """Show frames of another patch, and drop earlier ones."""
        self.beginResetModel()
        self.table = ProfileTable(patch)
        self._order()
        self.endResetModel()

    def show_profile(self, profile: Profile) -> bool:
        """Show another frame. Return whether its rows differ from those of the last one."""
        if self.table.has_rows_of(profile.spans):
            self.table.show(profile)
            if time.monotonic() - self._ordered_s >= _REORDER_S:
                self._order_again()
            return False
        self.beginResetModel()
        self.table.show(profile)
        self._order()
        self.endResetModel()
        return True

    def _order(self) -> None:
        self._ordered_s = time.monotonic()
        self._children = self.table.order(self._column, descending=self._descending)
        self._places = [0] * len(self.table.rows)
        for children in self._children.values():
            for place, number in enumerate(children):
                self._places[number] = place

    def _order_again(self) -> None:
        self._ordered_s = time.monotonic()
        if self.table.order(self._column, descending=self._descending) == self._children:
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        self._order()
        self.changePersistentIndexList(before, [self.index_of(each.internalId(), each.column()) for each in before])
        self.layoutChanged.emit()

    # Qt

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._column, self._descending = COLUMNS[column], order is Qt.SortOrder.DescendingOrder
        self._order_again()

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008  # Qt's own
        children = self._children[parent.internalId() if parent.isValid() else -1]
        return self.createIndex(row, column, children[row]) if 0 <= row < len(children) else QModelIndex()

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]  # Qt has another one without arguments
        return self.index_of(self.table.rows[index.internalId()].parent) if index.isValid() else QModelIndex()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(self._children[parent.internalId() if parent.isValid() else -1])

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own signature
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section].title
        if role == Qt.ItemDataRole.ToolTipRole:
            return COLUMNS[section].help
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section else LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        number, column, table = index.internalId(), COLUMNS[index.column()], self.table
        if role == Qt.ItemDataRole.DisplayRole:
            return table.text(number, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return table.tooltip(number)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return LEFT if column is ProfileColumn.NAME else RIGHT
        if role == Qt.ItemDataRole.ForegroundRole:
            theme = colours.current()
            if table.text(number, column) == NOTHING:
                return QColor(theme.text_faint)
            return QColor(theme.text_dim if table.rows[number].kind is RowKind.OPERATION else theme.text)
        return None


class ProfileView(QTreeView):
    """A tree in which a click or the arrow keys choose a node; a double click goes to it."""

    node_chosen = Signal(str)
    node_activated = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rows = ProfileModel(self)
        self._folded: dict[str, bool] = {}  # the person's folded and unfolded rows, by key
        self._selected: frozenset[str] = frozenset()
        self._follows = False  # True while `_select` sets the current row, which emits nothing then
        self.setModel(self.rows)
        self.setAccessibleName("Times of each block")
        self.setUniformRowHeights(True)
        self.setIndentation(14)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setExpandsOnDoubleClick(False)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionsMovable(False)
        header.setMinimumSectionSize(48)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for section in range(1, len(COLUMNS)):
            header.resizeSection(section, _NUMBER_WIDTH)
        self.setSortingEnabled(True)
        self.sortByColumn(COLUMNS.index(ProfileColumn.MEAN), Qt.SortOrder.DescendingOrder)
        self.expanded.connect(lambda index: self._note_fold(index, False))
        self.collapsed.connect(lambda index: self._note_fold(index, True))
        self.selectionModel().currentChanged.connect(self._choose)
        self.doubleClicked.connect(self._activate)
        self.activated.connect(self._activate)

    def show_profile(self, profile: Profile) -> None:
        """Show another frame, and keep the folding, the selection and the scroll position."""
        top = self.verticalScrollBar().value()
        if self.rows.show_profile(profile):
            self._unfold()
            self._select()
            self.verticalScrollBar().setValue(top)
        else:
            self.viewport().update()  # of a thousand rows, only the visible ones are read again

    def show_selection(self, nodes: frozenset[str]) -> None:
        """Select the row of a node that was selected elsewhere, and bring it into view."""
        if nodes == self._selected:
            return
        self._selected = nodes
        self._select()
        if self.currentIndex().isValid() and self._selected:
            self.scrollTo(self.currentIndex())

    def _select(self) -> None:
        """Select the row of the selected node, unless one of its rows is already selected."""
        table, current = self.rows.table, self.currentIndex()
        if current.isValid() and table.node(current.internalId()) in self._selected:
            return
        nodes = (number for number in range(len(table.rows)) if table.node(number))
        self._follows = True
        self.setCurrentIndex(self.rows.index_of(next((n for n in nodes if table.node(n) in self._selected), -1)))
        self._follows = False

    def _unfold(self) -> None:
        """Unfold regions and composites, but not the kernels of blocks, unless the person has folded otherwise."""
        self.blockSignals(True)
        table = self.rows.table
        for number, children in table.children.items():
            if number >= 0 and children:
                usual = all(table.rows[child].kind is RowKind.OPERATION for child in children)
                if not self._folded.get(table.rows[number].key, usual):
                    self.expand(self.rows.index_of(number))
        self.blockSignals(False)

    def _note_fold(self, index: QModelIndex, folded: bool) -> None:
        self._folded[self.rows.table.rows[index.internalId()].key] = folded

    def _choose(self, index: QModelIndex) -> None:
        node = self.rows.table.node(index.internalId()) if index.isValid() else ""
        if node and not self._follows:
            self._selected = frozenset({node})
            self.node_chosen.emit(node)

    def _activate(self, index: QModelIndex) -> None:
        if node := self.rows.table.node(index.internalId()):
            self.node_activated.emit(node)
