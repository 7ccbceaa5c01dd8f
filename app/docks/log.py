"""The log: messages of the editor and of its engine, even in another process, filtered by level and text."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import (
    QMargins,
    Qt,
    QTimer,
    QUrl,
    Signal,
)
from PySide6.QtGui import QDesktopServices, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QToolButton, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.qt.copy_key import CopyKey
from warploom.app.theme import colours
from warploom.app.theme.icons import icon
from warploom.app.view_models.lists.log_lines import LEVELS, Line, dropped, merge
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.list_table import ListModel, RowFilter, make_table
from warploom.app.widgets.tooltip import as_html
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.logs import LogBuffer, Logged, attach, detach, set_level
from warploom.engine.protocol.messages import Frozen, Saved

_log = logging.getLogger("warploom.app.editor")
_PERIOD_MS = 100
_WIDTHS = {0: 104, 1: 80, 2: 168}


class _LogRows(ListModel[Line]):
    HEADERS = ("Time", "Level", "Where", "Message")
    LEVEL, MESSAGE = 1, 3

    def add_records(self, records: Iterable[Logged]) -> None:
        """Add the newest records; the last line counts those that repeat it."""
        last = len(self.rows) - 1
        lines = merge(self.rows[-1] if self.rows else None, records)
        if self.rows:
            self.rows[-1] = lines.pop(0)
            self.dataChanged.emit(self.index(last, 0), self.index(last, self.MESSAGE), [])
        self.add(lines)

    def texts(self, row: Line) -> Sequence[str]:
        return row.texts

    def tooltip(self, row: Line, column: int) -> str:
        return as_html(row.details)

    def colour(self, row: Line, column: int) -> str:
        tokens, level = colours.current(), row.record.level
        if column == self.LEVEL and level >= logging.WARNING:
            return tokens.error if level >= logging.ERROR else tokens.warning
        return tokens.text if column == self.MESSAGE and level >= logging.INFO else tokens.text_dim


class Log(EmptyState, Dock):
    """A list of log lines. The newest is last, and stays in view until the person scrolls away from the end.

    Then the list does not scroll, and a button shows the number of new lines. A hidden list takes no records: they wait
    in a buffer of limited size.
    """

    name, title = "log", "Log"

    noted = Signal(str)  # a line for the status bar

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, "Messages of the editor and its engine are listed here")
        #: The folder of the log file.
        self.folder = Path()
        self._buffer = LogBuffer()
        attach(self._buffer)
        self.destroyed.connect(partial(detach, self._buffer))
        self._rows = _LogRows(self)
        self._shown = RowFilter(self._rows)
        self.level = QComboBox(toolTip="Show messages of this level and above")
        self.level.setAccessibleName("Level of the log")
        for level, title in LEVELS.items():
            self.level.addItem(title, level)
        self.level.setCurrentIndex(list(LEVELS).index(logging.INFO))
        self.filter = QLineEdit(placeholderText="Filter the log", clearButtonEnabled=True)
        self.filter.setAccessibleName("Filter the log")
        self.news = QToolButton(autoRaise=True, objectName="newLines", toolTip="Go to the end and follow new messages")
        self.news.clicked.connect(self._follow)
        buttons = (
            self._button("copy", "Copy the selected lines, or all listed lines", self.copy),
            self._button("folder", "Open the folder of the log file", self._open_folder),
            self._button("clear", "Clear the list; the log file stays", self.clear),
        )
        self.table = make_table(self._shown, "Log", _WIDTHS, _LogRows.MESSAGE)
        CopyKey(self.table, self.copy)
        self._follows = True  # whether the newest line stays in view
        self._scroll_bar = self.table.verticalScrollBar()
        self._scroll_bar.valueChanged.connect(self._on_scrolled)
        self._scroll_bar.rangeChanged.connect(self._on_range_changed)
        self.level.currentIndexChanged.connect(self._choose)
        self.filter.textChanged.connect(self._choose)
        bar = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0), spacing=4)
        bar.addWidget(self.level)
        bar.addWidget(self.filter, 1)
        for button in (self.news, *buttons):
            bar.addWidget(button)
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addLayout(bar)
        column.addWidget(self.table)
        self._timer = QTimer(self, interval=_PERIOD_MS)
        self._timer.timeout.connect(self._poll)
        self.news.hide()

    def follow(self, editor: Editor) -> None:
        """List messages from all parts of the editor."""
        self.folder = editor.folder
        editor.bridge.saved.connect(self.add_saved)
        editor.bridge.frozen.connect(self.add_frozen)
        editor.bridge.failed.connect(self.add_diagnostic)
        editor.session.engine_failed.connect(self.add_error)
        for spoken in (editor.files.noted, editor.canvas.refused, editor.kernel.refused):
            spoken.connect(self.add_message)

    @property
    def lines(self) -> list[Line]:
        """All lines, oldest first, including the latest records."""
        self._take()
        return list(self._rows.rows)

    def add_saved(self, saved: Saved) -> None:
        """Note a file that the engine has saved; its own record lists it."""
        self.noted.emit(f"Saved {saved.path}")

    def add_frozen(self, frozen: Frozen) -> None:
        """Note that the engine has paused after a frame; its own record lists it."""
        places = ", ".join(f"{item.node}.{item.port}" for item in frozen.reasons)
        self.noted.emit(f"Frame {frozen.frame} is frozen: values of {places} are wrong. Play continues.")

    def add_diagnostic(self, diagnostic: Diagnostic) -> None:
        """Note what the engine could not do; its own record lists it."""
        self.noted.emit(str(diagnostic))

    def add_message(self, text: str) -> None:
        """Log a message to the person, and note it."""
        _log.info("%s", text)
        self.noted.emit(text)

    def add_error(self, text: str) -> None:
        """Log an error, and note it."""
        _log.error("%s", text)
        self.noted.emit(text)

    def copy(self) -> None:
        """Copy the selected lines to the clipboard; without a selection, copy all listed lines."""
        rows = range(self._shown.rowCount())
        chosen = sorted(self.table.selectionModel().selectedRows()) or [self._shown.index(row, 0) for row in rows]
        lines: list[Line] = [index.data(Qt.ItemDataRole.UserRole) for index in chosen]
        QGuiApplication.clipboard().setText("\n".join(line.copied for line in lines))

    def clear(self) -> None:
        """Empty the list."""
        self._buffer.take()
        self._rows.set_rows(())
        self._follows = True
        self.set_filled(False)
        self._show_news()

    def end(self) -> None:
        """Stop listening to records."""
        detach(self._buffer)

    # Following

    def _on_scrolled(self, value: int) -> None:
        self._follows = value == self._scroll_bar.maximum()

    def _on_range_changed(self, _first: int, last: int) -> None:
        """Stay at the end when lines are added or the table changes its height.

        Qt reports the range before it moves.
        """
        self._follows = self._follows or self._scroll_bar.value() >= last
        if self._follows:
            self._scroll_bar.setValue(last)

    def _poll(self) -> None:
        if self._follows:
            self._take()
        self._show_news()

    def _take(self) -> None:
        records, gone = self._buffer.take()
        if records:
            self._rows.add_records((dropped(gone), *records) if gone else records)
            self.set_filled(True)
            if self._follows:
                self._go_to_end()

    def _go_to_end(self) -> None:
        self._follows = True
        self.table.scrollToBottom()

    def _follow(self) -> None:
        self._take()
        self._go_to_end()
        self._show_news()

    def _show_news(self) -> None:
        waiting = self._buffer.waiting
        self.news.setText(f"{waiting:,} new ↓")
        self.news.setVisible(waiting > 0)

    def _choose(self) -> None:
        """Follow the chosen level and text; only "Everything" enables all records."""
        level, text = self.level.currentData(), self.filter.text().casefold()
        set_level(self._buffer, min(level, logging.INFO))
        self._shown.choose(lambda line: line.fits(level, text))
        self._go_to_end()

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.folder)))

    def _button(self, name: str, text: str, act: Callable[[], None]) -> QToolButton:
        button = QToolButton(autoRaise=True, objectName="listButton", icon=icon(name), toolTip=text)
        button.setAccessibleName(text)
        button.clicked.connect(act)
        return button

    # Qt

    def showEvent(self, event: QShowEvent) -> None:
        """List the records that arrived while the list was hidden, and continue."""
        super().showEvent(event)
        self._poll()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Let new records wait."""
        super().hideEvent(event)
        self._timer.stop()
