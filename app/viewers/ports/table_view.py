"""A port as a table of any size: only the rows in view are read from the engine."""

from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QMargins, QMimeData, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView, QVBoxLayout, QWidget

from warploom.app.view_models.looking.numbers import element_text
from warploom.app.viewers.ports.port_view import MAIN, PortView
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Sample, Sampling

_RATE = 8.0
#: Rows are read in pages, and around those in view.
_PAGE = 64
#: Qt counts rows in 32 bits; a table shows so many, and columns, at most.
_MOST_ROWS, _MOST_COLUMNS = 10_000_000, 512
_Index = QModelIndex | QPersistentModelIndex


class _Model(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.shape: tuple[int, int] = (0, 0)
        self.fields: list[tuple[str, int | None]] = []
        self.components: list[str] = []
        self.first_row = 0
        self.page: np.ndarray[Any, Any] | None = None

    def rowCount(self, parent: _Index | None = None) -> int:
        return self.shape[0] if parent is None or not parent.isValid() else 0

    def columnCount(self, parent: _Index | None = None) -> int:
        return self.shape[1] if parent is None or not parent.isValid() else 0

    def cell(self, row: int, column: int) -> Any:
        """Return the element of a cell; None if it was not read yet."""
        at = row - self.first_row
        if self.page is None or not 0 <= at < len(self.page):
            return None
        if self.fields:
            field, index = self.fields[column]
            element = self.page[at][field]
            return element if index is None else element[index]
        element = self.page[at]
        return element[column] if self.page.ndim > 1 else element

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        cell = self.cell(index.row(), index.column())
        return "" if cell is None else element_text(cell)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation is Qt.Orientation.Vertical:
            return str(section)
        names = [_column(*each) for each in self.fields] or self.components
        return names[section] if section < len(names) else str(section)


def _digits(cell: Any) -> str:
    """Return a number, or those of a vector, with all digits."""
    return " ".join(map(str, np.ravel(cell)))


def _columns(dtype: np.dtype[Any]) -> list[tuple[str, int | None]]:
    """Return the columns of a struct: a field, or a component of a vector in it."""
    found: list[tuple[str, int | None]] = []
    for name in dtype.names or ():
        shape = dtype[name].shape
        found += [(name, index) for index in range(shape[0])] if len(shape) == 1 else [(name, None)]
    return found


def _column(field: str, index: int | None) -> str:
    return field if index is None else f"{field} {'xyzw'[index] if index < 4 else index}"


class TableView(PortView):
    """Rows are the first axis; columns are the second one, the components of a vector, or the fields of a struct."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self._model = QTableView(tabKeyNavigation=False), _Model()
        self.table.setModel(self._model)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.verticalHeader().setDefaultSectionSize(20)
        self.table.verticalScrollBar().valueChanged.connect(self.wanted)
        QVBoxLayout(self, contentsMargins=QMargins()).addWidget(self.table)
        self._rows = 0

    def begin(self) -> None:
        """Show nothing until the next sample."""
        self._model.beginResetModel()
        self._model.shape, self._model.page = (0, 0), None
        self._model.fields, self._model.components = [], []
        self._model.endResetModel()

    def name_columns(self, columns: tuple[str, ...]) -> None:
        """Show names of a table's columns above them."""
        if columns != self.columns:
            super().name_columns(columns)
            self._model.components = self._heads(self._model.columnCount())
            self._model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, max(self._model.columnCount() - 1, 0))

    def _heads(self, count: int) -> list[str]:
        return list(self.columns[:count]) or (["value"] if count == 1 else [])

    @property
    def body(self) -> QWidget:
        """What shows the contents."""
        return self.table

    def samplings(self, port: PortRef, dtype: str, shape: tuple[int, ...]) -> dict[str, Sampling]:
        """Return the rows in view with a page around them."""
        self._rows = min(shape[0], _MOST_ROWS) if shape else 1
        first = max(0, self.table.rowAt(0))
        last = self.table.rowAt(max(self.table.viewport().height() - 1, 0))
        last = last if last >= 0 else first + self.table.viewport().height() // 20
        begin = max(0, (first // _PAGE - 1) * _PAGE)
        end = min(self._rows, (last // _PAGE + 2) * _PAGE)
        part: tuple[tuple[int, int], ...] = ((begin, max(end, begin)),) if shape else ()
        if len(shape) > 1:
            part = (*part, *((0, 1) for _ in shape[1:-1]), (0, min(shape[-1], _MOST_COLUMNS)))
        return {MAIN: Sampling(port, part, rate=_RATE)}

    def show_sample(self, name: str, sample: Sample) -> None:
        """Show a page of the table."""
        assert sample.data is not None
        data, axes = sample.data, len(sample.shape)
        fields = _columns(data.dtype)
        components: list[str] = []
        if axes == 0:
            data = data.reshape(1)
        elif not fields and axes == 1 and data.ndim == 2:
            components = list("xyzw"[: data.shape[1]] if data.shape[1] <= 4 else map(str, range(data.shape[1])))
        elif axes > 1:
            rest = data.shape[1:axes]
            data = data.reshape(data.shape[0], int(np.prod(rest)), *data.shape[axes:])
        columns = len(fields) or (1 if data.ndim < 2 else data.shape[1])
        shape = min(sample.shape[0], _MOST_ROWS) if sample.shape else 1, columns
        components = components or self._heads(columns)
        model = self._model
        if (shape, fields, components) != (model.shape, model.fields, model.components):
            model.beginResetModel()
            model.shape, model.fields, model.components = shape, fields, components
            model.endResetModel()
        model.page, model.first_row = data, sample.part[0][0] if sample.part else 0
        model.dataChanged.emit(model.index(0, 0), model.index(shape[0] - 1, shape[1] - 1), [])
        self.probed.emit("")

    def copied(self) -> QMimeData:
        """Return the selected cells, or those of all rows that were read, with all digits: a line of text for each row.

        Rows out of view, which were not read, are left out.
        """
        model, data = self._model, QMimeData()
        page = 0 if model.page is None else len(model.page)
        chosen = {(index.row(), index.column()) for index in self.table.selectedIndexes()}
        rows = {row for row, _ in chosen} or set(range(model.first_row, model.first_row + page))
        columns = {column for _, column in chosen} or set(range(model.columnCount()))
        cells = [[model.cell(row, column) for column in sorted(columns)] for row in sorted(rows)]
        read = (row for row in cells if all(cell is not None for cell in row))
        data.setText("\n".join("\t".join(map(_digits, row)) for row in read))
        return data

    def resizeEvent(self, event: Any) -> None:
        """Request the rows that have come into view."""
        super().resizeEvent(event)
        self.wanted.emit()
