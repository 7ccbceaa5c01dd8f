"""The timeline of the last measured frame, with zooming, panning and tooltips."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QToolTip, QWidget

from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, length, widget_font
from warploom.app.view_models.profile.table import ProfileTable
from warploom.app.view_models.profile.timeline import Bar, Timeline, ruler
from warploom.engine.figures import format_time
from warploom.engine.profiling.rows import RowKind

_RULER = 18  # pixels
_LANE = 18
_GAP = 2
_LABELLED = 28  # pixels; wider bars have a label
_OUTLINED = 3  # pixels; wider bars in a loop have an outline
_MARK_WIDTH = 72  # pixels between two marks of the ruler, at least
_PER_EIGHTH_DEGREE = 1.0015
_STEP = 1.25  # the zoom factor of a key
_SHORTEST_NS = 100.0
_DRAG = 4  # pixels; a longer movement makes a press a drag


class TimelineView(QWidget):
    """A view in which a wheel zooms about the pointer, a drag pans, a double click shows all; keys do the same."""

    #: The node of a bar that was clicked.
    node_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Timeline of the last measured frame")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(length(_RULER) + 2 * length(_LANE))
        self.timeline, self._table = Timeline(), ProfileTable()
        self._selected: frozenset[str] = frozenset()
        #: The visible range of time, in nanoseconds; None for the whole frame.
        self._shown: tuple[float, float] | None = None
        self._up = 0.0  # pixels by which the lanes are scrolled up
        self._pressed: QPointF | None = None
        self._dragged = False

    @property
    def shown(self) -> tuple[float, float]:
        """The start and end of the visible range, in nanoseconds after the start of the frame."""
        return self._shown or (0.0, max(float(self.timeline.end_ns), 1.0))

    def show_timeline(self, timeline: Timeline, table: ProfileTable) -> None:
        """Show another frame with the same zoom."""
        self.timeline, self._table = timeline, table
        if self._shown is not None:
            self._show(*self._shown)
        self._move_up(self._up)

    def show_selection(self, nodes: frozenset[str]) -> None:
        """Outline the bars of some nodes."""
        if nodes != self._selected:
            self._selected = nodes
            self.update()

    def fit(self) -> None:
        """Show the whole frame."""
        self._shown, self._up = None, 0.0
        self.update()

    def zoom(self, factor: float, x: float) -> None:
        """Zoom in, or out with a factor below 1, about a distance from the left edge."""
        first_ns, last_ns = self.shown
        length_ns = max((last_ns - first_ns) / factor, _SHORTEST_NS)
        share = x / max(self.width(), 1)
        first_ns += share * (last_ns - first_ns - length_ns)
        self._show(first_ns, first_ns + length_ns)

    def pan(self, pixels: float) -> None:
        """Move the visible range to the right."""
        first_ns, last_ns = self.shown
        by_ns = pixels * (last_ns - first_ns) / max(self.width(), 1)
        self._show(first_ns - by_ns, last_ns - by_ns)

    def bar_at(self, point: QPointF) -> Bar | None:
        """Return the bar at a point; the longest of several in one pixel."""
        lane = (point.y() - length(_RULER) + self._up) / length(_LANE)
        if point.y() < length(_RULER):
            return None
        found = [bar for bar in self.timeline.bars if bar.lane == int(lane) and self._covers(bar, point.x())]
        return max(found, key=lambda bar: bar.last_ns - bar.first_ns, default=None)

    # Qt

    def event(self, event: QEvent) -> bool:
        """Show the tooltip of the bar under the pointer."""
        if not isinstance(event, QHelpEvent):
            return super().event(event)
        found = self.bar_at(QPointF(event.pos()))
        QToolTip.showText(event.globalPos(), self._table.tooltip(found.row) if found else "", self)
        return True

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer; with Shift or sideways, pan."""
        turned = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(turned.x()) > abs(turned.y()):
            self.pan(turned.x() or turned.y())
        else:
            self.zoom(_PER_EIGHTH_DEGREE ** turned.y(), event.position().x())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a drag or a click."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed, self._dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan the timeline."""
        if self._pressed is None:
            return
        moved = event.position() - self._pressed
        if self._dragged or moved.manhattanLength() >= _DRAG:
            self._dragged, self._pressed = True, event.position()
            self.pan(moved.x())
            self._move_up(self._up - moved.y())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Choose the node of a bar that was clicked."""
        found = self.bar_at(event.position())
        if self._pressed is not None and not self._dragged and found is not None and self._table.node(found.row):
            self.node_chosen.emit(self._table.node(found.row))
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show the whole frame."""
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom and pan by keyboard."""
        key, middle = Qt.Key(event.key()), self.width() / 2
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(_STEP, middle)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / _STEP, middle)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.pan(self.width() / 8 * (1 if key == Qt.Key.Key_Left else -1))
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._move_up(self._up + length(_LANE) * (1 if key == Qt.Key.Key_Down else -1))
        elif key == Qt.Key.Key_Home:
            self.fit()
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ruler and the visible bars; of bars that share a pixel, draw one."""
        painter, theme = QPainter(self), colours.current()
        painter.fillRect(self.rect(), QColor(theme.canvas))
        font = widget_font(SMALL)
        painter.setFont(font)
        self._paint_ruler(painter)
        painter.setClipRect(QRectF(0, length(_RULER), self.width(), self.height() - length(_RULER)))
        metrics, drawn = QFontMetricsF(font), dict[int, int]()
        first_ns, last_ns = self.shown
        for bar in self.timeline.bars:
            if bar.last_ns < first_ns or bar.first_ns > last_ns:
                continue
            place = self._place(bar)
            if place.top() > self.height() or place.bottom() < length(_RULER):
                continue
            is_selected = self._table.node(bar.row) in self._selected
            if place.width() <= 1 and drawn.get(bar.lane) == int(place.left()) and not is_selected:
                continue
            drawn[bar.lane] = int(place.left())
            self._paint_bar(painter, bar, place, metrics, is_selected)
        painter.end()

    def _paint_bar(self, painter: QPainter, bar: Bar, place: QRectF, metrics: QFontMetricsF, is_selected: bool) -> None:
        table, theme = self._table, colours.current()
        times, category = table.times[bar.row], table.category(bar.row)
        tint = colours.category_tint(category, theme) if category else theme.control
        is_operation = table.rows[bar.row].kind is RowKind.OPERATION
        full = colours.mix(tint, theme.canvas, 0.45) if is_operation else tint
        if times.turns > 1:  # the row runs only part of the time; the strip shows which share
            ink = colours.category_ink(category, theme)
            painter.fillRect(place, QColor(colours.mix(full, theme.canvas, 0.5)))
            if place.width() >= _OUTLINED:  # a pale bar hardly differs from the canvas of the light theme
                painter.setPen(QColor(colours.mix(ink, theme.canvas, 0.5)))
                painter.drawRect(place.adjusted(0, 0, -1, -1))
            fill = min(times.busy_ns / max(bar.last_ns - bar.first_ns, 1), 1.0)
            strip = QRectF(place.left(), place.bottom() - 3, place.width() * fill, 3)
            painter.fillRect(strip, QColor(ink))
        else:
            painter.fillRect(place, QColor(full))
        if is_selected:
            painter.setPen(QColor(theme.accent))
            painter.drawRect(place.adjusted(0, 0, -1, -1))
        seen = place.intersected(QRectF(0, place.top(), self.width(), place.height())).adjusted(4, 0, -4, 0)
        if seen.width() >= _LABELLED:
            painter.setPen(QColor(theme.text))
            turns = f" × {times.turns:,}" if times.turns > 1 else ""
            label = metrics.elidedText(table.title(bar.row) + turns, Qt.TextElideMode.ElideRight, seen.width())
            painter.drawText(seen, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, label)

    def _paint_ruler(self, painter: QPainter) -> None:
        theme, (first_ns, last_ns) = colours.current(), self.shown
        painter.setPen(QColor(theme.text_dim))
        for at_ns in ruler(first_ns, last_ns, self.width() // length(_MARK_WIDTH)):
            x = self._x(at_ns)
            painter.fillRect(QRectF(x, 0, 1, self.height()), QColor(theme.canvas_grid))
            painter.drawText(QPointF(x + 4, length(_RULER - 5)), format_time(at_ns) if at_ns else "0")

    def _show(self, first_ns: float, last_ns: float) -> None:
        """Show a part of the frame, or all of it if the part is at least as long."""
        end_ns = max(float(self.timeline.end_ns), 1.0)
        length_ns = last_ns - first_ns
        if length_ns >= end_ns:
            self._shown = None
        else:
            first_ns = min(max(first_ns, 0.0), end_ns - length_ns)
            self._shown = first_ns, first_ns + length_ns
        self.update()

    def _move_up(self, pixels: float) -> None:
        room = self.timeline.lanes * length(_LANE) + length(_RULER) - self.height()
        self._up = min(max(pixels, 0.0), max(float(room), 0.0))
        self.update()

    def _x(self, at_ns: float) -> float:
        first_ns, last_ns = self.shown
        return (at_ns - first_ns) * self.width() / (last_ns - first_ns)

    def _place(self, bar: Bar) -> QRectF:
        left, right = self._x(bar.first_ns), self._x(bar.last_ns)
        top, height = length(_RULER) + bar.lane * length(_LANE) - self._up, length(_LANE) - length(_GAP)
        return QRectF(left, top, max(right - left, 1.0), height)

    def _covers(self, bar: Bar, x: float) -> bool:
        place = self._place(bar)
        return place.left() - 1 <= x <= place.right() + 1
