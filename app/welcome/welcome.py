"""The welcome page: examples, a new patch, recent files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from PySide6.QtCore import QEvent, QMargins, QMimeData, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from warploom.app.canvas.incoming import files_of, is_incoming, patch_of
from warploom.app.documents.gallery import Example
from warploom.app.welcome.example_card import ExampleCard, card_width

_SPACING, _MARGIN = 16, 24
_MOST_COLUMNS = 4
_OTHERS = "More"  # the heading of examples without a theme, below others


@dataclass(frozen=True)
class _Theme:
    """A heading and the cards below it."""

    heading: QLabel
    grid: QGridLayout
    cards: list[ExampleCard]


class Welcome(QScrollArea):
    """The page while no patch is open. A patch that is dropped on it is opened; a new one begins with other files."""

    #: The person wants to open a patch.
    open_requested = Signal(Path)
    example_requested = Signal(Path)
    new_requested = Signal()
    browse_requested = Signal()
    tour_requested = Signal()
    #: Files or a picture were dropped; the data are valid during the call.
    dropped = Signal(QMimeData)

    def __init__(self, examples: Sequence[Example]) -> None:
        super().__init__()
        self.setObjectName("welcome")
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAcceptDrops(True)
        page = QWidget(objectName="welcomePage")
        outer = QHBoxLayout(page, contentsMargins=QMargins(), spacing=0)
        outer.addStretch(1)
        column = QVBoxLayout(contentsMargins=QMargins(_MARGIN, 32, _MARGIN, 32), spacing=_SPACING)
        outer.addLayout(column)
        outer.addStretch(1)
        self._head = QWidget()
        self._head.setLayout(self._make_head(has_examples=bool(examples)))
        column.addWidget(self._head)
        self._recent_title = _label("Recent", "sectionTitle")
        column.addWidget(self._recent_title)
        self.recent = QVBoxLayout(spacing=4)
        column.addLayout(self.recent)
        self._cards: list[ExampleCard] = []
        self._themes: list[_Theme] = []
        self._columns = 0
        for theme, found in groupby(examples, lambda example: example.theme):
            heading = _label(theme or (_OTHERS if self._cards else "Examples"), "sectionTitle")
            column.addWidget(heading)
            column.addLayout(self._make_cards(heading, list(found)))
        self._nothing = _label("" if examples else "No examples are installed", "faint")
        self._nothing.setVisible(not examples)
        column.addWidget(self._nothing)
        column.addStretch(1)
        self.setWidget(page)
        self.show_recent([])

    def show_recent(self, paths: Sequence[Path]) -> None:
        """List the recent files."""
        while (item := self.recent.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for path in paths:
            button = QPushButton(f"{path.stem}    {_home_relative(path.parent)}", flat=True)
            button.setObjectName("link")
            button.setToolTip(str(path))
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.clicked.connect(lambda _=False, path=path: self.open_requested.emit(path))
            self.recent.addWidget(button)
        self._recent_title.setVisible(bool(paths))
        # A person who has opened no patch yet is offered the tour first.
        self._new.setDefault(bool(paths))
        self._tour.setDefault(not paths)

    def _make_head(self, *, has_examples: bool) -> QHBoxLayout:
        row = QHBoxLayout(contentsMargins=QMargins(), spacing=8)
        words = QVBoxLayout(spacing=4)
        words.addWidget(_label("Warploom", "pageTitle"))
        summary = _label("Connect blocks on a canvas, and see at once what the GPU makes of them", "faint")
        summary.setWordWrap(True)
        words.addWidget(summary)
        row.addLayout(words, 1)
        self.filter = QLineEdit(placeholderText="Find: fluid, sound, a block …", clearButtonEnabled=True)
        self.filter.setAccessibleName("Find an example")
        self.filter.setToolTip("Words of an example's title, its description or its blocks; Enter opens the first one")
        self.filter.setVisible(has_examples)
        self.filter.textChanged.connect(self._show_found)
        self.filter.returnPressed.connect(self._open_found)
        words.addSpacing(8)
        words.addWidget(self.filter, alignment=Qt.AlignmentFlag.AlignLeft)
        new, browse = QPushButton("New patch"), QPushButton("Open …")
        new.clicked.connect(self.new_requested)
        browse.clicked.connect(self.browse_requested)
        tour = QPushButton("Tour, 3 minutes", toolTip="Make the first patch step by step")
        self._new, self._tour = new, tour
        tour.clicked.connect(self.tour_requested)
        row.addWidget(tour, alignment=Qt.AlignmentFlag.AlignBottom)
        row.addWidget(browse, alignment=Qt.AlignmentFlag.AlignBottom)
        row.addWidget(new, alignment=Qt.AlignmentFlag.AlignBottom)
        return row

    def _make_cards(self, heading: QLabel, examples: Sequence[Example]) -> QGridLayout:
        grid, cards = QGridLayout(spacing=_SPACING), list[ExampleCard]()
        for example in examples:
            card = ExampleCard(example)
            card.clicked.connect(lambda _=False, path=example.path: self.example_requested.emit(path))
            cards.append(card)
        self._cards += cards
        self._themes.append(_Theme(heading, grid, cards))
        return grid

    def _fit_cards(self) -> None:
        """Make all cards as high as the highest one needs."""
        height = max((card.fit() for card in self._cards), default=0)
        for card in self._cards:
            card.setFixedHeight(height)
        self._place_cards()

    def _place_cards(self) -> None:
        """Place the cards of each theme in as many columns as there is room for."""
        room = self.viewport().width() - 2 * _MARGIN + _SPACING
        columns = min(max(room // (card_width() + _SPACING), 1), _MOST_COLUMNS)
        width = columns * (card_width() + _SPACING) - _SPACING
        if (columns, width) == (self._columns, self._head.minimumWidth()):
            return
        for theme in self._themes:
            theme.grid.setColumnStretch(self._columns, 0)
            theme.grid.setColumnStretch(columns, 1)
        self._columns = columns
        self._head.setFixedWidth(width)
        self.filter.setFixedWidth(card_width())
        self._show_found()

    def _show_found(self) -> None:
        """Show the cards with the typed words, without gaps between them."""
        text, count = self.filter.text(), 0
        if not self._columns:
            return  # the page is not shown yet
        for theme in self._themes:
            found = [card for card in theme.cards if card.example.has_words(text)]
            for card in theme.cards:
                theme.grid.removeWidget(card)
                card.setVisible(card in found)
            for place, card in enumerate(found):
                theme.grid.addWidget(card, place // self._columns, place % self._columns)
            theme.heading.setVisible(bool(found))
            count += len(found)
        if self._cards:
            self._nothing.setText(f"No example has “{text}”: in its title, its description, or one of its blocks")
            self._nothing.setVisible(not count)

    def _open_found(self) -> None:
        """Open the first example with the typed words."""
        if self.filter.text():
            first = next((card for card in self._cards if not card.isHidden()), None)
            if first is not None:
                first.click()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the cards in the new width."""
        super().resizeEvent(event)
        self._place_cards()

    def showEvent(self, event: QShowEvent) -> None:
        """Fit the cards to the present font."""
        super().showEvent(event)
        self._fit_cards()

    def changeEvent(self, event: QEvent) -> None:
        """Fit the cards to another size of the editor."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self.isVisible():
            QTimer.singleShot(0, self, self._fit_cards)  # when the labels have the font too

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and pictures."""
        event.setAccepted(is_incoming(event.mimeData()))

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Accept them anywhere on the page."""
        event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the patch, or begin one with what was dropped."""
        event.acceptProposedAction()
        if (path := patch_of(files_of(event.mimeData()))) is not None:
            self.open_requested.emit(path)
        else:
            self.dropped.emit(event.mimeData())


def _label(text: str, name: str) -> QLabel:
    return QLabel(text, objectName=name)


def _home_relative(path: Path) -> str:
    home = Path.home()
    return Path("~", path.relative_to(home)).as_posix() if path.is_relative_to(home) else str(path)
