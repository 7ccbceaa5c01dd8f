"""Shows the critical path on the canvas: marked nodes and connections, slack at the others, and a legend."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from warploom.app.canvas.drawing.node_layout import text_width
from warploom.app.canvas.drawing.shapes import paint_text, qcolor
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.qt.throttle import Throttle
from warploom.app.theme.colours import current
from warploom.app.theme.fonts import SMALL
from warploom.app.view_models.profile.path_marks import PathMarks, path_marks
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.flight_record import BUDGET_NS
from warploom.engine.protocol.messages import FrameReport

#: Milliseconds between changes of the path, so that it can be read.
_INTERVAL_MS = 500
_PADDING, _LINE, _AWAY, _SAMPLE = 10, 16, 12, 22
_NOTHING = PathMarks()


class PathDisplay(QWidget):
    """Marks the critical path while it is on. As a widget, it is the legend; clicks pass through it."""

    def __init__(self, scene: GraphScene, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        self._scene = scene
        self._shows = False
        self._patch = Patch()
        self._report: FrameReport | None = None
        self._profile: Profile | None = None
        #: The present marks.
        self.marks = _NOTHING
        self._marking = Throttle(self._mark, _INTERVAL_MS, self)
        self._budget_ns = BUDGET_NS

    def set_patch(self, patch: Patch | None) -> None:
        """Follow another patch, whose frames have not been measured yet."""
        self._patch, self._report, self._profile = patch or Patch(), None, None
        self._marking.stop()
        self._show(_NOTHING)

    def show_path(self, shows: bool) -> None:
        """Show or hide the path."""
        self._shows, self._profile = shows, None
        self._marking.stop()
        self._mark()

    def set_budget(self, budget_ns: int) -> None:
        """Compare frames with another budget."""
        self._budget_ns = budget_ns
        self._mark()

    def show_report(self, report: FrameReport) -> None:
        """Follow the engine's level and the nodes that share a kernel."""
        self._report = report
        if self._shows:
            self._marking.ask()

    def show_profile(self, profile: Profile) -> None:
        """Mark the path of newly measured frames."""
        self._profile = profile
        if self._shows:
            self._marking.ask()

    def _mark(self) -> None:
        marks = path_marks(self._patch, self._profile, self._report, self._budget_ns) if self._shows else _NOTHING
        self._show(marks)

    def _show(self, marks: PathMarks) -> None:
        is_other, self.marks = marks.text != self.marks.text, marks
        for node_id, view in self._scene.nodes.items():
            view.show_appearance(on_path=node_id in marks.nodes, slack=marks.slack.get(node_id, ""))
        for connection, line in self._scene.connections.items():
            line.show_appearance(on_path=connection in marks.connections)
        if is_other:
            self.setAccessibleName(marks.text)
            self.updateGeometry()
            self.update()
        self.setVisible(bool(marks.text))

    def sizeHint(self) -> QSize:
        """Return the size of the box, including its distance from the corner."""
        lines = self.marks.text.splitlines()
        width = max((text_width(line, SMALL, False) for line in lines), default=0.0)
        return QSize(round(width) + 2 + _SAMPLE + 2 * _PADDING + _AWAY, _LINE * len(lines) + 2 * _PADDING - 6 + _AWAY)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the box, a piece of the path's line, and the text."""
        theme, painter = current(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -_AWAY - 0.5, -_AWAY - 0.5)
        painter.setPen(QPen(qcolor(theme.border), 1.0))
        painter.setBrush(qcolor(theme.dock))
        painter.drawRoundedRect(box, 3, 3)
        area = box.adjusted(_PADDING, _PADDING - 3, -_PADDING + 2, 0)
        middle = area.top() + _LINE / 2
        painter.setPen(QPen(qcolor(theme.text), 3.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(round(area.left() + 1), round(middle), round(area.left() + _SAMPLE - 8), round(middle))
        for number, line in enumerate(self.marks.text.splitlines()):
            place = QRectF(area.left() + _SAMPLE, area.top() + number * _LINE, area.width() - _SAMPLE, _LINE)
            paint_text(painter, place, line, theme.text_dim if number else theme.text, SMALL)
        painter.end()
