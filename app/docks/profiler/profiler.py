"""The profiler: the last frames, and every block's time in the last measured frame, as a timeline and a table."""

import time
from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QToolButton, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.docks.exports import export_button, export_profile
from warploom.app.docks.flight_feed import FlightFeed
from warploom.app.docks.frame_bars import FrameBars
from warploom.app.docks.profiler.profile_table import ProfileView
from warploom.app.docks.profiler.timeline_view import TimelineView
from warploom.app.docks.recorder import Recorder
from warploom.app.qt.throttle import Throttle
from warploom.app.view_models.profile.flight import Flight
from warploom.app.view_models.profile.table import cost_text, why_empty
from warploom.app.view_models.profile.texts import LEVELS
from warploom.app.view_models.profile.timeline import lay_out
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.frame_rate import FrameRate
from warploom.engine.patch.document import Patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import FrameReport

_REFRESH_MS = 250  # milliseconds; a person can't read figures that change faster
#: The height of the graph of frames, in pixels.
_BARS = 56
_NARROW = 640  # pixels; below this width, the table is under the timeline instead of beside it


class Profiler(QWidget, Dock):
    """A graph of frames, and a timeline beside a table.

    A line above chooses the level of measurement, and shows its cost.
    """

    name, title = "profiler", "Profiler"
    is_made_late = True

    #: A node was selected here.
    node_chosen = Signal(str)
    #: The person wants to go to a node.
    node_activated = Signal(str)
    #: The dock becomes visible or hidden.
    watching = Signal(bool)
    #: A frame in the graph of frames was chosen: the `Flight` and the frame's index in it.
    frame_chosen = Signal(Flight, int)

    def __init__(self) -> None:
        super().__init__()
        self._profile: Profile | None = None
        self._report: FrameReport | None = None
        self._level = ProfilingLevel.NONE
        self._rate = FrameRate()
        self._is_seen = False
        self.level = QToolButton(objectName="pacing", popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.summary = ElidedLabel("figures")
        self.export: Callable[[], object] = lambda: None
        self.export_button = export_button("profile", lambda: self.export())
        self.timeline, self.table = TimelineView(), ProfileView()
        self.feed, self.bars = FlightFeed(self), FrameBars()
        self._flight: Flight | None = None
        self.feed.arrived.connect(self._show_flight)
        self.bars.setToolTip("The last frames, the newest at the right; click one to show it in the recorder")
        self.bars.setFixedHeight(_BARS)
        self.bars.chosen.connect(self._choose_frame)
        times = QWidget()
        rows = QVBoxLayout(times, contentsMargins=QMargins(), spacing=4)
        rows.addWidget(self.bars)
        rows.addWidget(self.timeline, 1)
        self._details = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        self._details.addWidget(times)
        self._details.addWidget(self.table)
        self._details.setSizes([400, 500])
        self.page = EmptyState(self._details, "")
        bar = QHBoxLayout(contentsMargins=QMargins(8, 4, 8, 4), spacing=12)
        bar.addWidget(self.level)
        bar.addWidget(self.summary, 1)
        bar.addWidget(self.export_button)
        column = QVBoxLayout(self, contentsMargins=QMargins(), spacing=0)
        column.addLayout(bar)
        column.addWidget(self.page, 1)
        self.timeline.node_chosen.connect(self._pass_on)
        self.table.node_chosen.connect(self._pass_on)
        self.table.node_activated.connect(self.node_activated)
        self._due = Throttle(self._show, _REFRESH_MS, self)
        self._show_level()

    def follow(self, editor: Editor) -> None:
        """Follow the engine's frames and the selection, and choose the level and the selection."""
        session, bridge, canvas, kernel = editor.session, editor.bridge, editor.canvas, editor.kernel
        self.feed.beside = editor.beside.run
        self.export = partial(export_profile, editor)
        self.level.setMenu(editor.menu("profiling"))
        self.set_level(session.profiling)
        session.profiling_changed.connect(self.set_level)
        session.replaced.connect(self.set_patch)
        session.engine_changed.connect(self.set_engine)
        bridge.report.connect(self.show_report)
        bridge.profiled.connect(self.show_profile)
        self.watching.connect(partial(bridge.watch_profile, self))
        canvas.selection_changed.connect(lambda nodes: None if kernel.is_open else self.show_selection(nodes))
        self.node_chosen.connect(kernel.select)
        self.node_activated.connect(kernel.go_to)
        self.frame_chosen.connect(lambda flight, place: editor.reveal(Recorder).show_frame(flight, place))
        self.set_patch(session.patch)
        self.set_engine(session.engine)
        self._report = bridge.last_report
        self._show_page()
        self.show_selection(() if kernel.is_open else canvas.selected())

    def set_seen(self, seen: bool) -> None:
        """Watch while the dock is visible, and not behind another dock's tab.

        When it is shown again, the old profile is outdated.
        """
        if seen == self._is_seen:
            return
        self._is_seen = seen
        self._forget()
        if seen:
            self.feed.start()
        else:
            self.feed.stop()
        self.watching.emit(seen)

    def set_level(self, level: ProfilingLevel) -> None:
        """Show the new level; earlier measurements are of another kind."""
        self._level = level
        self._show_level()

    def set_patch(self, patch: Patch | None) -> None:
        """Show the frames of another patch."""
        self._forget()
        self.table.rows.set_patch(patch)

    def set_engine(self, engine: Client | None) -> None:
        """Show the frames of another engine."""
        self._report = self._flight = None
        self.bars.clear()
        self.feed.set_engine(engine)
        self._rate.clear()
        self._forget()

    def show_report(self, report: FrameReport) -> None:
        """Take a report, which shows the frame rate and whether the engine runs."""
        self._report = report
        self._rate.add(report.launches, time.monotonic())
        if report.failed and self._profile is not None:
            self._forget()
        elif self._profile is None and self._is_seen:
            self._show_page()

    def show_profile(self, profile: Profile) -> None:
        """Take a measured frame, unless it is a late one from another level."""
        if profile.level is self._level and profile.spans and self._is_seen:
            self._profile = profile
            self._due.ask()

    def show_selection(self, nodes: Iterable[str]) -> None:
        """Show the selection of the canvas."""
        selected = frozenset(nodes)
        self.table.show_selection(selected)
        self.timeline.show_selection(selected)

    def _pass_on(self, node: str) -> None:
        self.show_selection([node])
        self.node_chosen.emit(node)

    def _show_flight(self, flight: Flight) -> None:
        self._flight = flight
        self.bars.show_flight(flight, None)

    def _choose_frame(self, place: int) -> None:
        if self._flight is not None:
            self.frame_chosen.emit(self._flight, place)

    def _forget(self) -> None:
        self._profile = None
        self._due.stop()
        self._show_page()

    def _show_level(self) -> None:
        title, text = LEVELS[self._level]
        self.level.setText(title)
        self.level.setToolTip(f"What is measured: {text}")
        self.level.setAccessibleName(f"Profiling: {title}")
        self._forget()

    def _show_page(self) -> None:
        self.summary.setText(cost_text(self._profile, self._rate.per_second(time.monotonic())))
        self.page.hint.setText(why_empty(self._level, self._report))
        self.page.set_filled(self._profile is not None)

    def _show(self) -> None:
        if self._profile is not None:
            self.table.show_profile(self._profile)
            table = self.table.rows.table
            self.timeline.show_timeline(lay_out(table), table)
            self.summary.setToolTip(table.work_text)
            self._show_page()

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table beside the timeline, or below it if there is no room."""
        super().resizeEvent(event)
        is_narrow = self.width() < _NARROW
        self._details.setOrientation(Qt.Orientation.Vertical if is_narrow else Qt.Orientation.Horizontal)
