"""The problem list: everything that keeps the patch from running, and where to fix it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from PySide6.QtCore import QEvent, QMargins, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.docks.dock import Dock, Editor
from warploom.app.edits.remedies import Remedy, remedies
from warploom.app.theme import colours
from warploom.app.theme.fonts import length
from warploom.app.theme.icons import icon
from warploom.app.view_models.lists.problems import (
    Problem,
    ProblemColumn,
    ProblemFilter,
    ProblemOrder,
    Rank,
    listed,
    rank_text,
)
from warploom.app.widgets.button_row import ButtonRow
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.list_table import RIGHT, Index, level_filter
from warploom.app.widgets.tooltip import as_html
from warploom.engine.diagnostics import Diagnostic, Sighting, Source, error
from warploom.engine.patch.changes import Change, NodeRenamed
from warploom.engine.patch.document import Patch

#: The most rows that get buttons. More would cost time at every change, and nobody reads that many.
_MOST_WITH_BUTTONS = 50
#: Below this width in pixels, the list shows only the problem, its block and the remedies.
_NARROW = 900
#: The largest share of the list for the column of remedies; tooltips have the full text.
_REMEDY_SHARE = 1 / 5
_ROW_HEIGHT = 26  # pixels; a button with its border fits
_CELL_PADDING = 4  # pixels left and right of a cell's content, from the window's style
_ROLE = Qt.ItemDataRole.UserRole
#: The place of a mistake in the text of a compiler.
_LINE = re.compile(r"^[^()]*\((\d+)\):")
_TITLES = ("Problem", "Block", "Source", "File", "What to do", "Count", "Last seen", "")
_BUTTONS = len(ProblemColumn)
_HINT = "No problems.\nErrors, warnings and incomplete blocks are listed here, with what to do"
_ICONS = {Rank.ERROR: "error", Rank.WARNING: "warning", Rank.INCOMPLETE: "incomplete"}
_RANK_HINTS = {
    Rank.ERROR: "Errors keep a block from running",
    Rank.WARNING: "Warnings: the patch runs, but something may be wrong",
    Rank.INCOMPLETE: "Incomplete blocks wait for a connection or a value",
}


class Problems(EmptyState, Dock):
    """A list with a row for each diagnostic, errors first; a double click goes to its node and its line of code.

    A click on a column's title sorts by it. A problem that frames no longer have is dimmed until it is removed.
    """

    name, title = "problems", "Problems"

    #: Go to this node.
    node_activated = Signal(str)
    #: Show this file, at a line if that is known.
    file_activated = Signal(str, cast("type[int | None]", object))
    #: The numbers of errors, warnings and incomplete blocks, regardless of the filter.
    counted = Signal(int, int, int)
    #: A `Remedy` of one of the problems.
    remedy_chosen = Signal(Remedy)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self.list = QTreeWidget()
        self.list.setHeaderLabels(_TITLES)
        self.list.setAccessibleName("Problems")
        self.list.headerItem().setTextAlignment(ProblemColumn.COUNT, RIGHT)
        self.list.headerItem().setToolTip(
            ProblemColumn.COUNT, "Number of frames with the problem, or how often it was reported"
        )
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.list.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(ProblemColumn.PROBLEM, QHeaderView.ResizeMode.Stretch)
        header.setMaximumSectionSize(480)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._sort_by)
        self.list.setItemDelegateForColumn(ProblemColumn.FILE, _FileDelegate(self.list))
        self.list.setItemDelegateForColumn(ProblemColumn.REMEDY, _RemedyDelegate(self.list))
        self.list.itemActivated.connect(self._on_activated)
        self.ranks = {
            rank: level_filter(f"{rank.name.lower()} problems", f"{hint}.\nClick to hide or show them", self._choose)
            for rank, hint in _RANK_HINTS.items()
        }
        self.source = QComboBox(toolTip="Show only the problems of one source")
        self.source.setAccessibleName("Source of the problems")
        self.source.activated.connect(self._choose)
        bar = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0), spacing=4)
        for button in self.ranks.values():
            bar.addWidget(button)
        bar.addSpacing(8)
        bar.addWidget(self.source)
        bar.addStretch(1)
        rows = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=2)
        rows.addLayout(bar)
        rows.addWidget(self.list)
        self._shown: tuple[Diagnostic, ...] = ()
        self._sightings: Sequence[Sighting] = ()
        self._is_behind = False  # whether the list has yet to show `_sightings`
        self._problems: list[Problem] = []  # all problems
        self._listed: list[Problem] = []  # those that pass the filter, as sorted
        self._filter, self._order = ProblemFilter(), ProblemOrder()
        self._patch = Patch()
        self._unsubscribe: Callable[[], None] = lambda: None

    def follow(self, editor: Editor) -> None:
        """Follow the engine's reports, and go to blocks."""
        editor.session.replaced.connect(self.set_patch)
        editor.session.engine_failed.connect(
            lambda text: self.show_diagnostics((error(text, source=Source.ENGINE),)),
        )
        editor.bridge.report.connect(lambda report: self.show_diagnostics(report.diagnostics, report.sightings))
        self.node_activated.connect(editor.kernel.go_to)
        self.file_activated.connect(lambda file, line: editor.open_file(Path(file), line))
        self.remedy_chosen.connect(editor.mend)

    def set_patch(self, patch: Patch | None) -> None:
        """Show the problems of another patch, which has none until it runs."""
        self._unsubscribe()
        self._patch = patch or Patch()
        self._unsubscribe = self._patch.subscribe(self._on_change)
        self.show_diagnostics(())

    def show_diagnostics(self, diagnostics: tuple[Diagnostic, ...], sightings: Sequence[Sighting] = ()) -> None:
        """Show these diagnostics instead of the current ones, with their sightings."""
        is_other = diagnostics != self._shown
        if not is_other and sightings == self._sightings:
            return
        self._shown, self._sightings = diagnostics, sightings
        self._is_behind = not (is_other or self.isVisible())
        if self._is_behind:
            return
        self._problems = listed(self._patch, diagnostics, sightings)
        self._arrange()
        if is_other:
            ranks = Counter(problem.rank for problem in self._problems)
            self.counted.emit(*(ranks[rank] for rank in Rank))
            self.setWindowTitle(f"{self.title} ({len(self._problems)})" if self._problems else self.title)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many columns as there is room for."""
        super().resizeEvent(event)
        self._choose_columns()

    def showEvent(self, event: QShowEvent) -> None:
        """Update the times at which problems were last seen, which stay unchanged while the list is hidden."""
        super().showEvent(event)
        if self._is_behind:
            self._is_behind = False
            self._problems = listed(self._patch, self._shown, self._sightings)
            self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        """Update the rows to another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._arrange()

    def _on_change(self, change: Change) -> None:
        if isinstance(change, NodeRenamed) and any(item.node == change.node for item in self._shown):
            self._arrange()

    def _arrange(self) -> None:
        """List the problems that pass the filter, in order; rows of unchanged problems stay, with new texts."""
        before = self._listed
        fitting = [problem for problem in self._problems if self._filter.fits(problem)]
        self._listed = self._order.sort(fitting, self._patch)
        if list(map(_kind, before)) == list(map(_kind, self._listed)):
            for index, problem in enumerate(self._listed):
                row = self.list.topLevelItem(index)
                assert row is not None
                self._write(problem, row)
        else:
            self._fill()
        self._choose_columns()
        self._count()
        self.set_filled(bool(self._shown))

    def _fill(self) -> None:
        self.list.clear()
        rows = [QTreeWidgetItem() for _ in self._listed]
        for problem, row in zip(self._listed, rows, strict=True):
            self._write(problem, row)
        self.list.addTopLevelItems(rows)
        for problem, row in list(zip(self._listed, rows, strict=True))[:_MOST_WITH_BUTTONS]:
            self._add_buttons(problem.diagnostic, row)
        self.list.setRootIsDecorated(any(row.childCount() for row in rows))

    def _choose_columns(self) -> None:
        """Hide empty columns and, in a narrow list, the least important ones, which tooltips show too."""
        is_narrow = self.width() < _NARROW
        is_seen_often = any(each.is_fading or each.is_repeated for each in self._listed)
        filled = {
            ProblemColumn.FILE: any(each.diagnostic.file for each in self._listed),
            ProblemColumn.REMEDY: any(each.diagnostic.remedy for each in self._listed),
            ProblemColumn.SOURCE: not is_narrow,
            ProblemColumn.COUNT: is_seen_often and not is_narrow,
            ProblemColumn.LAST_SEEN: is_seen_often and not is_narrow,
        }
        for column, is_shown in filled.items():
            self.list.setColumnHidden(column, not is_shown)

    def _write(self, problem: Problem, row: QTreeWidgetItem) -> None:
        """Write a problem into a row."""
        tokens, diagnostic, texts = colours.current(), problem.diagnostic, problem.texts(self._patch)
        colour = {Rank.ERROR: "error", Rank.WARNING: "warning"}.get(problem.rank, "text_dim")
        row.setIcon(ProblemColumn.PROBLEM, icon(_ICONS[problem.rank], "text_faint" if problem.is_fading else colour))
        history = problem.history
        for column, text in enumerate(texts):
            row.setText(column, text)
            is_plain = (
                column in (ProblemColumn.PROBLEM, ProblemColumn.BLOCK, ProblemColumn.REMEDY) and not problem.is_fading
            )
            row.setForeground(column, QBrush(QColor(tokens.text if is_plain else tokens.text_dim)))
            tip = text
            if column == ProblemColumn.PROBLEM:
                tip = "\n".join(filter(None, (str(diagnostic), f"Found by: {diagnostic.source}", history)))
            elif column in (ProblemColumn.COUNT, ProblemColumn.LAST_SEEN):
                tip = history
            row.setToolTip(column, as_html(tip) if tip else "")
        row.setTextAlignment(ProblemColumn.COUNT, RIGHT)
        row.setData(0, _ROLE, (diagnostic.node, diagnostic.file, diagnostic.line))
        for number, detail in enumerate(problem.details):
            child = row.child(number) or QTreeWidgetItem(row)
            child.setText(0, detail)
            line = next((int(found) for found in _LINE.findall(detail)), diagnostic.line)
            child.setData(0, _ROLE, (None if diagnostic.file else diagnostic.node, diagnostic.file, line))

    def _add_buttons(self, diagnostic: Diagnostic, row: QTreeWidgetItem) -> None:
        """Add a button for each one-click remedy to the end of the row."""
        found = remedies(self._patch, diagnostic, node_size)
        if found:
            buttons = ButtonRow()
            self.list.setItemWidget(row, _BUTTONS, buttons)  # before they are shown, which would open a window
            buttons.show_buttons((remedy.title, partial(self.remedy_chosen.emit, remedy)) for remedy in found)
            for button in buttons.buttons:
                button.ensurePolished()  # the window's style makes it wider, which the column must know
            row.setSizeHint(_BUTTONS, QSize(buttons.sizeHint().width() + 2 * _CELL_PADDING, 0))

    def _choose(self) -> None:
        ranks = frozenset(rank for rank, button in self.ranks.items() if button.isChecked())
        chosen = self.source.currentData()  # a plain str: Qt drops the class `Source`
        self._filter = ProblemFilter(ranks, Source(chosen) if chosen else None)
        self._arrange()

    def _sort_by(self, section: int) -> None:
        if section == _BUTTONS:
            return
        self._order = self._order.clicked(ProblemColumn(section))
        header, column = self.list.header(), self._order.column
        header.setSortIndicatorShown(column is not None)
        down = Qt.SortOrder.DescendingOrder if self._order.descending else Qt.SortOrder.AscendingOrder
        header.setSortIndicator(-1 if column is None else column, down)
        self._arrange()

    def _count(self) -> None:
        """Show on the filters the number of problems of each kind."""
        ranks = Counter(problem.rank for problem in self._problems)
        for rank, button in self.ranks.items():
            button.setText(rank_text(rank, ranks[rank]))
        sources = Counter(problem.diagnostic.source for problem in self._problems)
        offered: list[Source | None] = [None]
        offered += [each for each in Source if sources[each] or each is self._filter.source]
        names = [f"{each.capitalize()} ({sources[each]:,})" if each else "All sources" for each in offered]
        if names != [self.source.itemText(index) for index in range(self.source.count())]:
            self.source.clear()
            for each, name in zip(offered, names, strict=True):
                self.source.addItem(name, each)
            self.source.setCurrentIndex(offered.index(self._filter.source))

    def _on_activated(self, row: QTreeWidgetItem) -> None:
        node, file, line = row.data(0, _ROLE)
        if node is not None:
            self.node_activated.emit(node)
        if file is not None:
            self.file_activated.emit(file, line)


def _kind(problem: Problem) -> tuple[object, ...]:
    """Return the part of a problem that determines the buttons and the children of its row."""
    it = problem.diagnostic
    place = it.node, it.port, it.mend, it.expected, it.found, it.file
    return *place, problem.rank, len(problem.details)


class _RemedyDelegate(QStyledItemDelegate):
    """Leaves room for the problem's text, and makes rows high enough for buttons."""

    def __init__(self, view: QTreeWidget) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        whole = super().sizeHint(option, index)
        width = min(whole.width(), int(self._view.width() * _REMEDY_SHARE))
        return QSize(width, max(whole.height(), length(_ROW_HEIGHT)))


class _FileDelegate(QStyledItemDelegate):
    """Shortens a name that is too long in its middle, so that the line number stays readable."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle
