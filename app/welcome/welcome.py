"""The welcome page: examples, a new patch, recent files."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from PySide6.QtCore import QEvent, QMargins, QMimeData, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
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
        self._head.setLayout(self._make_head())
        column.addWidget(self._head)
        self._recent_title = _label("Recent", "sectionTitle")
        column.addWidget(self._recent_title)
        self.recent = QVBoxLayout(spacing=4)
        column.addLayout(self.recent)
        self._cards: list[ExampleCard] = []
        self._grids: list[tuple[QGridLayout, list[ExampleCard]]] = []
        self._columns = 0
        for theme, found in groupby(examples, lambda example: example.theme):
            column.addWidget(_label(theme or (_OTHERS if self._cards else "Examples"), "sectionTitle"))
            column.addLayout(self._make_cards(list(found)))
        if not examples:
            column.addWidget(_label("No examples are installed", "faint"))
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

    def _make_head(self) -> QHBoxLayout:
        row = QHBoxLayout(contentsMargins=QMargins(), spacing=8)
        words = QVBoxLayout(spacing=4)
        words.addWidget(_label("Warploom", "pageTitle"))
        summary = _label("Connect blocks on a canvas, and see at once what the GPU makes of them", "faint")
        summary.setWordWrap(True)
        words.addWidget(summary)
        row.addLayout(words, 1)
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

    def _make_cards(self, examples: Sequence[Example]) -> QGridLayout:
        grid, cards = QGridLayout(spacing=_SPACING), list[ExampleCard]()
        for example in examples:
            card = ExampleCard(example)
            card.clicked.connect(lambda _=False, path=example.path: self.example_requested.emit(path))
            cards.append(card)
        self._cards += cards
        self._grids.append((grid, cards))
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
        for grid, cards in self._grids:
            grid.setColumnStretch(self._columns, 0)
            grid.setColumnStretch(columns, 1)
            for place, card in enumerate(cards):
                grid.removeWidget(card)
                grid.addWidget(card, place // columns, place % columns)
        self._columns = columns
        self._head.setFixedWidth(width)

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
