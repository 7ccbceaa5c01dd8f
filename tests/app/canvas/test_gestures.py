"""Every gesture becomes one edit of the patch and one undo step."""

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QPaintEvent, QRegion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import move_pointer
from tests.app.canvas.canvas_support import Hand, documented, shown
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.items.nodegraph_adapter import LooseLine
from warploom.app.canvas.notice import CanvasNotice, EmptyHint
from warploom.engine.patch.changes import BlockTypesChanged, Change, Connection, NodeMoved, PortRef
from warploom.engine.patch.document import Patch


@pytest.fixture
def changes(patch: Patch) -> list[Change]:
    """The list of all changes of the patch from now on."""
    heard: list[Change] = []
    patch.subscribe(heard.append)
    return heard


@pytest.mark.feature("connect")
def test_dragging_from_port_to_port_connects_once(hand: Hand, patch: Patch, changes: list[Change]) -> None:
    """A drag from port to port makes one connection in the patch, and the scene shows it."""
    hand.drag(hand.port("source", "out", is_input=False), hand.port("scale", "gain", is_input=True))
    assert [type(change).__name__ for change in changes] == ["Connected"]
    assert patch.source_of(PortRef("scale", "gain")) == PortRef("source", "out")
    assert shown(hand.scene) == documented(patch)


def test_a_connection_can_be_dragged_from_the_input(hand: Hand, patch: Patch) -> None:
    """A connection can be dragged from the input to the output."""
    hand.drag(hand.port("scale", "gain", is_input=True), hand.port("source", "out", is_input=False))
    assert patch.source_of(PortRef("scale", "gain")) == PortRef("source", "out")


def dragged_line(hand: Hand) -> list[LooseLine]:
    """Return the connection that follows the pointer, or None."""
    return [item for item in hand.scene.items() if isinstance(item, LooseLine)]


@pytest.mark.parametrize("zoom", [1.0, 0.37])
def test_a_dragged_connection_is_visible_all_the_way(hand: Hand, zoom: float) -> None:
    """A dragged connection is visible along its whole length, even over nodes, and disappears after the drag."""
    start, end = hand.port("source", "out", is_input=False), QPointF(300, 240)
    hand.view.set_zoom(zoom)
    QApplication.processEvents()
    before = hand.view.viewport().grab().toImage()
    hand.drag(start, end, release=False)
    (line,) = dragged_line(hand)
    QApplication.processEvents()
    during = hand.view.viewport().grab().toImage()
    places = [hand.view.mapFromScene(line.path().pointAtPercent(share / 20)) for share in range(1, 20)]

    def differs(place: QPoint) -> bool:
        near = (QPoint(x, y) + place for x in range(-3, 4) for y in range(-3, 4))
        return any(before.pixel(at) != during.pixel(at) for at in near)

    assert sum(map(differs, places)) >= 17  # a dashed line may have gaps at some of these places
    hand.press(Qt.Key.Key_Escape)
    QApplication.processEvents()
    assert dragged_line(hand) == []
    hand.view.viewport().unsetCursor()
    assert hand.view.viewport().grab().toImage() == before


def test_ports_are_marked_under_a_dragged_connection(hand: Hand) -> None:
    """At the end of a dragged connection, the port under the pointer is found, not the connection."""
    target = hand.port("scale", "gain", is_input=True)
    hand.drag(hand.port("source", "out", is_input=False), target, release=False)
    assert hand.view.hit(hand.view.mapFromScene(target)) == PortRef("scale", "gain")


