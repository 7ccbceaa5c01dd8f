"""The legend of the heat map, in a corner of the canvas."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QLinearGradient, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from warploom.app.canvas.drawing.node_layout import text_width
from warploom.app.canvas.drawing.shapes import paint_text, qcolor
from warploom.app.theme.colours import current, heat_colour
from warploom.app.theme.fonts import SMALL
from warploom.app.view_models.profile.heat import DEGREES, TICKS, heat
from warploom.app.view_models.profile.texts import percent

_BAR, _HEIGHT, _PADDING, _LINE = 200, 8, 10, 16
#: The distance from the corner of the canvas.
_AWAY = 12


class HeatLegend(QWidget):
    """A bar of all colours with their shares, and a line of text; clicks pass through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = ""
        self.hide()

    def text(self) -> str:
        """Return the line of text."""
        return self._text

    def show_text(self, text: str) -> None:
        """Show the legend with a line of text; hide it when there is none."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(f"Heat map: {text}")
            self.updateGeometry()
            self.update()
        self.setVisible(bool(text))

    def sizeHint(self) -> QSize:
        """Return the size of the box, including its distance from the corner."""
        width = max(_BAR, round(text_width(self._text, SMALL, False)) + 2)
        return QSize(width + 2 * _PADDING + _AWAY, 2 * _LINE + _HEIGHT + 2 * _PADDING - 2 + _AWAY)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the box, the text, the bar and its shares."""
        theme, painter = current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(_AWAY + 0.5, 0.5, -0.5, -_AWAY - 0.5)
        painter.setPen(QPen(qcolor(theme.border), 1.0))
        painter.setBrush(qcolor(theme.dock))
        painter.drawRoundedRect(box, 3, 3)
        area = box.adjusted(_PADDING, _PADDING - 3, -_PADDING, 0)
        paint_text(painter, QRectF(area.left(), area.top(), area.width(), _LINE), self._text, theme.text, SMALL)
        bar = QRectF(area.left(), area.top() + _LINE + 3, _BAR, _HEIGHT)
        colours = QLinearGradient(bar.topLeft(), bar.topRight())
        for degree in range(DEGREES + 1):
            colours.setColorAt(degree / DEGREES, qcolor(heat_colour(degree / DEGREES)))
        painter.setPen(QPen(qcolor(theme.node_border), 1.0))
        painter.setBrush(colours)
        painter.drawRect(bar)
        for share in TICKS:
            x = bar.left() + heat(share) * bar.width()
            painter.setPen(QPen(qcolor(theme.text_dim), 1.0))
            painter.drawLine(round(x), round(bar.bottom()), round(x), round(bar.bottom() + 3))
            text = percent(share) if share >= 0.1 else f"{share:.0%}"
            width = text_width(text, SMALL, False)
            left = min(max(x - width / 2, bar.left()), bar.right() - width)
            paint_text(painter, QRectF(left, bar.bottom() + 2, width + 2, _LINE), text, theme.text_dim, SMALL)
        painter.end()
