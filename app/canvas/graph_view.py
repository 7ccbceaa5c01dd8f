"""The view of the scene: selection, tooltips, and gestures that request edits but make none."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QRegion,
    QResizeEvent,
)
from PySide6.QtWidgets import QGraphicsView, QWidget

from warploom.app.canvas.drawing.connection_painter import DOT
from warploom.app.canvas.drawing.shapes import on_screen, qcolor
from warploom.app.canvas.frames.frame_boxes import EDGE_REACH
from warploom.app.canvas.frames.frame_gestures import FrameDrag, FrameResize
from warploom.app.canvas.gestures.box_select import BoxSelect
from warploom.app.canvas.gestures.connection_drag import REACH, ConnectionDrag, grasped_at
from warploom.app.canvas.gestures.connection_edits import ConnectionEdits
from warploom.app.canvas.gestures.dot_drag import DotDrag
from warploom.app.canvas.gestures.gesture import Gesture
from warploom.app.canvas.gestures.knife import Knife
from warploom.app.canvas.gestures.node_drag import NodeDrag, Refusal
from warploom.app.canvas.gestures.slider_drag import SliderDrag, slider_at
from warploom.app.canvas.gestures.zoomable_view import EdgeScroll, ZoomableView
from warploom.app.canvas.incoming import Incoming, is_incoming
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.sliced_painting import SlicedPainting
from warploom.app.edits.regions import NodeDrop
from warploom.app.theme import colours
from warploom.app.view_models.tooltips import Hit
from warploom.app.widgets.tooltip import LiveTooltip
from warploom.engine.patch.changes import Connection

_CLICK = 4  # the most pixels that a click may move
_NEAR_EDGE = 24  # the distance from the edge to which what must stay in view comes, in pixels
_DOT_DISTANCE = 32
#: Below this zoom, the dots would be too dense.
_DOTS_FROM = 0.5
#: With more parts to paint, they are painted as one.
_MOST_PARTS = 8


class GraphView(ZoomableView):
    """Shows a `GraphScene`.

    Left drag moves nodes and the sliders on them, starts connections or draws a box; middle or right drag pans; a right
    click requests the menu; the wheel zooms; Ctrl with right drag cuts connections. A drag at the edge moves the view.
    The title strip of a region's box stands for its region block. `GESTURES` in `commands/help_dialogs.py` lists the
    gestures for people.
    """

    nodes_dropped = Signal(NodeDrop)
    move_explained = Signal(str, bool)  # why dragged nodes can't be dropped at the pointer; "" if they can
    drop_explained = Signal(str, bool)  # what dropped files would do, or why nothing, and True; "" after the drag
    slider_moved = Signal(str, str, float, object)  # a node, its parameter, the new value, and the gesture
    connections_cut = Signal(list)  # Connections
    frames_dropped = Signal(list, dict, tuple)  # frames, new positions of nodes, and the way of the frames
    frame_resized = Signal(str, tuple)  # a frame, and its Rect
    frame_double_clicked = Signal(str)
    dots_dropped = Signal(Connection, list, str)  # a connection, its dots, and the name of the edit
    dot_double_clicked = Signal(Connection, int)  # a connection, and the number of its dot
    pressed = Signal()  # a gesture may begin
    entered = Signal()  # the pointer has entered the canvas
    node_double_clicked = Signal(str)
    connection_double_clicked = Signal(Connection)
    canvas_double_clicked = Signal()
    menu_requested = Signal(object, QPoint)  # for a Hit or None, at a screen position

    def __init__(
        self,
        scene: GraphScene,
        edits: ConnectionEdits,
        move_refusal: Refusal,
        describe: Callable[[Hit], str],
        incoming: Incoming,
        parent: QWidget,
    ) -> None:
        super().__init__(scene, parent)
        self._graph = scene
        self._describe, self._incoming = describe, incoming
        self.tooltip = LiveTooltip(self.viewport())
        self._edits, self._move_refusal = edits, move_refusal
        self._gesture: Gesture | None = None
        self._clicked: str | None = None
        self._pan_from: QPoint | None = None
        self._pressed_at = QPoint()
        self._edge_scroll = EdgeScroll(self)
        self._edge_scroll.scrolled.connect(self._drag_to_pointer)
        self.painting = SlicedPainting(self, self._paint_region, self._find_spans)
        self._clip = QRegion()
        self.cursor_position = QPoint(-1, -1)  # unknown
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontSavePainterState)
        self.setMouseTracking(True)

    # Places

    def cursor_point(self) -> QPointF:
        """The pointer's last place in the scene; the middle of the view if the pointer is outside."""
        viewport = self.viewport().rect()
        position = self.cursor_position if viewport.contains(self.cursor_position) else viewport.center()
        return self.mapToScene(position)

    def hit(self, position: QPoint) -> Hit | None:
        """Return the item at a position of the viewport."""
        point = self.mapToScene(position)
        if port := self._graph.port_at(point, REACH / self.zoom):
            return port.ref
        if node := self._graph.node_at(point):
            return str(node.id)
        connection = self._graph.connection_at(point)
        return connection.connection if connection else self._graph.regions.grasped_at(point)

    def tray_area(self) -> QRect | None:
        """Return the viewport area in which a node offers its parameters to a dragged connection, if any does."""
        area = self._gesture.tray_area if isinstance(self._gesture, ConnectionDrag) else None
        return self.mapFromScene(area).boundingRect() if area is not None else None

    def cancel_drag(self) -> None:
        """Cancel a drag; the patch stays unchanged."""
        self._edge_scroll.stop()
        gesture, self._gesture = self._gesture, None
        if gesture is not None:
            gesture.cancel()

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start the gesture for the button, the modifiers and the place."""
        position = event.position().toPoint()
        self.pressed.emit()
        self._pressed_at = self.cursor_position = position
        button = event.button()
        if button == Qt.MouseButton.RightButton and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._cut_from(position)
        elif button in (Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton):
            self._pan_from = position
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif button == Qt.MouseButton.LeftButton:
            self._press_left(event)

    def _press_left(self, event: QMouseEvent) -> None:
        point = self.mapToScene(event.position().toPoint())
        if event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._cut_from(event.position().toPoint())  # where the window manager leaves us Alt
        elif (grasped := grasped_at(self, self._graph, point)) is not None:
            self._gesture = ConnectionDrag(self, self._graph, self._edits, *grasped, point)
        elif (grasped_dot := self._graph.dot_at(point, DOT + REACH / 2 / self.zoom)) is not None:
            self._graph.select_connection(grasped_dot[0])
            self._graph.choose_dot(*grasped_dot)
            self._gesture = DotDrag(self._graph, self.dots_dropped.emit, *grasped_dot)
        elif (connection := self._graph.connection_at(point)) is not None:
            if not _adds_to_selection(event):
                self._graph.select([])
            connection.setSelected(True)
            self._gesture = DotDrag(self._graph, self.dots_dropped.emit, connection.connection, None)
        elif (node := slider_at(self._graph, point, self.zoom)) is not None:
            self._gesture = SliderDrag(node, self.slider_moved.emit, point)
        elif (node := self._graph.node_at(point)) is not None:
            if not node.isSelected() and not _adds_to_selection(event):
                self._graph.select([node.id])
            self._clicked = node.id
            self._gesture = self._drag_nodes(node.id, point)
        elif not self._press_strip(event) and not self._press_frame(event):
            if not _adds_to_selection(event):
                self._graph.select([])
            self._gesture = BoxSelect(self, self._graph, point)

    def _click(self, node: str, *, adds: bool) -> None:
        """Select a node alone, or add it to the selection or remove it."""
        self._graph.select({node}.symmetric_difference(self._graph.selected_nodes()) if adds else [node])

    def _cut_from(self, position: QPoint) -> None:
        self._gesture = Knife(self, self._graph, self.connections_cut.emit, self.mapToScene(position))

    def _drag_nodes(self, anchor: str, point: QPointF) -> NodeDrag:
        explain, drop = self.move_explained.emit, self.nodes_dropped.emit
        return NodeDrag(self._graph, self._move_refusal, explain, drop, anchor, point)

    def _press_strip(self, event: QMouseEvent) -> bool:
        """Select a region block, as a click on the block does, and grasp the region at its box's title strip."""
        point = self.mapToScene(event.position().toPoint())
        region = self._graph.regions.grasped_at(point)
        if region is None:
            return False
        selected = self._graph.selected_nodes()
        if _adds_to_selection(event):
            self._graph.select({region}.symmetric_difference(selected))
        elif region not in selected:
            self._graph.select([region])
        if self._graph.nodes[region].isSelected():
            self._gesture = self._drag_nodes(region, point)
        return True

    def _press_frame(self, event: QMouseEvent) -> bool:
        """Grasp a frame at an edge or at its title strip, and select it."""
        point = self.mapToScene(event.position().toPoint())
        frames, edges = self._graph.frames, self._graph.frames.edges_at(point, EDGE_REACH / self.zoom)
        frame_id = edges[0] if edges is not None else frames.strip_at(point)
        if frame_id is None:
            return False
        if _adds_to_selection(event):
            frames.select({frame_id}.symmetric_difference(frames.selected()))
        elif frame_id not in frames.selected():
            self._graph.select([])
            frames.select([frame_id])
        if edges is not None:
            self._gesture = FrameResize(self._graph, *edges, self.frame_resized.emit)
        else:
            self._gesture = FrameDrag(self._graph, frame_id, self.frames_dropped.emit, point)
        return True

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Continue the gesture that the press started."""
        position = event.position().toPoint()
        self.cursor_position = position
        if event.buttons() & Qt.MouseButton.LeftButton and _is_apart(position, self._pressed_at):
            self._edge_scroll.follow(position)
        if self._pan_from is not None:
            self.scroll_by(self._pan_from - position)
            self._pan_from = position
        elif self._gesture is not None:
            self._drag_to_pointer()
        else:
            self._graph.hover(self.mapToScene(position))

    def leaveEvent(self, event: QEvent) -> None:
        """Remove the mark of what was under the pointer."""
        self._graph.hover(None)
        super().leaveEvent(event)

    def _drag_to_pointer(self) -> None:
        """Continue the gesture after the pointer has moved, or the view under it."""
        if self._gesture is not None:
            moved = _is_apart(self.cursor_position, self._pressed_at)
            self._gesture.move(self.mapToScene(self.cursor_position), moved=moved)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish the gesture that the press started, and request its edit."""
        position = event.position().toPoint()
        moved = _is_apart(position, self._pressed_at)
        self._edge_scroll.stop()
        if self._pan_from is not None:
            self._pan_from = None
            self.viewport().unsetCursor()
            if event.button() == Qt.MouseButton.RightButton and not moved:
                self.menu_requested.emit(self.hit(position), event.globalPosition().toPoint())
            return
        gesture, self._gesture = self._gesture, None
        clicked, self._clicked = self._clicked, None
        if gesture is not None:
            if clicked is not None and position == self._pressed_at:
                self._click(clicked, adds=_adds_to_selection(event))
            gesture.release(self.mapToScene(position), moved=moved)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Report the double-clicked item."""
        position = event.position().toPoint()
        dot = self._graph.dot_at(self.mapToScene(position), DOT + REACH / 2 / self.zoom)
        if dot is not None:
            self.dot_double_clicked.emit(*dot)
            return
        match self.hit(position):
            case None if (frame_id := self._graph.frames.strip_at(self.mapToScene(position))) is not None:
                self.frame_double_clicked.emit(frame_id)
            case None:
                self.canvas_double_clicked.emit()
            case Connection() as connection:
                self.connection_double_clicked.emit(connection)
            case str(node_id):
                self.node_double_clicked.emit(node_id)

    # Dropped files

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Follow files and pictures; `drop_explained` says what is done with them."""
        event.setAccepted(is_incoming(event.mimeData()))

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Accept what becomes blocks here, or what the block here reads."""
        self.cursor_position = event.position().toPoint()
        text, does = self._incoming.explain(event.mimeData(), self.mapToScene(self.cursor_position))
        self.drop_explained.emit(text, not does)
        event.setAccepted(does)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Say nothing more about the files."""
        self.drop_explained.emit("", False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Take what is dropped."""
        self.drop_explained.emit("", False)
        self.cursor_position = event.position().toPoint()
        event.acceptProposedAction()
        self._incoming.take(event.mimeData(), self.mapToScene(self.cursor_position))

    # Keys

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the selection's menu from the keyboard; for the mouse, releasing the button requests it."""
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            point = self._graph.selection_point()
            self.cursor_position = self.mapFromScene(point) if point is not None else self.rect().center()
            chosen = [*self._graph.selected_nodes(), *self._graph.selected_connections()]
            self.menu_requested.emit(next(iter(chosen), None), self.viewport().mapToGlobal(self.cursor_position))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Cancel a drag; leave every other key to the canvas."""
        if event.key() == Qt.Key.Key_Escape and self._gesture is not None:
            self.cancel_drag()
        else:
            event.ignore()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Cancel a drag: its release may go to another window."""
        self.cancel_drag()
        super().focusOutEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Keep Tab for the search; Shift+Tab leaves the canvas."""
        return False if forward else super().focusNextPrevChild(forward)

    # Tooltips and background

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep selected nodes in view that were, while a dock takes room from the canvas."""
        before = self.mapToScene(QRect(QPoint(), event.oldSize())).boundingRect()
        super().resizeEvent(event)
        rect, seen = self._graph.rect_of(self._graph.selected_nodes()), self.seen()
        fits = rect.width() < seen.width() and rect.height() < seen.height()
        if fits and not rect.isEmpty() and before.contains(rect) and not seen.contains(rect):
            self.ensureVisible(rect, _NEAR_EDGE, _NEAR_EDGE)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show a tooltip, whose text is refreshed as long as the pointer stays there."""
        if event.type() == QEvent.Type.Enter:
            self.entered.emit()
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self.cursor_position = event.pos()
            hit = self.hit(event.pos())
            if hit is None or isinstance(self._gesture, ConnectionDrag):
                self.tooltip.hide()
            else:
                self.tooltip.show(event.globalPos(), partial(self._describe_still, hit))
            return True
        return super().viewportEvent(event)

    def _describe_still(self, hit: Hit) -> str:
        """Return the tooltip of the item under the pointer."""
        return self._describe(hit) if self.hit(self.cursor_position) == hit else ""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, in slices if it would take long."""
        self.painting.paint(event.region())

    def _paint_region(self, region: QRegion) -> None:
        self._clip = region
        with self._graph.painting_only(self._areas(region)):
            super().paintEvent(QPaintEvent(region))

    def _find_spans(self, region: QRegion) -> NDArray[np.float64]:
        to_view = self.viewportTransform()
        return self._graph.spans_within(*self._areas(region)) * to_view.m22() + to_view.dy()

    def _areas(self, region: QRegion) -> list[QRectF]:
        """Return the parts of the scene in a region of the viewport."""
        parts = [region.boundingRect()]
        if region.rectCount() <= _MOST_PARTS:
            parts = list(region)  # type: ignore[call-overload]  # PySide's stubs don't have it
        return [self.mapToScene(part).boundingRect() for part in parts]

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint the background with its dots."""
        to_view = painter.worldTransform()
        painter.resetTransform()
        painter.setClipRegion(self._clip)  # the items are clipped too, since Qt saves no state of the painter
        painter.setWorldTransform(to_view)
        theme = colours.current()
        edge = 1 / self.zoom  # a pixel on which the rectangle ends would only be filled in part
        painter.fillRect(QRectF(rect).adjusted(-edge, -edge, edge, edge), qcolor(theme.canvas))
        if self.zoom < _DOTS_FROM:
            return
        (left, right), (top, bottom) = (
            (int(first) // _DOT_DISTANCE, int(last) // _DOT_DISTANCE)
            for first, last in ((rect.left(), rect.right()), (rect.top(), rect.bottom()))
        )
        painter.setPen(on_screen(QPen(qcolor(theme.canvas_grid), 2.0), painter))
        dots = _dots(right - left + 1, bottom - top + 1)
        painter.drawPoints(dots.translated(left * _DOT_DISTANCE, top * _DOT_DISTANCE))

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint the gesture."""
        if self._gesture is not None:
            self._gesture.paint(painter)


@lru_cache(maxsize=16)
def _dots(columns: int, rows: int) -> QPolygonF:
    """Return the background's dots from the origin on."""
    return QPolygonF([QPointF(x * _DOT_DISTANCE, y * _DOT_DISTANCE) for x in range(columns) for y in range(rows)])


def _is_apart(one: QPoint, other: QPoint) -> bool:
    """Return whether two positions are too far apart for a click."""
    return (one - other).manhattanLength() > _CLICK


def _adds_to_selection(event: QMouseEvent) -> bool:
    """Return whether a click adds to or removes from the selection."""
    return bool(event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier))