def test_only_an_empty_canvas_shows_the_hint(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """The hint of an empty canvas is shown exactly while the patch is empty."""
    hint = canvas.findChild(EmptyHint)
    assert hint is not None
    assert hint.isHidden()
    canvas.select_all()
    hand.canvas.edits.delete()
    assert hint.isVisible()
    patch.undo()
    assert hint.isHidden()
    canvas.set_patch(Patch(patch.catalogue))
    assert hint.isVisible()
    assert canvas.patch is not None
    canvas.patch.add("test_canvas.source")
    assert hint.isHidden()


def test_the_hint_stays_in_the_middle(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Panning an empty canvas does not move its hint."""
    hint = canvas.findChild(EmptyHint)
    assert hint is not None
    canvas.set_patch(Patch(patch.catalogue))
    canvas.view.scroll_by(QPoint(80, 40))
    assert (hint.geometry().center() - canvas.rect().center()).manhattanLength() <= 2


def test_a_drop_on_a_node_takes_its_free_fitting_port(hand: Hand, patch: Patch) -> None:
    """A drop anywhere on a node connects its first free port that fits: here `gain`, since `x` is connected."""
    hand.drag(hand.port("source", "out", is_input=False), hand.title("scale"))
    assert patch.source_of(PortRef("scale", "gain")) == PortRef("source", "out")


@pytest.mark.feature("connect")
def test_a_refused_drop_says_why_and_changes_nothing(
    canvas: Canvas, hand: Hand, patch: Patch, changes: list[Change]
) -> None:
    """A refused drop changes nothing; the signal and the text beside the pointer state the patch's reason."""
    reasons: list[str] = []
    canvas.refused.connect(reasons.append)
    hand.drag(hand.port("source", "out", is_input=False), hand.port("count", "x", is_input=True))
    assert reasons == ["count.x takes elements of u32, got f32 from source.out"]
    notice = canvas.findChild(CanvasNotice)
    assert notice is not None
    assert notice.isVisible()
    assert notice.text() == reasons[0]
    assert changes == []
    assert shown(hand.scene) == documented(patch)


def test_ports_that_do_not_fit_are_dimmed_while_a_connection_is_dragged(hand: Hand) -> None:
    """During a drag only the ports that fit count as fitting; after it, no port is marked."""
    start = hand.port("source", "out", is_input=False)
    hand.drag(start, start + QPointF(60, 60), release=False)
    assert hand.scene.nodes["scale"].appearance.fitting == {("x", True), ("gain", True)}
    assert hand.scene.nodes["count"].appearance.fitting == set()
    hand.press(Qt.Key.Key_Escape)
    assert all(node.appearance.fitting is None for node in hand.scene.nodes.values())


def test_a_drag_goes_on_while_block_types_are_loaded_again(hand: Hand, patch: Patch) -> None:
    """A drag connects two ports although the block types are reloaded during it."""
    start, end = hand.port("source", "out", is_input=False), hand.port("scale", "gain", is_input=True)
    hand.drag(start, end, release=False)
    patch.restore([BlockTypesChanged(frozenset(node.type for node in patch.nodes.values()))])
    hand.release(end)
    assert patch.source_of(PortRef("scale", "gain")) == PortRef("source", "out")


def test_escape_leaves_a_picked_up_connection_where_it_was(hand: Hand, patch: Patch, changes: list[Change]) -> None:
    """Escape restores a connection that was picked up, without an edit."""
    hand.drag(hand.port("scale", "x", is_input=True), QPointF(-100, 200), release=False)
    hand.press(Qt.Key.Key_Escape)
    assert changes == []
    assert hand.scene.connections[patch.connections[0]].isVisible()


def test_dragging_an_end_off_disconnects(hand: Hand, patch: Patch) -> None:
    """Dragging a connection's end from its port to the canvas disconnects it, and undo restores it."""
    hand.drag(hand.port("scale", "x", is_input=True), QPointF(-100, 200))
    assert patch.connections == []
    assert shown(hand.scene) == documented(patch)
    patch.undo()
    assert shown(hand.scene) == documented(patch)
    assert len(patch.connections) == 1


def test_an_end_can_be_taken_beside_the_port(hand: Hand, patch: Patch) -> None:
    """The last part of a connection can be dragged like the port at its end."""
    hand.drag(hand.port("scale", "x", is_input=True) - QPointF(16, 0), QPointF(-100, 200))
    assert patch.connections == []


def test_moving_an_end_to_another_port_is_one_step(hand: Hand, patch: Patch) -> None:
    """Moving a connection's end to another port is one step, and undo restores the old connection."""
    before = patch.connections
    hand.drag(hand.port("scale", "x", is_input=True), hand.port("scale", "gain", is_input=True))
    assert patch.connections == [Connection(PortRef("source", "out"), PortRef("scale", "gain"))]
    patch.undo()
    assert patch.connections == before


def test_a_refused_move_keeps_the_connection(hand: Hand, patch: Patch, changes: list[Change]) -> None:
    """Dropping a connection's end on a port that doesn't fit keeps the connection."""
    hand.drag(hand.port("scale", "x", is_input=True), hand.port("count", "x", is_input=True))
    assert changes == []
    assert hand.scene.connections[patch.connections[0]].isVisible()


def test_a_cycle_is_refused(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A connection that would close a cycle is refused with that reason."""
    reasons: list[str] = []
    canvas.refused.connect(reasons.append)
    hand.drag(hand.port("scale", "out", is_input=False), hand.port("scale", "gain", is_input=True))
    assert len(reasons) == 1
    assert "must not close a cycle" in reasons[0]


def test_moving_nodes_is_one_step_on_the_canvas_grid(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """All selected nodes move with the dragged one by whole grid steps, and one undo restores all positions."""
    canvas.select(["source", "scale"])
    heard: list[Change] = []
    patch.subscribe(heard.append)
    hand.drag(hand.title("scale"), hand.title("scale") + QPointF(50, 21))
    assert patch.nodes["scale"].position == (48, 24)
    assert patch.nodes["source"].position == (-192, 24)
    assert [type(change) for change in heard] == [NodeMoved, NodeMoved]
    assert patch.undo() == "Move 2 nodes"
    assert shown(hand.scene) == documented(patch)
    assert patch.nodes["scale"].position == (0, 0)


def test_arrow_keys_move_the_selection(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """A press of an arrow key moves the selection by one grid step."""
    canvas.select(["count"])
    hand.press(Qt.Key.Key_Right)
    hand.press(Qt.Key.Key_Up)
    assert patch.nodes["count"].position == (8, 152)
    patch.undo()
    assert patch.nodes["count"].position == (8, 160)


def test_a_click_selects_shift_adds_and_the_canvas_deselects(canvas: Canvas, hand: Hand) -> None:
    """A click selects, Shift adds, and a click on the canvas deselects; each change is signalled once."""
    heard: list[list[str]] = []
    canvas.selection_changed.connect(heard.append)
    hand.click(hand.title("scale"))
    hand.click(hand.title("source"), Qt.KeyboardModifier.ShiftModifier)
    hand.click(QPointF(-300, 300))
    assert heard == [["scale"], ["source", "scale"], []]


def test_a_rubber_band_selects_nodes_but_no_connections(canvas: Canvas, hand: Hand) -> None:
    """A rubber band selects nodes only, so Delete removes no connection between other nodes."""
    hand.drag(QPointF(-60, -60), QPointF(200, 100))
    assert canvas.selected() == ["scale"]
    assert hand.scene.selected_connections() == []


def test_a_box_adds_to_the_selection_with_shift(canvas: Canvas, hand: Hand) -> None:
    """With Shift, a rubber band adds to the selection, and never deselects blocks that were selected before."""
    hand.click(hand.title("source"))
    hand.drag(QPointF(-60, -60), QPointF(200, 100), Qt.KeyboardModifier.ShiftModifier)
    assert canvas.selected() == ["source", "scale"]
    hand.drag(QPointF(-60, -60), QPointF(200, 100))
    assert canvas.selected() == ["scale"]


def test_a_box_repaints_no_more_than_its_outline_and_what_it_reaches(hand: Hand, qtbot: QtBot) -> None:
    """A rubber band repaints only its outline and the blocks that it reaches, not the thousand blocks in between."""
    viewport = hand.view.viewport()
    start, end = QPointF(-60, -60), QPointF(200, 100)
    hand.drag(start, end, release=False)
    qtbot.wait(1)
    qtbot.waitUntil(lambda: hand.view.painting.rest.isEmpty())
    painted: list[QRegion] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if isinstance(event, QPaintEvent):
                painted.append(event.region())
            return False

    watch = Watch()
    viewport.installEventFilter(watch)
    move_pointer(viewport, hand.view.mapFromScene(end + QPointF(6, 6)), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(painted))
    inside = hand.view.mapFromScene(hand.scene.nodes["scale"].place).boundingRect()
    assert not any(region.intersects(inside) for region in painted)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton)


def test_select_all_and_delete_is_one_step(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Select all and Delete remove everything in one step, which undo reverts."""
    before = documented(patch)
    hand.canvas.select_all()
    hand.canvas.edits.delete()
    assert shown(hand.scene) == ({}, set())
    assert canvas.selected() == []
    assert patch.undo() == "Delete 3 nodes"
    assert shown(hand.scene) == documented(patch) == before


def test_a_clicked_connection_can_be_deleted(hand: Hand, patch: Patch) -> None:
    """A click on a connection's middle selects it, so it can be deleted."""
    path = hand.scene.connections[patch.connections[0]].path()
    hand.click(path.pointAtPercent(0.5))
    hand.canvas.edits.delete()
    assert patch.connections == []
    assert len(patch.nodes) == 3


@pytest.mark.feature("knife")
def test_alt_drag_cuts_the_connections_it_crosses(hand: Hand, patch: Patch) -> None:
    """An Alt drag removes all connections that it crosses in one step."""
    patch.connect(PortRef("source", "out"), PortRef("scale", "gain"))
    hand.drag(QPointF(-60, -40), QPointF(-60, 120), Qt.KeyboardModifier.AltModifier)
    assert patch.connections == []
    assert patch.undo() == "Cut 2 connections"


def test_ctrl_and_right_drag_cuts_the_connections_it_crosses(hand: Hand, patch: Patch) -> None:
    """A right drag with Ctrl cuts too, where the window manager takes Alt; without Ctrl it pans."""
    patch.connect(PortRef("source", "out"), PortRef("scale", "gain"))
    view, path = hand.canvas.view, (QPointF(-60, -40), QPointF(-60, 120))
    start, end = map(view.mapFromScene, path)
    right, control = Qt.MouseButton.RightButton, Qt.KeyboardModifier.ControlModifier
    QTest.mousePress(view.viewport(), right, control, start)
    move_pointer(view.viewport(), end, right)
    QTest.mouseRelease(view.viewport(), right, control, end)
    assert patch.connections == []
    assert patch.undo() == "Cut 2 connections"


def test_a_double_click_on_a_node_activates_it(canvas: Canvas, hand: Hand) -> None:
    """A double-click on a node emits a signal with the node's id."""
    heard: list[str] = []
    canvas.node_activated.connect(heard.append)
    hand.double_click(hand.title("scale"))
    assert heard == ["scale"]


@pytest.mark.parametrize("button", [Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton])
def test_middle_and_right_drag_pan(hand: Hand, button: Qt.MouseButton) -> None:
    """A drag with the middle or right button pans by as many pixels as the pointer moves."""
    before = hand.view.mapToScene(100, 100)
    hand.drag(QPointF(0, 300), QPointF(50, 340), button=button)
    assert (before - hand.view.mapToScene(100, 100)).toPoint().toTuple() == (50, 40)


def test_the_wheel_zooms_about_the_pointer(canvas: Canvas, hand: Hand) -> None:
    """The wheel zooms in and out about the point under the pointer, within limits."""
    position = hand.view.mapFromScene(hand.title("source"))
    for angle in (-240, 120, 120):
        hand.turn_wheel(position, angle)
        assert (hand.view.mapToScene(position) - hand.title("source")).manhattanLength() < 4
    assert canvas.view.zoom == pytest.approx(1.0)
    for angle, end in ((-10_000, 0.02), (10_000, 2.5)):
        hand.turn_wheel(position, angle)
        assert canvas.view.zoom == pytest.approx(end)


def test_fit_shows_every_node_at_no_more_than_full_size(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Fit zooms out to show a large patch, but never enlarges a small one."""
    canvas.fit()
    assert canvas.view.zoom == 1.0
    patch.move("count", (6000, 3000))
    canvas.fit()
    visible = hand.view.mapToScene(hand.view.viewport().rect()).boundingRect()
    assert all(visible.contains(node.pos()) for node in hand.scene.nodes.values())
    canvas.select(["scale"])
    canvas.fit_selection()
    assert canvas.view.zoom == 1.0


def test_undo_in_the_middle_of_a_drag_ends_it(hand: Hand, patch: Patch) -> None:
    """When the dragged node is removed during the drag, the drag ends and the view equals the patch."""
    hand.drag(hand.port("scale", "x", is_input=True), QPointF(-100, 200), release=False)
    patch.remove("source")
    assert shown(hand.scene) == documented(patch)
    assert all(node.appearance.fitting is None for node in hand.scene.nodes.values())


def test_a_port_has_a_cursor_of_its_own(canvas: Canvas, hand: Hand) -> None:
    """The pointer is a cross over a port, from which connections are dragged, and an arrow elsewhere."""
    shape = canvas.view.viewport().cursor
    canvas.scene.hover(hand.port("source", "out", is_input=False))
    assert shape().shape() is Qt.CursorShape.CrossCursor
    canvas.scene.hover(None)
    assert shape().shape() is Qt.CursorShape.ArrowCursor
