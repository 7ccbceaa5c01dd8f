"""The tables of the log and of the updates list."""

from collections.abc import Mapping

from PySide6.QtCore import QAbstractItemModel
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView


def make_table(model: QAbstractItemModel, name: str, widths: Mapping[int, int], stretched: int) -> QTableView:
    """Return a table to read: columns of fixed `widths` in pixels, and one that takes the rest."""
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
