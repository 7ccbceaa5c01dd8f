"""`ExampleCard`: an example with the film of what it makes, which plays under the pointer."""

from PySide6.QtCore import QEvent, QMargins, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFocusEvent,
    QImageReader,
    QMovie,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QAbstractButton, QLabel, QVBoxLayout

from warploom.app.documents.gallery import Example
from warploom.app.theme import colours
from warploom.app.theme.fonts import length
from warploom.app.theme.icons import icon

#: The size of a card's picture in pixels, in the usual size of the editor.
_PICTURE = QSize(280, 158)
_ICON = 32


def card_width() -> int:
    """Return the width of a card in the present size of the editor, in pixels."""
    return length(_PICTURE.width())


def _picture_height() -> int:
    return length(_PICTURE.height())


class ExampleCard(QAbstractButton):
    """A card with a picture, a title and a description. The picture moves while the card has the pointer or focus."""

    def __init__(self, example: Example) -> None:
        super().__init__()
        self.example = example
        self._still: QPixmap | None = None
        #: The film while it plays.
        self.film: QMovie | None = None
        self.setText(example.title)
        self.setAccessibleName(f"Open example {example.title}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        column = self._column = QVBoxLayout(self, spacing=4)
        title, text = QLabel(example.title, objectName="cardTitle"), QLabel(example.description, objectName="faint")
        text.setWordWrap(True)
        text.setAlignment(Qt.AlignmentFlag.AlignTop)
        for label in (title, text):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column.addWidget(title)
        column.addWidget(text, 1)
        self.fit()

    def fit(self) -> int:
        """Use the present size of the editor. Return the height that is needed, in pixels."""
        self.setFixedWidth(card_width())
        self._column.setContentsMargins(QMargins(16, _picture_height() + 12, 16, 12))
        return self._column.totalHeightForWidth(card_width())

    def _play(self) -> None:
        if self.film is None and self.example.film is not None:
            self.film = QMovie(str(self.example.film))
            self.film.frameChanged.connect(self._show_next)
            self.film.start()

    def _stop(self) -> None:
        if self.film is not None and not self.underMouse():
            self.film.stop()
            self.film = None
            self.update()

    def _show_next(self) -> None:
        self.update()

    # Qt

    def enterEvent(self, event: QEnterEvent) -> None:
        """Play the film."""
        super().enterEvent(event)
        self._play()

    def leaveEvent(self, event: QEvent) -> None:
        """Show the first picture again."""
        super().leaveEvent(event)
        self._stop()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Play the film, if the keyboard led here."""
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self._play()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show the first picture again."""
        super().focusOutEvent(event)
        self._stop()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card and its picture."""
        tokens = colours.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        active = self.underMouse() or self.hasFocus()
        outline = QPainterPath()
        outline.addRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)
        painter.fillPath(outline, QColor(tokens.control))
        painter.save()
        painter.setClipPath(outline)
        area = QRectF(0, 0, card_width(), _picture_height())
        painter.fillRect(area, QColor(tokens.canvas))
        picture = self.film.currentPixmap() if self.film is not None else self._first_picture()
        if picture.isNull():
            middle = area.center().toPoint()
            icon("fit", "text_faint").paint(painter, middle.x() - _ICON // 2, middle.y() - _ICON // 2, _ICON, _ICON)
        else:
            painter.drawPixmap(area, picture, QRectF(picture.rect()))
        painter.restore()
        painter.setPen(QPen(QColor(tokens.accent if active else tokens.border), 1))
        painter.drawPath(outline)
        painter.end()

    def _first_picture(self) -> QPixmap:
        """Return the first picture of the film, which is read when the card is first seen."""
        if self._still is None:
            film = self.example.film
            self._still = QPixmap.fromImage(QImageReader(str(film)).read()) if film is not None else QPixmap()
        return self._still
