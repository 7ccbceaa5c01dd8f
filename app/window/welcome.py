"""The welcome page: examples, a new patch, recent files."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from PySide6.QtCore import QMargins, QMimeData, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.documents.gallery import Example
from app.theme import colours
from engine.patch.files import SUFFIX

_CARD_WIDTH = 280
_PICTURE_HEIGHT = 136
_COLUMNS = 3
#: The size of a node in the picture, in units of the canvas; below, the zoom at which small patches are drawn.
_NODE = QSizeF(120, 72)
_LARGEST = 0.4


class Welcome(QScrollArea):
    """The page while no patch is open. A patch that is dropped on it is opened."""

    #: The person wants to open a patch.
    open_requested = Signal(Path)
    example_requested = Signal(Path)
    new_requested = Signal()
    browse_requested = Signal()

    def __init__(self, examples: Sequence[Example]) -> None:
        super().__init__()
        self.setObjectName("welcome")
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAcceptDrops(True)
        page = QWidget(objectName="welcomePage")
        outer = QHBoxLayout(page)
        outer.addStretch(1)
        column = QVBoxLayout(contentsMargins=QMargins(24, 40, 24, 40), spacing=24)
        outer.addLayout(column)
        outer.addStretch(1)
        column.addLayout(self._make_head())
        self._recent_title = _label("Recent", "sectionTitle")
        column.addWidget(self._recent_title)
        self.recent = QVBoxLayout(spacing=4)
        column.addLayout(self.recent)
        column.addWidget(_label("Examples", "sectionTitle"))
        column.addLayout(self._make_cards(examples))
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

    def _make_head(self) -> QHBoxLayout:
        row = QHBoxLayout(spacing=8)
        words = QVBoxLayout(spacing=4)
        words.addWidget(_label("Warploom", "pageTitle"))
        words.addWidget(_label("Patch GPU pipelines live", "faint"))
        row.addLayout(words)
        row.addStretch(1)
        new, browse = QPushButton("New patch"), QPushButton("Open …")
        new.setDefault(True)
        new.setObjectName("primary")
        new.clicked.connect(self.new_requested)
        browse.clicked.connect(self.browse_requested)
        row.addWidget(browse, alignment=Qt.AlignmentFlag.AlignBottom)
        row.addWidget(new, alignment=Qt.AlignmentFlag.AlignBottom)
        return row

    def _make_cards(self, examples: Sequence[Example]) -> QGridLayout:
        grid = QGridLayout(spacing=16)
        self._cards: list[ExampleCard] = []
        for index, example in enumerate(examples):
            card = ExampleCard(example)
            card.clicked.connect(lambda _=False, path=example.path: self.example_requested.emit(path))
            self._cards.append(card)
            grid.addWidget(card, index // _COLUMNS, index % _COLUMNS)
        if not examples:
            grid.addWidget(_label("No examples are installed", "faint"), 0, 0)
        grid.setColumnStretch(_COLUMNS, 1)
        return grid

    # Qt

    def showEvent(self, event: QShowEvent) -> None:
        """Make all cards as high as the highest one needs in the present font."""
        super().showEvent(event)
        height = max((card.heightForWidth(_CARD_WIDTH) for card in self._cards), default=0)
        for card in self._cards:
            card.setFixedHeight(height)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept a patch."""
        event.setAccepted(_dropped_patch(event.mimeData()) is not None)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Accept the patch anywhere on the page."""
        event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the patch."""
        path = _dropped_patch(event.mimeData())
        if path is not None:
            event.acceptProposedAction()
            self.open_requested.emit(path)


class ExampleCard(QAbstractButton):
    """A card with a drawing of the example's graph, in the colours of categories, its title and its description."""

    def __init__(self, example: Example) -> None:
        super().__init__()
        self._example = example
        self.setText(example.title)
        self.setFixedWidth(_CARD_WIDTH)
        self.setAccessibleName(f"Open example {example.title}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        column = QVBoxLayout(self, contentsMargins=QMargins(16, _PICTURE_HEIGHT + 12, 16, 12), spacing=4)
        title, text = _label(example.title, "cardTitle"), _label(example.description, "faint")
        text.setWordWrap(True)
        text.setAlignment(Qt.AlignmentFlag.AlignTop)
        for label in (title, text):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column.addWidget(title)
        column.addWidget(text, 1)
        self.setToolTip(example.description)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card and the graph."""
        tokens = colours.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        active = self.underMouse() or self.hasFocus()
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        outline = QPainterPath()
        outline.addRoundedRect(frame, 8, 8)
        painter.fillPath(outline, QColor(tokens.control))
        painter.save()
        painter.setClipPath(outline)
        picture = QRectF(0, 0, self.width(), _PICTURE_HEIGHT)
        painter.fillRect(picture, QColor(tokens.canvas))
        self._draw_graph(painter, picture.adjusted(16, 16, -16, -16))
        painter.restore()
        painter.setPen(QPen(QColor(tokens.accent if active else tokens.border), 1))
        painter.drawPath(outline)
        painter.end()

    def _draw_graph(self, painter: QPainter, area: QRectF) -> None:
        boxes = self._example.boxes
        if not boxes:
            return
        tokens = colours.current()
        corners = [QRectF(QPointF(*position), _NODE) for position in boxes.values()]
        whole = reduce(QRectF.united, corners)
        scale = min(area.width() / whole.width(), area.height() / whole.height(), _LARGEST)
        painter.translate(area.center())
        painter.scale(scale, scale)
        painter.translate(-whole.center())
        painter.setPen(QPen(QColor(tokens.text_faint), 1.5 / scale))
        middle = QPointF(0, _NODE.height() / 2)
        for source, target in self._example.lines:
            if source in boxes and target in boxes:
                start = QPointF(*boxes[source]) + QPointF(_NODE.width(), 0) + middle
                end = QPointF(*boxes[target]) + middle
                bend = max(40.0, abs(end.x() - start.x()) / 2)
                path = QPainterPath(start)
                path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end)
                painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        for node, box in zip(boxes, corners, strict=True):
            tint = colours.category_tint(self._example.categories[node], tokens)
            painter.setBrush(QColor(colours.mix(tint, tokens.text, 0.2)))
            painter.drawRoundedRect(box, 8, 8)


def _label(text: str, name: str) -> QLabel:
    return QLabel(text, objectName=name)


def _home_relative(path: Path) -> str:
    home = Path.home()
    return Path("~", path.relative_to(home)).as_posix() if path.is_relative_to(home) else str(path)


def _dropped_patch(data: QMimeData) -> Path | None:
    """Return the first patch among dropped files."""
    paths = (Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile())
    return next((path for path in paths if path.suffix == SUFFIX), None)
