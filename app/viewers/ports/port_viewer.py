"""The viewer of a port: chooses the fitting view, and freezes, saves and describes what it shows."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.qt.copy_key import CopyKey
from warploom.app.qt.flow_row import FlowRow
from warploom.app.theme.icons import icon
from warploom.app.view_models.looking.fitting import TITLES, ViewKind, is_struct, kinds_for
from warploom.app.view_models.profile.tape import Moment
from warploom.app.view_models.tooltips import buffer_text
from warploom.app.viewers.ports.image_view import ImageView
from warploom.app.viewers.ports.plot_view import PlotView
from warploom.app.viewers.ports.points_view import PointsView
from warploom.app.viewers.ports.port_view import MAIN, OTHER, PortView
from warploom.app.viewers.ports.table_view import TableView
from warploom.app.viewers.ports.text_view import TextView
from warploom.app.viewers.recording.record_bar import RecordBar
from warploom.app.viewers.recording.recorder import Recording
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport, NodeReport
from warploom.engine.protocol.sampling import Sample, Sampling

_MAKERS: dict[ViewKind, Callable[[], PortView]] = {
    ViewKind.IMAGE: ImageView,
    ViewKind.PLOT: PlotView,
    ViewKind.TABLE: TableView,
    ViewKind.POINTS: PointsView,
    ViewKind.TEXT: TextView,
}
_NOTHING = "Click a block or a connection to see what it holds"
#: In a lower viewer, in pixels, a picture would have less room than its controls.
_LOW = 190
#: The least width of the choice of a port, and the least height of what is shown, in pixels.
_LEAST_PORT, _LEAST_PAGE = 44, 40
_WAITING = "Waiting for the first frame …"
#: The name of a sample that only tells the fields of a struct.
_FIELDS = "fields"
#: Between the labels of the footer, and at its ends.
_SPACING = 8


class PortViewer(QWidget):
    """Shows one of the ports that it is given. A view is made when it is first chosen."""

    #: `samplings` changed.
    wanted = Signal()
    #: The person wants a dock that keeps showing this port.
    pin_requested = Signal(PortRef)
    #: The person wants the port's contents in a file.
    save_requested = Signal(PortRef)
    #: The person wants the port's frames in files, or no more of them.
    record_requested = Signal(PortRef)
    #: Another port is shown, or none.
    port_changed = Signal()

    def __init__(self, titles: Callable[[PortRef], str], messages: Callable[[NodeReport], str]) -> None:
        super().__init__()
        self._titles, self._messages = titles, messages
        self.port: PortRef | None = None
        self._dtype: str = ""
        self._shape: tuple[int, ...] = ()
        self._columns: tuple[str, ...] = ()
        self._is_known = False
        self._fields: list[str] = []
        self._report: FrameReport | None = None
        self._moment: Moment | None = None
        self._is_recording = False
        self._views: dict[ViewKind, PortView] = {}
        self.ports, self.kinds = QComboBox(), QComboBox()
        for box, tip in ((self.ports, "Port"), (self.kinds, "How to show it")):
            box.setToolTip(tip)
            box.setAccessibleName(tip)
        self.freeze = _button("freeze", "Freeze: keep showing this while the patch plays", checkable=True)
        self.pin = _button("pin", "Pin: keep showing this port in a viewer of its own")
        self.save = _button("snapshot", "Save what the port holds: picture or numbers …")
        self.record = _button("record", "Record frames of this port as files …")
        self.recording = RecordBar()
        self.stack = QStackedWidget()
        self.page = EmptyState(self.stack, _NOTHING)
        self.page.setMinimumHeight(_LEAST_PAGE)  # a view asks for more, and the controls above would be cut off
        self.probe_label, self.facts_label = ElidedLabel("figures"), ElidedLabel("figures")
        self.facts_label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.probe_label.hide()
        self._header, self._footer = self._make_header(), self._make_footer()
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        column.addWidget(self._header)
        column.addWidget(self.page, 1)
        column.addWidget(self.recording)
        column.addWidget(self._footer)
        self.ports.currentIndexChanged.connect(self._on_port)
        self.kinds.currentIndexChanged.connect(self._on_kind)
        self.freeze.toggled.connect(self._on_freeze)
        self.pin.clicked.connect(lambda: self.port is not None and self.pin_requested.emit(self.port))
        self.save.clicked.connect(lambda: self.port is not None and self.save_requested.emit(self.port))
        self.record.clicked.connect(lambda: self.port is not None and self.record_requested.emit(self.port))
        self._show_frame(None)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.addAction(icon("copy"), "Copy\tCtrl+C", self.copy)

    def copy(self) -> None:
        """Put what is shown on the clipboard: a picture, or the cells of a table."""
        if self.view is not None and not self._footer.isHidden():
            QGuiApplication.clipboard().setMimeData(self.view.copied())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave a low viewer's room to what is shown."""
        super().resizeEvent(event)
        self._show_controls()

    def _show_controls(self) -> None:
        if self.view is not None and self.view.controls is not None:
            self.view.controls.setVisible(self.height() >= _LOW)

    # What is shown

    @property
    def kind(self) -> ViewKind | None:
        """The view that is shown."""
        kind = self.kinds.currentData()
        return ViewKind(kind) if kind else None  # Qt keeps a plain text

    @property
    def view(self) -> PortView | None:
        """The view that is shown, as a widget."""
        return self._views.get(self.kind) if self.kind is not None and self.port is not None else None

    @property
    def is_frozen(self) -> bool:
        """True while the viewer keeps showing the same sample."""
        return self.freeze.isChecked()

    def end(self) -> None:
        """End all views, before this is deleted."""
        self.show_ports([])
        for view in self._views.values():
            view.end()

    def show_ports(self, ports: Sequence[PortRef]) -> None:
        """Let the person choose among these ports; the first is shown, or that of the same name as before."""
        same = next((p for p in ports if self.port is not None and p.port == self.port.port), None)
        chosen = self.port if self.port in ports else same or (ports[0] if ports else None)
        self.ports.blockSignals(True)
        self.ports.clear()
        for port in ports:
            self.ports.addItem(self._titles(port), port)
        self.ports.setCurrentIndex(ports.index(chosen) if chosen is not None else -1)
        self.ports.blockSignals(False)
        self._show_port(chosen)

    def offer_ports(self, ports: Sequence[PortRef]) -> None:
        """Offer the ports of the patch for comparison."""
        view = self._views.get(ViewKind.IMAGE)
        if isinstance(view, ImageView):
            titles = {port: self._titles(port) for port in ports}
            often = Counter(titles.values())
            own = {port: f"{text} ({port.node})" if often[text] > 1 else text for port, text in titles.items()}
            view.offer_ports(list(ports), own)

    def show_report(self, report: FrameReport) -> None:
        """Follow the element type and shape of the port."""
        self._report = report
        if self.port is None or self.is_frozen:
            return
        key = str(self.port)
        buffer = report.buffers.get(key)
        if buffer is not None:
            facts = buffer_text(buffer, with_allocated=False).partition(", not stored")[0]
            if (count := report.counts.get(key)) is not None:
                facts = f"{count:,} appended · {facts}"
            self._know(buffer.dtype, buffer.shape, facts, buffer.columns)
        elif key in report.values:
            self._know("f64", (), "value")
        elif not self._is_known or self.page.currentIndex():
            found = report.nodes.get(self.port.node)
            text = (self._messages(found) if found is not None else "") or (_WAITING if report.preparing else "")
            self._miss(text or f"{self._titles(self.port)} is not part of the running graph")

    def look_back(self, moment: Moment | None) -> None:
        """Prepare for the recorded contents of a moment, which arrive next, or return to the present."""
        self._moment = moment
        self._enable_files()
        if self.port is not None and not self.is_frozen:
            self._miss(self._lacking)
            self.wanted.emit()

    def show_recording(self, recording: Recording | None) -> None:
        """Show how far the recording under way is, whatever its port; there is one at a time."""
        self.recording.show_recording(recording)
        self._is_recording = recording is not None
        self._enable_files()

    def _enable_files(self) -> None:
        is_present = self.port is not None and self._moment is None
        self.save.setEnabled(is_present)
        self.record.setEnabled(is_present and not self._is_recording)

    @property
    def _lacking(self) -> str:
        """The reason why nothing of a port is shown."""
        if self._moment is None:
            return _WAITING
        return f"This port was not recorded at {self._moment.mark(self._moment.frame)}"

    def samplings(self) -> dict[str, Sampling]:
        """Return what is needed of the port, by names."""
        view, port = self.view, self.port
        if view is None or port is None or not self._is_known or self.is_frozen:
            return {}
        if self._needs_fields and not self._fields:
            wanted = {_FIELDS: Sampling(port, tuple((0, 1) for _ in self._shape))}
        else:
            wanted = view.samplings(port, self._dtype, self._shape)
        # A sample that another view has requested must not reach this one.
        return {f"{self.kind}:{name}": each for name, each in wanted.items()}

    @property
    def _needs_fields(self) -> bool:
        return self.kind in (ViewKind.PLOT, ViewKind.POINTS) and is_struct(self._dtype)

    def show_sample(self, name: str, sample: Sample) -> None:
        """Show a sample that was requested under a name."""
        view = self.view
        kind, _, name = name.partition(":")
        if view is None or self.is_frozen or self.port is None or kind != self.kind:
            return
        if name != OTHER and sample.sampling.port != self.port:
            return  # it was requested for the port before
        if name == _FIELDS:
            self._follow_fields(sample)
        elif sample.data is not None:
            self.page.set_filled(True)
            self._show_frame(sample.frame)
            view.show_sample(name, sample)
        elif name == MAIN and not self._needs_fields:
            self._miss(sample.missing)

    def _follow_fields(self, sample: Sample) -> None:
        view = self.view
        if sample.data is not None and sample.data.dtype.names and isinstance(view, PlotView | PointsView):
            kinds = {name: sample.data.dtype[name].base.kind for name in sample.data.dtype.names}
            self._fields = [name for name, kind in kinds.items() if kind in "fiu"]
            places = [name for name in self._fields if sample.data.dtype[name].shape in ((2,), (3,), (4,))]
            view.offer_fields(places or self._fields if isinstance(view, PointsView) else self._fields)
            self.wanted.emit()

    def _know(self, dtype: str, shape: tuple[int, ...], facts: str, columns: tuple[str, ...] = ()) -> None:
        self.facts_label.setText(facts)
        self.facts_label.setToolTip(facts)
        if self._is_known and (dtype, shape) == (self._dtype, self._shape):
            if columns != self._columns:
                self._columns = columns
                for view in self._views.values():
                    view.name_columns(columns)
            return
        fits = kinds_for(dtype, shape)
        if not self._is_known or fits != kinds_for(self._dtype, self._shape):
            before = self.kind
            self.kinds.blockSignals(True)
            self.kinds.clear()
            for kind in fits:
                self.kinds.addItem(TITLES[kind], kind)
            keeps = self._is_known and before in fits
            self.kinds.setCurrentIndex(fits.index(before) if keeps and before is not None else 0)
            self.kinds.blockSignals(False)
        self._dtype, self._shape, self._columns, self._is_known = dtype, shape, columns, True
        self._fields = []
        self._show_view()

    def _show_port(self, port: PortRef | None) -> None:
        if port == self.port:
            return
        self.port, self._is_known, self._fields = port, False, []
        for view in self._views.values():
            view.begin()
        for button in (self.freeze, self.pin):
            button.setEnabled(port is not None)
        self._enable_files()
        self.freeze.setChecked(False)
        self._miss(self._lacking if port is not None else _NOTHING)
        self._show_probe("")
        if self._report is not None:
            self.show_report(self._report)
        self.port_changed.emit()
        self.wanted.emit()

    def _show_view(self) -> None:
        kind = self.kind
        if kind is None:
            return
        if kind not in self._views:
            view = self._views[kind] = _MAKERS[kind]()
            view.wanted.connect(self.wanted)
            view.probed.connect(self._show_probe)
            self.stack.addWidget(view)
            CopyKey(view.body, self.copy)
            # Otherwise Tab would reach its controls only after all others of the window.
            parts = [part for part in view.findChildren(QWidget) if part.window() is self.window()]  # no lists of boxes
            for before, after in pairwise([self.record, *filter(_is_reached, parts)]):
                QWidget.setTabOrder(before, after)
                after.setAccessibleName(after.accessibleName() or after.toolTip())
        self._views[kind].begin()
        self._views[kind].name_columns(self._columns)
        self.stack.setCurrentWidget(self._views[kind])
        self._show_controls()
        self.wanted.emit()

    def _miss(self, text: str) -> None:
        self.page.hint.setText(text[:1].upper() + text[1:])
        self.page.set_filled(False)
        self._show_frame(None)

    def _show_probe(self, text: str) -> None:
        """Show the element under the pointer. Leave out the facts, and the frame too, to show all of its numbers."""
        self.probe_label.setText(text)
        self.probe_label.setVisible(bool(text))  # otherwise it would take room from the facts
        width = self.probe_label.fontMetrics().horizontalAdvance(text) + _SPACING
        beside = self.frame_label.sizeHint().width() + _SPACING
        room = self._footer.contentsRect().width() - 2 * _SPACING
        self.frame_label.setVisible(not text or width + beside <= room)
        self.facts_label.setVisible(not text or 2 * width + beside <= room)  # both labels get the same width

    def _show_frame(self, frame: int | None) -> None:
        shown = frame is not None
        self._footer.setVisible(shown)
        self._header.setVisible(self.port is not None)
        mark = self._moment.mark if self._moment is not None else "frame {:,}".format
        self.frame_label.setText(mark(frame) if frame is not None else "")
        self.frame_label.setProperty("state", "past" if self._moment is not None else "")
        self.frame_label.style().polish(self.frame_label)

    def _on_port(self) -> None:
        port = self.ports.currentData()
        self._show_port(port if isinstance(port, PortRef) else None)

    def _on_kind(self) -> None:
        self._fields = []
        self._show_view()

    def _on_freeze(self, frozen: bool) -> None:
        if not frozen and self._report is not None:
            self.show_report(self._report)
        self.wanted.emit()

    def _make_header(self) -> QWidget:
        header = QWidget()
        row = FlowRow(header, margins=QMargins(8, 4, 4, 4))
        self.ports.setMinimumWidth(_LEAST_PORT)  # the dock's title has the name
        self.ports.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.kinds.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        row.add(self.ports, grows=True)
        row.add(self.kinds)
        tools = QWidget()  # in one row at any width
        buttons = QHBoxLayout(tools, contentsMargins=QMargins(), spacing=0)
        for button in (self.freeze, self.pin, self.save, self.record):
            buttons.addWidget(button)
        row.add(tools)
        return header

    def _make_footer(self) -> QWidget:
        footer = QWidget(objectName="viewerFooter")
        row = QHBoxLayout(footer, contentsMargins=QMargins(_SPACING, 4, _SPACING, 4), spacing=_SPACING)
        self.frame_label = QLabel(objectName="figures")
        row.addWidget(self.probe_label, 1)
        row.addWidget(self.facts_label, 1)
        row.addWidget(self.frame_label)
        return footer


def _is_reached(part: QWidget) -> bool:
    """Return whether Tab leads to a part, which may be hidden now."""
    return bool(part.focusPolicy() & Qt.FocusPolicy.TabFocus) and part.focusProxy() is None


def _button(drawn: str, tip: str, *, checkable: bool = False) -> QToolButton:
    button = QToolButton(checkable=checkable, toolTip=tip, autoRaise=True)
    button.setIcon(icon(drawn))
    button.setAccessibleName(tip)
    return button
