"""The problem list: what keeps the patch from running, and where to fix it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
)

from app.edits.remedies import Remedy, remedies
from app.theme import colours
from app.theme.icons import icon
from app.view_models.op_problems import place_title, with_op_problems
from app.widgets.button_row import ButtonRow
from app.widgets.empty_state import EmptyState
from app.widgets.tooltip import as_html
from engine.diagnostics import Diagnostic, Severity
from engine.patch.changes import Change, NodeRenamed
from engine.patch.document import Patch

#: Buttons for more rows than a person reads would cost time at every change.
_MOST_WITH_BUTTONS = 50
_CELL_PADDING = 4  # pixels left and right of what is in a cell, by the window's style
_ROLE = Qt.ItemDataRole.UserRole
_FILE, _REMEDY, _BUTTONS = 2, 3, 4  # columns after the problem and its block


class Problems(EmptyState):
    """A row for each diagnostic, errors first; a double click goes to its node, or opens its file."""

    #: Go to this node.
    node_activated = Signal(str)
    #: How many errors and warnings there are, and how much blocks still wait for.
    counted = Signal(int, int, int)
    #: A `Remedy` of one of the problems.
    remedy_chosen = Signal(Remedy)

    def __init__(self) -> None:
        self.list = QTreeWidget()
        super().__init__(self.list, "No problems")
        self.list.setHeaderLabels(["Problem", "Block", "File", "What to do", ""])
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, self.list.columnCount()):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        header.setMaximumSectionSize(480)
        self.list.setItemDelegateForColumn(_FILE, _FileDelegate(self.list))
        self.list.itemActivated.connect(self._on_activated)
        self._shown: tuple[Diagnostic, ...] = ()
        self._listed: list[Diagnostic] = []  # the same, with the problems of op graphs at their ops
        self._patch: Patch | None = None
        self._unsubscribe: Callable[[], None] = lambda: None

    def set_patch(self, patch: Patch | None) -> None:
        """Show the problems of another patch, which has none until it runs."""
        self._unsubscribe()
        self._patch = patch
        self._unsubscribe = patch.subscribe(self._on_change) if patch is not None else lambda: None
        self.show_diagnostics(())

    def show_diagnostics(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Show these diagnostics in place of the present ones."""
        if diagnostics == self._shown:
            return
        self._shown = diagnostics
        self._listed = with_op_problems(self._patch, diagnostics) if self._patch is not None else list(diagnostics)
        self._fill()
        ranks = [_rank(item) for item in self._listed]
        self.counted.emit(*map(ranks.count, range(3)))

    def refresh_icons(self) -> None:
        """Show the icons in another theme's colours."""
        self._fill()

    def _on_change(self, change: Change) -> None:
        if isinstance(change, NodeRenamed) and any(item.node == change.node for item in self._shown):
            self._fill()

    def _fill(self) -> None:
        self.list.clear()
        ordered = sorted(self._listed, key=_rank)
        rows = [self._row(diagnostic) for diagnostic in ordered]
        self.list.addTopLevelItems(rows)
        for diagnostic, row in list(zip(ordered, rows, strict=True))[:_MOST_WITH_BUTTONS]:
            self._add_buttons(diagnostic, row)
        self.list.setRootIsDecorated(any(row.childCount() for row in rows))
        self.list.setColumnHidden(_FILE, not any(item.file for item in self._listed))
        self.list.setColumnHidden(_REMEDY, not any(item.remedy for item in self._listed))
        self.set_filled(bool(self._shown))

    def _row(self, diagnostic: Diagnostic) -> QTreeWidgetItem:
        place = diagnostic.node or ""
        if self._patch is not None:
            place = place_title(self._patch, place)
        if diagnostic.port:
            place += f", {diagnostic.port}"
        message, details = _headline(diagnostic)
        texts = [message, place, _place_in_file(diagnostic), diagnostic.remedy]
        row = QTreeWidgetItem(texts)
        for detail in details:
            child = QTreeWidgetItem(row, [detail])
            child.setData(0, _ROLE, (None if diagnostic.file else diagnostic.node, diagnostic.file))
        tokens = colours.current()
        drawn, colour = (("error", tokens.error), ("warning", tokens.warning), ("incomplete", tokens.text_dim))[
            _rank(diagnostic)
        ]
        row.setIcon(0, icon(drawn, colour))
        for column, text in enumerate((str(diagnostic), *texts[1:])):
            row.setToolTip(column, as_html(text) if text else "")
        row.setData(0, _ROLE, (diagnostic.node, diagnostic.file))
        return row

    def _add_buttons(self, diagnostic: Diagnostic, row: QTreeWidgetItem) -> None:
        """Put a button for each remedy that one click does at the end of the row."""
        found = remedies(self._patch, diagnostic) if self._patch is not None else []
        if found:
            buttons = ButtonRow()
            self.list.setItemWidget(row, _BUTTONS, buttons)  # before it is shown, or it would be a window
            buttons.show_buttons((remedy.title, partial(self.remedy_chosen.emit, remedy)) for remedy in found)
            for button in buttons.buttons:
                button.ensurePolished()  # the window's style makes it wider, which the column must know
            row.setSizeHint(_BUTTONS, QSize(buttons.sizeHint().width() + 2 * _CELL_PADDING, 0))

    def _on_activated(self, row: QTreeWidgetItem) -> None:
        node, file = row.data(0, _ROLE)
        if node is not None:
            self.node_activated.emit(node)
        elif file is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(file))


def _rank(diagnostic: Diagnostic) -> int:
    """Return 0 for an error, 1 for a warning, and 2 for what a block only waits for."""
    if diagnostic.is_incomplete:
        return 2
    return 0 if diagnostic.severity is Severity.ERROR else 1


def _headline(diagnostic: Diagnostic) -> tuple[str, list[str]]:
    """Return the line that a row has room for, and the rest of a compiler's message without the code it quotes.

    A line that only announces others is left out; the tooltip has it.
    """
    first, *rest = [line for line in diagnostic.message.splitlines() if not line.startswith(" ")] or [""]
    if rest and first.endswith(":"):
        first = rest.pop(0)
    return first, rest


def _place_in_file(diagnostic: Diagnostic) -> str:
    """Return "blur.cu:12"; the file's name alone where no line is known."""
    line = f":{diagnostic.line}" if diagnostic.line else ""
    return f"{Path(diagnostic.file).name}{line}" if diagnostic.file else ""


class _FileDelegate(QStyledItemDelegate):
    """Shortens a name that is too long in its middle, so that the line can always be read."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle
