"""Calls of a painter that are noted and repeated."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen
from PySide6.QtWidgets import QApplication

from warploom import Patch
from warploom.app.canvas.drawing.calls import Calls, repeat
from warploom.app.canvas.drawing.node_layout import layout
from warploom.app.canvas.drawing.node_painter import NodeAppearance, NodeLook, NodePainter
from warploom.app.theme import colours
from warploom.app.view_models.node_view_model import node_view_model


def image() -> tuple[QImage, QPainter]:
    """Return an image, and a painter on it."""
    made = QImage(200, 160, QImage.Format.Format_RGB32)
    made.fill(Qt.GlobalColor.black)
    painter = QPainter(made)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(20, 20)
    return made, painter


def test_repeated_calls_paint_a_node_as_its_painter_does(qapp: QApplication) -> None:
    """Each repetition paints what the painter of nodes paints itself, also after something else was painted."""
    patch, theme = Patch(), colours.current()
    look = NodeLook(node_view_model(patch, patch.add("math.saxpy").id), NodeAppearance(), frozenset([("x", True)]))
    wanted, painter = image()
    NodePainter(painter, look, layout(look.model), theme, 1.0, False).paint()
    painter.end()
    calls = Calls(1.0)
    NodePainter(calls.painter, look, layout(look.model), theme, 1.0, False).paint()
    for _ in range(2):
        found, painter = image()
        painter.setPen(QPen(QColor("red"), 9.0))
        repeat(painter, calls.made)
        painter.end()
        assert found == wanted


def test_what_restore_takes_back_is_set_again(qapp: QApplication) -> None:
    """After `restore`, a pen that was set before is noted again."""

    def paint(painter: QPainter) -> None:
        painter.setPen(QColor("red"))
        painter.save()
        painter.setPen(QColor("blue"))
        painter.drawLine(QPointF(0, 0), QPointF(50, 0))
        painter.restore()
        painter.drawRect(QRectF(0, 20, 50, 20))
        painter.setPen(QColor("blue"))
        painter.drawRect(QRectF(0, 60, 50, 20))

    (wanted, direct), (found, repeated), calls = image(), image(), Calls(1.0)
    paint(direct)
    paint(calls.painter)
    repeat(repeated, calls.made)
    direct.end()
    repeated.end()
    assert found == wanted
