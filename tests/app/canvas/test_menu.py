"""A right click selects the item under the pointer and requests its menu."""

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.app.canvas.canvas_support import Hand
from warploom.app.canvas.canvas import Canvas
from warploom.engine.patch.document import Patch


def right_click(hand: Hand, point: QPointF) -> None:
    """Click with the right button."""
    place = hand.view.mapFromScene(point)
    QTest.mouseClick(hand.view.viewport(), Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier, place)


def asked_menus(canvas: Canvas) -> list[str]:
    """Return a list that receives the requested menus."""
    kinds: list[str] = []
    canvas.menu_requested.connect(lambda kind, _: kinds.append(kind))
    return kinds


def test_node_connection_and_canvas_have_menus(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A right click selects the node or connection under it, and requests the menu for it or for the canvas."""
    kinds = asked_menus(canvas)
    right_click(hand, hand.title("scale"))
    assert canvas.selected() == ["scale"]
    (connection,) = patch.connections
    right_click(hand, hand.scene.connections[connection].path().pointAtPercent(0.5))
    assert hand.scene.selected_connections() == [connection]
    assert canvas.selected() == []
    right_click(hand, QPointF(300, 250))
    assert kinds == ["node", "connection", "canvas"]


def test_a_right_click_on_one_of_several_selected_nodes_keeps_them(canvas: Canvas, hand: Hand) -> None:
    """A right click on one of several selected nodes keeps all of them selected."""
    canvas.select(["source", "scale"])
    right_click(hand, hand.title("scale"))
    assert canvas.selected() == ["source", "scale"]


def test_a_right_drag_pans_and_asks_for_no_menu(canvas: Canvas, hand: Hand) -> None:
    """A right drag pans and requests no menu."""
    kinds = asked_menus(canvas)
    before = hand.view.mapToScene(0, 0)
    hand.drag(QPointF(300, 250), QPointF(200, 150), button=Qt.MouseButton.RightButton)
    assert hand.view.mapToScene(0, 0) != before
    assert kinds == []


def test_the_menu_key_asks_for_the_menu_of_the_selection(canvas: Canvas, hand: Hand) -> None:
    """The menu key requests the menu of the selection."""
    kinds = asked_menus(canvas)
    for selected in (["scale"], []):
        canvas.select(selected)
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), QPoint(1, 1))
        QApplication.sendEvent(hand.view.viewport(), event)
    assert kinds == ["node", "canvas"]


def test_disconnecting_takes_the_selected_nodes_connections(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Disconnecting removes the connections of the selected nodes, and one undo restores them."""
    canvas.select(["source"])
    canvas.edits.disconnect_all()
    assert not list(patch.connections)
    assert len(patch.nodes) == 3
    assert patch.undo() == "Disconnect 1 connection"
    canvas.select([])
    canvas.edits.disconnect_all()
    assert len(list(patch.connections)) == 1


def test_a_drag_at_the_edge_moves_the_view(canvas: Canvas, hand: Hand, patch: Patch, qtbot: object) -> None:
    """A drag at the edge of the view scrolls it, so that a node can be moved to a place out of sight."""
    from pytestqt.qtbot import QtBot

    assert isinstance(qtbot, QtBot)
    view = hand.view
    edge = view.mapToScene(view.viewport().width() - 2, view.viewport().height() // 2)
    hand.drag(hand.title("count"), edge, release=False)
    right = view.mapToScene(view.viewport().rect().bottomRight()).x()
    qtbot.waitUntil(lambda: view.mapToScene(view.viewport().rect().bottomRight()).x() > right + 100)
    QTest.mouseRelease(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, view.cursor_position)
    assert patch.nodes["count"].position[0] > edge.x() + 40
    stopped = view.mapToScene(0, 0)
    qtbot.wait(60)
    assert view.mapToScene(0, 0) == stopped
