"""A histogram of a buffer, with its least, greatest and mean number."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QWidget

from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, length, widget_font
from warploom.app.view_models.looking.numbers import number_text
from warploom.engine.protocol.sampling import Statistics

_HEIGHT, _TEXT = 76, 18
#: Of red, green, blue and alpha; told apart by their order in the text too.
_INKS = ("#e0605e", "#58b368", "#5b8ff0", "#9a9a9a")


class Histogram(QWidget):
    """Draws the counts of each component over the range of the numbers; heights are the roots of counts."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(length(_HEIGHT))
        self._statistics: Statistics | None = None

    def sizeHint(self) -> QSize:
        """Return a size that leaves room for a picture."""
        return QSize(200, length(_HEIGHT))

    def show_statistics(self, statistics: Statistics | None) -> None:
        """Show other numbers; None shows nothing."""
        self._statistics = statistics
        self.setToolTip("" if statistics is None else statistics_text(statistics))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the counts and a line of text."""
        theme, painter = colours.current(), QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.dock))
        if self._statistics is None:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(8, 4, self.width() - 16, self.height() - length(_TEXT) - 8)
        painter.fillRect(area, QColor(theme.canvas))
        statistics = self._statistics
        most = max((max(counts, default=0) for counts in statistics.bins), default=0)
        single = len(statistics.bins) == 1
        for number, counts in enumerate(statistics.bins if most else ()):
            ink = QColor(theme.text_dim if single else _INKS[number % len(_INKS)])
            painter.setPen(ink)
            ink.setAlpha(70)
            painter.setBrush(ink)
            step = area.width() / len(counts)
            tops = [area.bottom() - area.height() * math.sqrt(count / most) for count in counts]
            outline = [QPointF(area.left() + step * (i + 0.5), top) for i, top in enumerate(tops)]
            painter.drawPolygon(QPolygonF([area.bottomLeft(), *outline, area.bottomRight()]))
        painter.setPen(QColor(theme.text_dim))
        painter.setFont(widget_font(SMALL))
        low, high = statistics.range
        place = QRectF(8, self.height() - length(_TEXT), self.width() - 16, length(_TEXT) - 2)
        painter.drawText(place, Qt.AlignmentFlag.AlignLeft, number_text(low))
        painter.drawText(place, Qt.AlignmentFlag.AlignRight, number_text(high))
        bad = sum(statistics.nan), sum(statistics.infinite)
        middle = f"mean {' '.join(number_text(mean) for mean in statistics.mean)}"
        wrong = [f"{count:,} {name}" for count, name in zip(bad, ("NaN", "Inf"), strict=True) if count]
        if wrong:
            painter.setPen(QColor(theme.error))
        text = " · ".join([*wrong, middle])
        room = int(place.width() - 2 * painter.fontMetrics().horizontalAdvance("-0.000000e+00"))
        text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, max(room, 0))
        painter.drawText(place, Qt.AlignmentFlag.AlignHCenter, text)
        painter.end()


def statistics_text(statistics: Statistics) -> str:
    """Return all numbers, a line for each component."""
    lines = [f"{statistics.count:,} elements" + (f", every {statistics.step}. counted" if statistics.step > 1 else "")]
    columns = statistics.least, statistics.greatest, statistics.mean, statistics.nan, statistics.infinite
    for number, (least, greatest, mean, nan, infinite) in enumerate(zip(*columns, strict=True)):
        name = f"{number}: " if len(statistics.least) > 1 else ""
        span = f"{number_text(least)} to {number_text(greatest)}, mean {number_text(mean)}"
        lines.append(f"{name}{span}, {nan:,} NaN, {infinite:,} Inf")
    return "\n".join(lines)
