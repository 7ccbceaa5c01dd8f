"""The view of the scene: selection, tooltips, and the gestures that ask for an edit. It edits nothing itself."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPolygonF,
)
from PySide6.QtWidgets import QGraphicsView, QToolTip, QWidget

from app.canvas.connection_drag import ConnectionDrag, Drop, Fitting
from app.canvas.edge_scroll import EdgeScroll
from app.canvas.graph_scene import GraphScene
from app.canvas.ground_painter import paint_cut, paint_ground, paint_hint
from app.canvas.node_drag import NodeDrag, NodeDrop
from app.canvas.nodegraph_adapter import ConnectionView, NodeView, PortView
from app.canvas.pointer_events import adds_to_selection, is_apart, left_move, shift_as_control
from app.canvas.region_target import Refusal
from app.canvas.tooltips import as_html
from app.canvas.zoomable_view import ZoomableView
from app.safe_overrides import safe_overrides
from app.theme import colours
from engine.patch.changes import Connection, PortRef

_REACH = 10.0  # pixels from a port's centre that count as the port
_END_REACH = 28.0  # pixels from a connection's end in which a drag takes the end off

#: What lies under the pointer: a port, a connection, or a node's id.
Hit = PortRef | Connection | str


@safe_overrides
class GraphView(ZoomableView):
    """Shows a `GraphScene`.

    Left drag moves nodes, starts connections or draws a rubber band; middle or right drag pans; a right click asks for
    the menu; the wheel zooms; Alt with left drag cuts connections. A drag at the edge moves the view. The title strip
    of a region's box stands for its region block.
    """

    nodes_dropped = Signal(NodeDrop)
    move_refused = Signal(str)  # why nodes that are dragged can't be dropped where the pointer is
    connection_dropped = Signal(Drop)
    connections_cut = Signal(list)  # Connections
    hovering = Signal(PortRef, PortRef)  # a connection dragged from the first port is over the second
    hovering_ended = Signal()
    node_double_clicked = Signal(str)
    connection_double_clicked = Signal(Connection)
    canvas_double_clicked = Signal()
    menu_requested = Signal(object, QPoint)  # for a Hit or None, at a position of the screen

    def __init__(
        self,
        scene: GraphScene,
        fitting: Fitting,
        move_refusal: Refusal,
        describe: Callable[[Hit], str],
        parent: QWidget,
    ) -> None:
        super().__init__(scene, parent)
        self._graph = scene
        self._fitting = fitting
        self._describe = describe
        self._drag: ConnectionDrag | None = None
        self._knife: QPolygonF | None = None
        self._pan_from: QPoint | None = None
        self._pressed_at = QPoint()
        self._node_drag = NodeDrag(scene, move_refusal)
        self._edge_scroll = EdgeScroll(self)
        self._edge_scroll.scrolled.connect(self._go_on_dragging)
        self.cursor_position = QPoint(-1, -1)  # not known yet
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setDragMode(QGraphicsView.DragMode.RubberBandDrag)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontSavePainterState)
        self.setMouseTracking(True)

    # Places

    def cursor_point(self) -> QPointF:
        """Where the pointer was last, in the scene; the middle of the view when it is elsewhere."""
        viewport = self.viewport().rect()
        position = self.cursor_position if viewport.contains(self.cursor_position) else viewport.center()
        return self.mapToScene(position)

    def hit(self, position: QPoint) -> Hit | None:
        """Return what lies at a position of the viewport."""
        point = self.mapToScene(position)
        if port := self._graph.port_at(point, _REACH / self.zoom):
            return port.ref
        if node := self._graph.node_at(point):
            return str(node.id)
        connection = self._graph.connection_at(point)
        return connection.connection if connection else self._graph.regions.grasped_at(point)

    def cancel_drag(self) -> None:
        """End a drag as if it had not begun."""
        self._edge_scroll.stop()
        if self._node_drag.is_on:
            if (grabber := self._graph.mouseGrabberItem()) is not None:
                grabber.ungrabMouse()
            self._node_drag.cancel()
            self.hovering_ended.emit()
        drag, self._drag = self._drag, None
        if drag is not None:
            drag.end()
            self.hovering_ended.emit()

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin what the button, the modifiers and the place mean."""
        position = event.position().toPoint()
        self._pressed_at = self.cursor_position = position
        button = event.button()
        if button in (Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton):
            self._pan_from = position
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif button == Qt.MouseButton.LeftButton and not self._press_connection(event):
            if self._press_strip(event):
                return
            super().mousePressEvent(shift_as_control(event))
            grabber = self._graph.mouseGrabberItem()
            if isinstance(grabber, NodeView):  # otherwise it begins a rubber band
                self._node_drag.begin(grabber.id, self.mapToScene(position))

    def _press_strip(self, event: QMouseEvent) -> bool:
        """Select a region block, as a click on itself does, and take the region by its box's title strip."""
        point = self.mapToScene(event.position().toPoint())
        region = self._graph.regions.grasped_at(point) if self._graph.node_at(point) is None else None
        if region is None:
            return False
        selected = self._graph.selected_nodes()
        if adds_to_selection(event):
            self._graph.select({region}.symmetric_difference(selected))
        elif region not in selected:
            self._graph.select([region])
        if self._graph.nodes[region].isSelected():
            self._node_drag.begin(region, point)
        return True

    def _press_connection(self, event: QMouseEvent) -> bool:
        """Begin a drag or a cut, or select a connection; False when the press is about something else."""
        point = self.mapToScene(event.position().toPoint())
        if event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._knife = QPolygonF([point])
            return True
        port = self._graph.port_at(point, _REACH / self.zoom)
        if port is not None:
            pipes = port.connected_pipes
            if port.face.is_input and pipes:
                self._begin_drag(pipes[0].output_port, point, pipes[0].connection)
            else:
                self._begin_drag(port, point, None)
            return True
        connection = self._graph.connection_at(point)
        if connection is None:
            return False
        far_end = self._far_end(connection, point)
        if far_end is not None:
            self._begin_drag(far_end, point, connection.connection)
        else:
            if not adds_to_selection(event):
                self._graph.select([])
            connection.select()
        return True

    def _far_end(self, connection: ConnectionView, point: QPointF) -> PortView | None:
        """The end that stays when the nearer one is taken off; None in the middle of the connection."""
        reach = min(_END_REACH / self.zoom, connection.path().length() / 3)
        ends: tuple[PortView, PortView] = (connection.input_port, connection.output_port)
        for near, far in (ends, ends[::-1]):
            if (near.scenePos() - point).manhattanLength() <= reach:
                return far
        return None

    def _begin_drag(self, start: PortView, point: QPointF, picked_up: Connection | None) -> None:
        self._drag = ConnectionDrag(self._graph, start, point, self._fitting)
        if picked_up is not None:
            self._drag.pick_up(picked_up)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with what the press began."""
        position = event.position().toPoint()
        self.cursor_position = position
        point = self.mapToScene(position)
        if event.buttons() & Qt.MouseButton.LeftButton and is_apart(position, self._pressed_at):
            self._edge_scroll.follow(position)
        if self._pan_from is not None:
            self.scroll_by(self._pan_from - position)
            self._pan_from = position
        elif self._knife is not None:
            self._knife.append(point)
            self.viewport().update()
        elif self._drag is not None:
            end = self._drag.target_at(point, _REACH / self.zoom)
            self._drag.move(point if end is None else self._port(end).scenePos())
            if end is None:
                self.hovering_ended.emit()
            else:
                self.hovering.emit(self._drag.start, end)
        else:
            self._move_nodes(event, point)

    def _move_nodes(self, event: QMouseEvent, point: QPointF) -> None:
        if not self._node_drag.is_on:
            super().mouseMoveEvent(event)
        elif self._node_drag.has_moved or is_apart(self.cursor_position, self._pressed_at):
            reason = self._node_drag.follow(point)
            if reason is not None:
                self.move_refused.emit(reason)
            else:
                self.hovering_ended.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish what the press began, and ask for the edit it means."""
        position = event.position().toPoint()
        moved = is_apart(position, self._pressed_at)
        self._edge_scroll.stop()
        if self._pan_from is not None:
            self._pan_from = None
            self.viewport().unsetCursor()
            if event.button() == Qt.MouseButton.RightButton and not moved:
                self.menu_requested.emit(self.hit(position), event.globalPosition().toPoint())
        elif self._knife is not None:
            path = QPainterPath()
            path.addPolygon(self._knife)
            self._knife = None
            self.viewport().update()
            crossed = self._graph.connections_across(path) if moved else []
            if crossed:
                self.connections_cut.emit(crossed)
        elif self._drag is not None:
            self._finish_drag(self.mapToScene(position), moved)
        else:
            super().mouseReleaseEvent(shift_as_control(event))
            drop = self._node_drag.end()
            if drop.positions:
                self.nodes_dropped.emit(drop)

    def _finish_drag(self, point: QPointF, moved: bool) -> None:
        drag = self._drag
        assert drag is not None
        end = drag.target_at(point, _REACH / self.zoom)
        drop = Drop(drag.start, end, point, drag.picked_up)
        self.cancel_drag()
        if moved:
            self.connection_dropped.emit(drop)
        elif drag.picked_up is not None:
            self._graph.select_connection(drag.picked_up)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Report what was double-clicked."""
        match self.hit(event.position().toPoint()):
            case None:
                self.canvas_double_clicked.emit()
            case Connection() as connection:
                self.connection_double_clicked.emit(connection)
            case str(node_id):
                self.node_double_clicked.emit(node_id)

    def _port(self, ref: PortRef) -> PortView:
        ports = self._graph.nodes[ref.node].ports
        return ports.get((ref.port, True)) or ports[ref.port, False]

    def _go_on_dragging(self) -> None:
        """The view moved under the pointer, which for a drag is as if the pointer had moved."""
        self.mouseMoveEvent(left_move(self, self.cursor_position))

    # Keys

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask for the menu of the selection by keyboard; that of the mouse comes with the button's release."""
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            selected = self._graph.selected_nodes()
            place = self.mapFromScene(self._graph.rect_of(selected).center()) if selected else self.rect().center()
            self.cursor_position = place
            self.menu_requested.emit(selected[0] if selected else None, self.viewport().mapToGlobal(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Cancel a drag; every other key is the canvas's."""
        if event.key() == Qt.Key.Key_Escape and (self._drag is not None or self._node_drag.is_on):
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

    def viewportEvent(self, event: QEvent) -> bool:
        """Say what lies under the pointer, made when it is asked for."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            hit = self.hit(event.pos())
            if hit is None or self._drag is not None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), as_html(self._describe(hit)), self.viewport())
            return True
        return super().viewportEvent(event)

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint what lies behind the nodes."""
        paint_ground(painter, QRectF(rect), colours.current(), self.zoom)

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint the cut, and on an empty canvas what to do."""
        if self._knife is not None:
            paint_cut(painter, self._knife, colours.current())
        if not self._graph.nodes:
            paint_hint(painter, QRectF(self.viewport().rect()), colours.current())
