"""The view of the scene: zoom, pan, selection, and the gestures that ask for an edit. It edits nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QGraphicsView, QToolTip, QWidget

from app.canvas.connection_drag import ConnectionDrag, Drop, Fitting
from app.canvas.graph_scene import GraphScene
from app.canvas.nodegraph_adapter import ConnectionView, PortView
from app.canvas.painting import qcolor
from app.theme import colours
from app.theme.fonts import BODY, SMALL, ui_font
from engine.patch.changes import Connection, PortRef

_ZOOM_PER_STEP = 1.0015
_ZOOM_RANGE = (0.05, 2.5)
_GRID = 32
_CLICK = 4  # pixels that a click may move
_REACH = 10.0  # pixels from a port's centre that count as the port
_END_REACH = 28.0  # pixels from a connection's end in which a drag takes the end off

#: What lies under the pointer: a port, a connection, or a node's id.
Hit = PortRef | Connection | str


class GraphView(QGraphicsView):
    """Shows a `GraphScene`.

    Left drag moves nodes, starts connections or draws a rubber band; middle or right drag pans; the wheel zooms; Alt
    with left drag cuts connections.
    """

    nodes_dragged = Signal(dict)  # positions by node id
    connection_dropped = Signal(Drop)
    connections_cut = Signal(list)  # Connections
    hovering = Signal(PortRef, PortRef)  # a connection dragged from the first port is over the second
    hovering_ended = Signal()
    node_double_clicked = Signal(str)
    connection_double_clicked = Signal(Connection)
    canvas_double_clicked = Signal()

    def __init__(self, scene: GraphScene, fitting: Fitting, describe: Callable[[Hit], str], parent: QWidget) -> None:
        super().__init__(scene, parent)
        self._graph = scene
        self._fitting = fitting
        self._describe = describe
        self._drag: ConnectionDrag | None = None
        self._knife: QPolygonF | None = None
        self._pan_from: QPoint | None = None
        self._pressed_at = QPoint()
        self._grabbed: dict[str, QPointF] = {}
        self.cursor_position = QPoint()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.NoAnchor)
        self.setResizeAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self.setDragMode(QGraphicsView.DragMode.RubberBandDrag)
        self.setOptimizationFlag(QGraphicsView.OptimizationFlag.DontSavePainterState)
        self.setMouseTracking(True)
        self.centerOn(0, 0)

    # Zoom and place

    @property
    def zoom(self) -> float:
        """Pixels per scene unit; 1 at 100 %."""
        return self.transform().m11()

    def set_zoom(self, zoom: float) -> None:
        """Zoom about the middle of the view."""
        self._zoom_about(self.viewport().rect().center(), zoom)

    def show_nodes(self, node_ids: Iterable[str]) -> None:
        """Bring nodes into view, as large as they go up to 100 %."""
        rect = self._graph.rect_of(node_ids)
        if rect.isEmpty():
            return
        rect = rect.adjusted(-48, -48, 48, 48)
        view = self.viewport().rect()
        self.set_zoom(min(view.width() / rect.width(), view.height() / rect.height(), 1.0))
        self.centerOn(rect.center())

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
        return connection.connection if connection else None

    def cancel_drag(self) -> None:
        """End a connection drag as if it had not begun."""
        drag, self._drag = self._drag, None
        if drag is not None:
            drag.end()
            self.hovering_ended.emit()

    def _zoom_about(self, position: QPoint, zoom: float) -> None:
        point = self.mapToScene(position)
        factor = min(max(zoom, _ZOOM_RANGE[0]), _ZOOM_RANGE[1]) / self.zoom
        self.scale(factor, factor)
        self._scroll_by(self.mapFromScene(point) - position)

    def _scroll_by(self, delta: QPoint) -> None:
        self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() + delta.x())
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + delta.y())

    # Mouse

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        self._zoom_about(event.position().toPoint(), self.zoom * _ZOOM_PER_STEP ** event.angleDelta().y())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin what the button, the modifiers and the place mean."""
        position = event.position().toPoint()
        self._pressed_at = self.cursor_position = position
        button = event.button()
        if button in (Qt.MouseButton.MiddleButton, Qt.MouseButton.RightButton):
            self._pan_from = position
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        elif button == Qt.MouseButton.LeftButton and not self._press_connection(event):
            super().mousePressEvent(_shift_as_control(event))
            self._grab_nodes()

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
            self._select_connection(connection, event.modifiers())
        return True

    def _far_end(self, connection: ConnectionView, point: QPointF) -> PortView | None:
        """The end that stays when the nearer one is taken off; None in the middle of the connection."""
        reach = min(_END_REACH / self.zoom, connection.path().length() / 3)
        ends: tuple[PortView, PortView] = (connection.input_port, connection.output_port)
        for near, far in (ends, ends[::-1]):
            if (near.scenePos() - point).manhattanLength() <= reach:
                return far
        return None

    def _select_connection(self, connection: ConnectionView, modifiers: Qt.KeyboardModifier) -> None:
        if not modifiers & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier):
            self._graph.select([])
        connection.select()

    def _begin_drag(self, start: PortView, point: QPointF, picked_up: Connection | None) -> None:
        self._drag = ConnectionDrag(self._graph, start, point, self._fitting)
        if picked_up is not None:
            self._drag.pick_up(picked_up)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Go on with what the press began."""
        position = event.position().toPoint()
        self.cursor_position = position
        point = self.mapToScene(position)
        if self._pan_from is not None:
            self._scroll_by(self._pan_from - position)
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
            super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Finish what the press began, and ask for the edit it means."""
        position = event.position().toPoint()
        moved = (position - self._pressed_at).manhattanLength() > _CLICK
        if self._pan_from is not None:
            self._pan_from = None
            self.viewport().unsetCursor()
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
            super().mouseReleaseEvent(_shift_as_control(event))
            self._release_nodes()

    def _finish_drag(self, point: QPointF, moved: bool) -> None:
        drag = self._drag
        assert drag is not None
        end = drag.target_at(point, _REACH / self.zoom)
        drop = Drop(drag.start, end, point, drag.picked_up)
        self.cancel_drag()
        if moved:
            self.connection_dropped.emit(drop)
        elif drag.picked_up is not None:
            self._graph.select([])
            self._graph.connections[drag.picked_up].select()

    def _grab_nodes(self) -> None:
        if self._graph.mouseGrabberItem() is None:
            return  # the press was on the canvas, and begins a rubber band
        for node in self._graph.nodes.values():
            if node.isSelected():
                node.is_dragged = True
                self._grabbed[node.id] = node.pos()

    def _release_nodes(self) -> None:
        positions = {}
        for node_id, before in self._grabbed.items():
            node = self._graph.nodes.get(node_id)
            if node is not None:
                node.is_dragged = False
                if node.pos() != before:
                    positions[node_id] = (node.x(), node.y())
        self._grabbed.clear()
        if positions:
            self.nodes_dragged.emit(positions)

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

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Cancel a drag; every other key is the canvas's."""
        if event.key() == Qt.Key.Key_Escape and self._drag is not None:
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
                QToolTip.showText(event.globalPos(), self._describe(hit), self.viewport())
            return True
        return super().viewportEvent(event)

    def drawBackground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint the canvas and its dots, which go when they would crowd."""
        theme = colours.current()
        painter.fillRect(rect, qcolor(theme.canvas))
        if self.zoom < 0.5:
            return
        left, top = int(rect.left()) // _GRID * _GRID, int(rect.top()) // _GRID * _GRID
        dots = [
            QPointF(x, y)
            for x in range(left, int(rect.right()) + 1, _GRID)
            for y in range(top, int(rect.bottom()) + 1, _GRID)
        ]
        pen = QPen(qcolor(theme.canvas_grid), 2.0)
        pen.setCosmetic(True)
        painter.setPen(pen)
        painter.drawPoints(QPolygonF(dots))

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Paint the knife's cut, and on an empty canvas what to do."""
        theme = colours.current()
        if self._knife is not None:
            pen = QPen(qcolor(theme.accent), 1.5, Qt.PenStyle.DashLine)
            pen.setCosmetic(True)
            painter.setPen(pen)
            painter.drawPolyline(self._knife)
        if self._graph.nodes:
            return
        painter.resetTransform()
        middle = QRectF(self.viewport().rect())
        painter.setFont(ui_font(BODY, strong=True))
        painter.setPen(qcolor(theme.text_dim))
        painter.drawText(middle.translated(0, -12), Qt.AlignmentFlag.AlignCenter, "Press Tab to add a block")
        painter.setFont(ui_font(SMALL))
        painter.setPen(qcolor(theme.text_faint))
        painter.drawText(middle.translated(0, 12), Qt.AlignmentFlag.AlignCenter, "or double-click the canvas")


def _shift_as_control(event: QMouseEvent) -> QMouseEvent:
    """Shift adds to the selection as well as Ctrl, which is the only one Qt knows."""
    if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
        return event
    return QMouseEvent(
        event.type(),
        event.position(),
        event.scenePosition(),
        event.globalPosition(),
        event.button(),
        event.buttons(),
        event.modifiers() | Qt.KeyboardModifier.ControlModifier,
        event.pointingDevice(),
    )
