"""The flight recorder: the times and events of the last 600 frames, and the causes of slow ones."""

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import (
    QEvent,
    QMargins,
    QModelIndex,
    QObject,
    Qt,
    Signal,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QScrollArea, QTableView, QToolButton, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.docks.exports import export_button, export_record
from warploom.app.docks.flight_feed import FlightFeed
from warploom.app.docks.frame_bars import FrameBars, phase_colours
from warploom.app.documents.bridge import Bridge
from warploom.app.theme import colours
from warploom.app.theme.icons import icon
from warploom.app.view_models.profile.flight import PHASES, Flight
from warploom.app.view_models.profile.tape import Moment, Tape
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.list_table import ListModel, make_table
from warploom.engine.figures import format_time
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.flight_record import BUDGET_NS, FlightRecord, SlowFrame
from warploom.engine.protocol.messages import SetFrameBudget

_HINT = "No frames yet.\nThe last 600 frames are recorded here while the patch plays, and slow ones longer"
#: Frames per second that a budget may be for.
_RATES = (30, 60, 90, 120, 144)
_NARROW = 960  # pixels; below this width, the summary replaces the legend


class SlowRows(ListModel[SlowFrame]):
    """The slow frames, newest first; only visible rows get texts."""

    HEADERS = ("Time", "Took", "Spent on")
    TOOK, SPENT = 1, 2
    NUMBERS = (TOOK,)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._flight: Flight | None = None

    def show_flight(self, flight: Flight) -> None:
        """List the slow frames of a record; if they are unchanged, do nothing."""
        self._flight = flight
        slow = flight.record.slow
        if list(slow[-1:]) != self.rows[:1]:
            self.set_rows(reversed(slow))

    def texts(self, row: SlowFrame) -> Sequence[str]:
        assert self._flight is not None
        return self._flight.slow_texts(row)

    def tooltip(self, row: SlowFrame, column: int) -> str:
        return self.texts(row)[column].replace("; ", "\n")

    def colour(self, row: SlowFrame, column: int) -> str:
        theme = colours.current()
        return (theme.text_dim, theme.warning, theme.text)[column]


class Recorder(EmptyState, Dock):
    """Bars of the last frames, details of the chosen one, and the list of slow frames.

    While it is visible, it requests records ten times a second, on another thread. Choosing a frame freezes it.
    """

    name, title = "recorder", "Recorder"
    is_made_late = True

    #: The person wants to go to a node.
    node_activated = Signal(str)
    #: The new budget, in nanoseconds; frames that take longer are slow.
    budget_changed = Signal(int)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self.feed = FlightFeed(self)
        self.feed.arrived.connect(self._show)
        self.feed.timed.connect(self._look_back)
        self.flight: Flight | None = None
        self._place: int | None = None
        self._wants_slowest = False
        self._bridge: Bridge | None = None
        #: What was shown until the display was frozen.
        self._tape: Tape | None = None
        self.freeze = QToolButton(checkable=True, text="Freeze", icon=icon("freeze"))
        self.freeze.setToolTip(
            "Freeze the display; the engine keeps recording. Arrow keys step through the frames, Esc goes back"
        )
        self.freeze.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.freeze.toggled.connect(self._on_frozen)
        self.slowest = QToolButton(text="Slowest", toolTip="Show the slowest of these frames, here and in the editor")
        self.slowest.clicked.connect(self.choose_slowest)
        self.budget = QComboBox(
            toolTip="A frame that ends later than this after it was due is slow, and is kept longer"
        )
        self.budget.setAccessibleName("Budget of a frame")
        for rate in _RATES:
            budget_ns = BUDGET_NS if rate == 60 else round(1e9 / rate)
            self.budget.addItem(f"{format_time(budget_ns)} ({rate} fps)", budget_ns)
        self.budget.setCurrentIndex(_RATES.index(60))
        self.budget.currentIndexChanged.connect(lambda: self.budget_changed.emit(self.budget_ns))
        self.export: Callable[[], object] = lambda: None
        self.export_button = export_button("flight record", lambda: self.export())
        self.summary, self.legend = ElidedLabel("faint"), QLabel(objectName="faint")
        self.legend.setMinimumWidth(1)  # otherwise a dock with a legend could not be narrow
        self.bars = FrameBars()
        self.bars.chosen.connect(self.choose)
        self.details = QLabel(wordWrap=True, textFormat=Qt.TextFormat.RichText, alignment=Qt.AlignmentFlag.AlignTop)
        self.details.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.details.linkActivated.connect(self.node_activated)
        self.details.setMargin(8)
        self._rows = SlowRows(self)
        self.table = make_table(self._rows, "Slow frames", {0: 96, SlowRows.TOOK: 72}, SlowRows.SPENT)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.clicked.connect(self._choose_slow)
        self.table.activated.connect(self._choose_slow)
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addLayout(self._make_bar())
        column.addLayout(self._make_columns(), 1)
        self._show_legend()

    def follow(self, editor: Editor) -> None:
        """Follow the engine, send it the budget, and go to blocks."""
        session = editor.session
        self.feed.beside = editor.beside.run
        self.export = lambda: export_record(editor, self._frozen_record)
        self._bridge = editor.bridge
        self._bridge.looked_back.connect(self._on_looked_back)
        session.engine_changed.connect(self.set_engine)
        self.node_activated.connect(editor.kernel.go_to)
        self.budget_changed.connect(lambda budget_ns: session.post(SetFrameBudget(budget_ns)))
        self.budget_changed.connect(editor.canvas.path.set_budget)
        self.set_engine(session.engine)

    @property
    def budget_ns(self) -> int:
        """The longest time of a frame that is not slow."""
        budget_ns: int = self.budget.currentData()
        return budget_ns

    @property
    def _frozen_record(self) -> FlightRecord | None:
        return self.flight.record if self.flight is not None and self.freeze.isChecked() else None

    def set_engine(self, engine: Client | None) -> None:
        """Follow another engine; a frozen record stays."""
        if self.budget_ns != BUDGET_NS:  # the engine's default
            self.budget_changed.emit(self.budget_ns)
        if not self.freeze.isChecked():
            self.flight = None
            self.set_filled(False)
        self.feed.set_engine(engine)

    def set_seen(self, seen: bool) -> None:
        """Follow the engine while the dock is visible, and not behind another dock's tab."""
        if seen:
            self.feed.start()
        else:
            self.feed.stop()

    def choose(self, place: int) -> None:
        """Show the frame at an index, here and in the whole editor, and freeze the display."""
        self._place = place
        self.freeze.setChecked(True)
        self._refresh()
        flight = self.flight
        if flight is not None and not flight.has_times:
            self.feed.ask_times(flight)
        self._look_back()

    def choose_slowest(self) -> None:
        """Show the slowest of the last frames, once they are known."""
        place = self.flight.slowest if self.flight is not None else None
        self._wants_slowest = place is None
        if place is not None:
            self.choose(place)
            self.bars.setFocus()

    def _look_back(self) -> None:
        """Have the editor show the chosen frame."""
        if self._bridge is not None and self.flight is not None and self._place is not None:
            self._tape = self._tape or self._bridge.tape.copy()
            self._bridge.look_back(Moment(self.flight, self._place, self._tape, time.time()))
        self._refresh()

    def _on_looked_back(self, moment: Moment | None) -> None:
        if moment is None:
            self.freeze.setChecked(False)

    def show_frame(self, flight: Flight, place: int) -> None:
        """Show a frame of another list's record, and freeze the display."""
        self.freeze.setChecked(True)
        self.flight = flight
        self.set_filled(True)
        self.choose(place)

    def _show_legend(self) -> None:
        parts = (f'<span style="color: {colour}">■</span> {PHASES[phase]}' for phase, colour in phase_colours().items())
        self.legend.setText("&nbsp;&nbsp; ".join(parts))

    def _make_bar(self) -> QHBoxLayout:
        bar = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0), spacing=8)
        bar.addWidget(self.freeze)
        bar.addWidget(self.slowest)
        bar.addWidget(self.summary, 1)
        bar.addWidget(self.legend)
        bar.addSpacing(8)
        bar.addWidget(QLabel("Budget", objectName="faint"))
        bar.addWidget(self.budget)
        bar.addWidget(self.export_button)
        return bar

    def _make_columns(self) -> QHBoxLayout:
        scrolled = QScrollArea(widgetResizable=True, horizontalScrollBarPolicy=Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scrolled.setFrameShape(QScrollArea.Shape.NoFrame)
        scrolled.setWidget(self.details)
        columns = QHBoxLayout(spacing=4)
        columns.addWidget(self.bars, 5)
        columns.addWidget(scrolled, 3)
        columns.addWidget(self.table, 4)
        return columns

    # Following

    def _show(self, flight: Flight) -> None:
        self.flight, self._place = flight, None
        self.set_filled(bool(len(flight.frames)))
        self._refresh()
        if self._wants_slowest:
            self.choose_slowest()

    def _refresh(self) -> None:
        flight = self.flight
        if flight is None:
            return
        recorded = self._bridge.tape.text if self._bridge is not None else ""
        summary = " · ".join(filter(None, (flight.summary, recorded)))
        self.summary.setText(summary)
        self.summary.setToolTip(summary)
        self.bars.show_flight(flight, self._place)
        self._rows.show_flight(flight)
        if not len(flight.frames):
            return
        if self._place is None:
            hint = "Click the bar of a frame, or a slow frame in the list"
            self.details.setText(f"<span style='color: {colours.current().text_dim}'>{hint}</span>")
        else:
            self.details.setText(flight.describe(self._place))

    def _choose_slow(self, index: QModelIndex) -> None:
        if self.flight is None:
            return
        slow = self._rows.rows[index.row()]
        place = self.flight.place_of(slow)
        if place is not None:
            self.choose(place)
        else:
            self._place = None
            self.freeze.setChecked(True)
            self._refresh()
            self.details.setText(self.flight.describe_slow(slow))

    def _on_frozen(self, frozen: bool) -> None:
        self.freeze.setText("Live" if frozen else "Freeze")
        self.feed.is_held = frozen
        if frozen:
            self._tape = self._bridge.tape.copy() if self._bridge is not None else None
        else:
            self._place = self._tape = None
            if self._bridge is not None:
                self._bridge.look_back(None)
            self._refresh()
            self.feed.ask()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the legend if there is room."""
        super().resizeEvent(event)
        self.legend.setVisible(self.width() >= _NARROW)

    def changeEvent(self, event: QEvent) -> None:
        """Show the legend in another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show_legend()
