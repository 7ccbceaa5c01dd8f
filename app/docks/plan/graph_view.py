"""Paints the launched graph, and lets a person move about in it."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, ui_font, unit
from warploom.app.view_models.profile.launched_graph import BOX, KINDS, STRIP, GraphDrawing, blocks_of, tooltip
from warploom.engine.compiler.inspection.data import FramePlan
from warploom.engine.drawings.rect import Rect
from warploom.engine.figures import format_time

_PER_EIGHTH_DEGREE, _STEP = 1.0015, 1.25
_LEAST, _MOST = 0.02, 2.0
#: The least scale at first, and the least at which texts are painted.
_LABELLED = 0.4
#: The categories of blocks whose colours the kinds of nodes have.
_TINTS = {"kernel": "math", "memset": "buffer", "memcpy": "io", "library": "linalg", "conditional": "control"}
_MARGIN, _DRAG, _ARROW = 12.0, 4, 4.0


class LaunchedGraphView(QWidget):
    """A wheel zooms about the pointer, a drag pans, a click chooses a node; double click and Home show the whole.

    The arrow keys go to the node before or after along the arrows, and through the order of the plan.
    """

    #: The blocks of the chosen node.
    nodes_chosen = Signal(list)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Nodes of the launched graph")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.plan = FramePlan((), (), 0, 0, 0)
        self.drawing = GraphDrawing()
        #: Mean times of operations in nanoseconds, as far as they are measured.
        self.times: Mapping[int, int] = {}
        #: The operations whose blocks are selected.
        self.marked: frozenset[int] = frozenset()
        self.chosen = -1
        self.scale, self._origin = 1.0, QPointF()  # of the view's corner, in the drawing
        self._is_placed = False  # the person has moved or zoomed
        self._pressed: QPointF | None = None
        self._dragged = False
        self._blocks: list[frozenset[str]] = []
        self._titles: Sequence[str] = ()

    def show_graph(self, plan: FramePlan, drawing: GraphDrawing, titles: Sequence[str]) -> None:
        """Show another graph, with a title for each node; the view stays where the person has moved it."""
        self.plan, self.drawing, self.times, self._titles = plan, drawing, {}, titles
        self._blocks = [frozenset(blocks_of(operation)) for operation in plan.operations]
        self.marked, self.chosen = frozenset(), -1
        self._place()
        self.update()

    def forget(self) -> None:
        """Show the start of the next graph, which belongs to another patch."""
        self._is_placed = False

    def show_times(self, times: Mapping[int, int]) -> None:
        """Show times of operations."""
        self.times = times
        self.update()

    def show_selection(self, nodes: frozenset[str]) -> None:
        """Mark the operations of some blocks, and bring the first of them into view unless one is."""
        marked = frozenset(index for index, blocks in enumerate(self._blocks) if blocks & nodes)
        if marked == self.marked:
            return
        self.marked = marked
        if self.chosen not in marked:
            self.chosen = min(marked, default=-1)
        places = [self.place(index) for index in marked]
        if places and not any(QRectF(self.rect()).intersects(place) for place in places):
            self._reveal(self.chosen)
        self.update()

    def choose(self, index: int) -> None:
        """Choose a node, and with it its blocks."""
        self.chosen = index
        self._reveal(index)
        if self._blocks[index]:
            self.nodes_chosen.emit(blocks_of(self.plan.operations[index]))
        self.update()

    def place(self, index: int) -> QRectF:
        """Return the place of a node's box in the widget."""
        return self._shown(self.drawing.boxes[index])

    def index_at(self, point: QPointF) -> int:
        """Return the innermost node at a point; -1 if there is none."""
        found = [index for index in self.drawing.boxes if self.place(index).contains(point)]
        return max(found, default=-1)  # operations inside a region come after it

    def fit(self) -> None:
        """Show the whole graph."""
        width, height = self.drawing.width + 2 * _MARGIN, self.drawing.height + 2 * _MARGIN
        self.scale = min(max(min(self.width() / width, self.height() / height), _LEAST), unit())
        self._origin = QPointF(
            -_MARGIN - max(self.width() / self.scale - width, 0) / 2,
            -_MARGIN - max(self.height() / self.scale - height, 0) / 2,
        )
        self._is_placed = True
        self.update()

    def zoom(self, factor: float, about: QPointF) -> None:
        """Zoom about a point of the widget."""
        at = self._origin + about / self.scale
        self.scale = min(max(self.scale * factor, _LEAST), _MOST)
        self._origin = at - about / self.scale
        self._is_placed = True
        self.update()

    def _place(self) -> None:
        """Show the start of the graph at a readable size, unless the person has chosen another part."""
        if not self._is_placed:
            self.fit()
            if self.scale < unit():
                self.scale = unit()
                room = self.height() / self.scale - self.drawing.height
                self._origin = QPointF(-_MARGIN, -max(room / 2, _MARGIN))
            self._is_placed = False

    def _reveal(self, index: int) -> None:
        place = self.place(index)
        inside = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        if not inside.contains(place):
            x = min(place.left() - inside.left(), 0) or max(
                min(place.right() - inside.right(), place.left() - inside.left()), 0
            )
            y = min(place.top() - inside.top(), 0) or max(
                min(place.bottom() - inside.bottom(), place.top() - inside.top()), 0
            )
            self._origin += QPointF(x, y) / self.scale
            self._is_placed = True

    def _shown(self, box: Rect) -> QRectF:
        left, top = (box.x - self._origin.x()) * self.scale, (box.y - self._origin.y()) * self.scale
        return QRectF(left, top, box.width * self.scale, box.height * self.scale)

    # Qt

    def event(self, event: QEvent) -> bool:
        """Show the tooltip of the node under the pointer."""
        if not isinstance(event, QHelpEvent):
            return super().event(event)
        index = self.index_at(QPointF(event.pos()))
        text = tooltip(self.plan, index, self.times.get(index)) if index >= 0 else ""
        QToolTip.showText(event.globalPos(), text, self)
        return True

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        self.zoom(_PER_EIGHTH_DEGREE ** event.angleDelta().y(), event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a drag or a click."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan."""
        if self._pressed is None:
            return
        moved = event.position() - self._pressed
        if self._dragged or moved.manhattanLength() >= _DRAG:
            self._dragged, self._pressed, self._is_placed = True, event.position(), True
            self._origin -= moved / self.scale
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose the node that was clicked."""
        if self._pressed is not None and not self._dragged and (index := self.index_at(event.position())) >= 0:
            self.choose(index)
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole graph, on a place without a node."""
        if self.index_at(event.position()) < 0:
            self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Go from node to node, and zoom."""
        key, operations = Qt.Key(event.key()), self.plan.operations
        middle = QPointF(self.width() / 2, self.height() / 2)
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(1 / _STEP if key == Qt.Key.Key_Minus else _STEP, middle)
        elif key == Qt.Key.Key_Home:
            self.fit()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right) and operations:
            at = self.chosen
            steps = {
                Qt.Key.Key_Up: at - 1,
                Qt.Key.Key_Down: at + 1,
                Qt.Key.Key_Left: max((one for one, other in self.drawing.arrows if other == at), default=at),
                Qt.Key.Key_Right: min((other for one, other in self.drawing.arrows if one == at), default=at),
            }
            self.choose(min(max(steps[key], 0), len(operations) - 1))
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the graph in view."""
        super().resizeEvent(event)
        self._place()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint what is in view."""
        painter, theme, seen = QPainter(self), colours.current(), QRectF(self.rect())
        painter.fillRect(self.rect(), QColor(theme.canvas))
        font = QFont(ui_font(SMALL))
        font.setPixelSize(max(round(font.pixelSize() * min(self.scale, 1.25 * unit())), 1))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        regions = [index for index, operation in enumerate(self.plan.operations) if operation.kind == "region"]
        for index in regions:
            if self.place(index).intersects(seen):
                self._paint_region(painter, index)
        for name, box in self.drawing.bodies:
            place = self._shown(box)
            if place.intersects(seen):
                painter.setPen(QColor(theme.node_border))
                painter.drawRect(place)
                if self.scale >= _LABELLED:
                    painter.setPen(QColor(theme.text_dim))
                    strip = QRectF(place.left() + 6, place.top(), place.width() - 12, STRIP * self.scale)
                    painter.drawText(strip, Qt.AlignmentFlag.AlignVCenter, name)
        self._paint_arrows(painter, seen)
        is_region = frozenset(regions)
        for index in self.drawing.boxes:
            place = self.place(index)
            if index in is_region:
                place.setHeight(BOX[1] * self.scale)
            if place.intersects(seen):
                self._paint_box(painter, index, place, metrics)
        painter.end()

    def _paint_region(self, painter: QPainter, index: int) -> None:
        theme = colours.current()
        painter.fillRect(self.place(index), QColor(colours.mix(theme.canvas, theme.dock, 0.8)))
        painter.setPen(QColor(theme.node_border))
        painter.drawRect(self.place(index))

    def _paint_arrows(self, painter: QPainter, seen: QRectF) -> None:
        theme = colours.current()
        usual, strong = QPen(QColor(theme.text_faint), 1), QPen(QColor(theme.accent), 1.5)
        for (earlier, later), way in self.drawing.arrows.items():
            points = [QPointF(x, y) * self.scale - self._origin * self.scale for x, y in way]
            box = QPolygonF(points).boundingRect().adjusted(-1, -1, 1, 1)
            if not box.intersects(seen):
                continue
            is_marked = earlier in self.marked or later in self.marked
            painter.setPen(strong if is_marked else usual)
            painter.drawPolyline(points)
            if self.scale >= _LABELLED:
                tip = points[-1]
                painter.drawLine(tip, tip + QPointF(-_ARROW, -_ARROW))
                painter.drawLine(tip, tip + QPointF(-_ARROW, _ARROW))

    def _paint_box(self, painter: QPainter, index: int, place: QRectF, metrics: QFontMetricsF) -> None:
        theme, operation = colours.current(), self.plan.operations[index]
        kind = KINDS[operation.kind]
        painter.fillRect(place, QColor(theme.node))
        stripe = QRectF(place.left(), place.top(), max(4 * self.scale, 1), place.height())
        painter.fillRect(stripe, QColor(colours.category_ink(_TINTS[kind], theme)))
        is_marked = index in self.marked
        width = 2 if is_marked or index == self.chosen else 1
        painter.setPen(QPen(QColor(theme.accent if width > 1 else theme.node_border), width))
        painter.drawRect(place)
        if self.scale < _LABELLED:
            return
        inside = place.adjusted(10 * self.scale, 3 * self.scale, -6 * self.scale, -3 * self.scale)
        time_ns = self.times.get(index)
        label = kind if time_ns is None else format_time(time_ns)
        painter.setPen(QColor(theme.text_dim if time_ns is None else theme.text))
        painter.drawText(inside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, label)
        room = inside.width() - metrics.horizontalAdvance(label) - 6
        painter.setPen(QColor(theme.text))
        name = metrics.elidedText(operation.name, Qt.TextElideMode.ElideRight, room)
        painter.drawText(inside, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, name)
        painter.setPen(QColor(theme.text_dim))
        title = metrics.elidedText(self._titles[index], Qt.TextElideMode.ElideRight, inside.width())
        painter.drawText(inside, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, title)
