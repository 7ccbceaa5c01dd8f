"""Dashed arrows between blocks that run one after the other without a connection."""

from collections.abc import Callable, Iterable, Iterator

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from warploom.app.canvas.drawing.shapes import qcolor
from warploom.app.canvas.items.layer import EXTENT
from warploom.app.theme import colours

#: The length of an arrow's head, half its width, and the width of the line.
_HEAD, _SPREAD, _WIDTH = 12.0, 5.0, 2.0


class OrderLines(QGraphicsItem):
    """An arrow for each order; `place_of` returns the rectangle of a node, or None when there is no such node."""

    def __init__(self, place_of: Callable[[str], QRectF | None], z: float) -> None:
        super().__init__()
        self.setZValue(z)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self._place_of = place_of
        self._pairs: tuple[tuple[str, str], ...] = ()
        self._painted = QRectF()

    def show_orders(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Show the arrows of these orders and no others."""
        pairs = tuple(pairs)
        if pairs != self._pairs:
            self._pairs = pairs
            self._repaint()

    def follow(self) -> None:
        """Lead the arrows to the present places of nodes."""
        if self._pairs:
            self._repaint()

    def lines(self) -> Iterator[QLineF]:
        """Yield the arrows, from the border of one node to that of another."""
        for pair in self._pairs:
            first, then = map(self._place_of, pair)
            if first is not None and then is not None and not first.intersects(then):
                middle = QLineF(first.center(), then.center())
                yield QLineF(_border(first, middle.p2()), _border(then, middle.p1()))

    def _repaint(self) -> None:
        area = QRectF()
        for line in self.lines():
            area = area.united(QRectF(line.p1(), line.p2()).normalized().adjusted(-_HEAD, -_HEAD, _HEAD, _HEAD))
        if self.scene() is not None:
            self.scene().update(area.united(self._painted))
        self._painted = area

    def boundingRect(self) -> QRectF:
        """Return the area of the scene."""
        return EXTENT

    def shape(self) -> QPainterPath:
        """Return an empty area, since arrows take no clicks."""
        return QPainterPath()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Paint the arrows."""
        colour = qcolor(colours.current().text_dim)
        for line in self.lines():
            painter.setPen(QPen(colour, _WIDTH, Qt.PenStyle.DashLine))
            painter.drawLine(line)
            back = QLineF(line.p2(), line.p1())
            back.setLength(min(_HEAD, line.length()))
            across = back.normalVector()
            across.translate(back.p2() - back.p1())
            across.setLength(_SPREAD)
            side = across.p2() - across.p1()
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            painter.drawPolygon(QPolygonF([line.p2(), back.p2() + side, back.p2() - side]))


def _border(rect: QRectF, towards: QPointF) -> QPointF:
    """Return where the line from the middle of a rectangle to a point outside crosses its border."""
    way = towards - rect.center()
    across = rect.width() / 2 / abs(way.x()) if way.x() else float("inf")
    along = rect.height() / 2 / abs(way.y()) if way.y() else float("inf")
    return rect.center() + way * min(across, along)
