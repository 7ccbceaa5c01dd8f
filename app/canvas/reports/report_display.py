"""Shows the engine's reports on the canvas: states at once, times and values a few times a second, to be readable."""

from PySide6.QtCore import QObject

from warploom.app.canvas.drawing.node_painter import NEAR
from warploom.app.canvas.graph_view import GraphView
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.reports.heat_legend import HeatLegend
from warploom.app.qt.throttle import Throttle
from warploom.app.view_models.activity import Activity, activity_of, stopped_nodes
from warploom.app.view_models.profile.heat import degree_of, legend_text
from warploom.app.view_models.tooltips import size_text, time_text
from warploom.engine.diagnostics import Source
from warploom.engine.patch.organise.bypass import left_out
from warploom.engine.protocol.messages import FrameReport, NodeState

_BADGE_INTERVAL_MS = 200
_VALUE_INTERVAL_MS = 80  # milliseconds; a person follows how values move
_VALUE_SHARE = 0.1  # the share of the UI's time for painting values, down to the slowest interval
_SLOWEST_VALUES_MS = 500


class ReportDisplay(QObject):
    """Takes every report and keeps the newest as `report`."""

    def __init__(self, scene: GraphScene, view: GraphView, legend: HeatLegend) -> None:
        super().__init__(view)
        self._scene = scene
        self._view = view
        self._legend = legend
        self._shows_heat = self._has_found = False
        self._shows_activity = True
        #: The report whose activity is shown, and whether the graph was launched since the one before.
        self._seen: FrameReport | None = None
        self._is_launched = True
        self.report: FrameReport | None = None
        self._badges = Throttle(self._show_measured, _BADGE_INTERVAL_MS, self)
        self._values = Throttle(self._show_values, _VALUE_INTERVAL_MS, self)

    def show_report(self, report: FrameReport) -> None:
        """Show a report."""
        is_other = self.report is None or report.nodes is not self.report.nodes
        self.report = report
        if is_other:  # the engine makes another dict when a node's report changes
            self._show_states(report)
        self._badges.ask()
        self._values.ask()

    @property
    def is_still(self) -> bool:
        """True while the patch plays, but its graph is not launched, since nothing changes."""
        return self.report is not None and self.report.running and not self._is_launched

    def clear(self) -> None:
        """Forget the reports: another patch is shown."""
        self.report = self._seen = None
        self._badges.stop()
        self._values.stop()
        self._legend.show_text("")

    def show_heat(self, shows: bool) -> None:
        """Show or hide the heat map: colour nodes by their share of the frame."""
        self._shows_heat = shows
        self._show_measured()

    def show_activity(self, shows: bool) -> None:
        """Show or hide which connections carry new data."""
        self._shows_activity = shows
        self._show_measured()

    def _show_states(self, report: FrameReport) -> None:
        get, out = report.nodes.get, left_out(self._scene.regions.patch)
        for node_id, view in self._scene.nodes.items():
            found = get(node_id)
            # A block that a disabled one feeds does not run either.
            state = found.state if found is not None else NodeState.IDLE if node_id in out else NodeState.OK
            if view.appearance.state is not state:
                view.show_appearance(state=state)
        found_at = {(item.node, item.port) for item in report.diagnostics if item.source is Source.SENTINEL}
        if found_at or self._has_found:
            self._has_found = bool(found_at)
            for connection, line in self._scene.connections.items():
                line.show_appearance(has_found=(connection.source.node, connection.source.port) in found_at)

    def _show_measured(self) -> None:
        """Show times, heat and sizes where they changed."""
        report, shows_heat = self.report, self._shows_heat
        self._legend.show_text(legend_text(report) if shows_heat and self._scene.nodes else "")
        if report is None:
            return
        seen = self._view.zoom >= NEAR
        for node_id, view in self._scene.nodes.items():
            found = report.nodes.get(node_id)
            shown = view.appearance
            if found is view.measured and not shows_heat and shown.degree is None:
                continue  # the engine makes another report of a node when it changes
            view.measured = found
            badge = time_text(found.time_ns, found.share) if found and found.time_ns is not None else ""
            degree = degree_of(found, report.statistics) if shows_heat else None
            if badge != shown.badge or degree != shown.degree:
                view.show_measured(badge, degree, seen=seen)
        if report is not self._seen:
            before = self._seen.launches if self._seen is not None else 0
            self._is_launched = report.running and (report.launches != before or not before)
            self._seen = report
        stopped = stopped_nodes(report) if self._shows_activity else {}
        flowing = Activity.STILL if self._shows_activity and not self._is_launched else Activity.RUNS
        for connection, line in self._scene.connections.items():
            activity = activity_of(connection, stopped, flowing) if stopped else flowing
            if activity is not line.appearance.activity:
                line.show_appearance(activity=activity)
            buffer, count = report.buffers.get(line.source), report.counts.get(line.source)
            if (buffer, count) != line.measured:
                line.measured = buffer, count
                line.show_appearance(size=size_text(buffer, count) if buffer is not None else "")

    def _show_values(self) -> None:
        """Repaint the numbers that changed and can be seen; others are painted when they come into view."""
        assert self.report is not None
        self._scene.values.clear()
        self._scene.values.update(self.report.values)
        due_ms = round(self._view.painting.paint_s * 1000 / _VALUE_SHARE)
        self._values.slow_to(min(max(due_ms, _VALUE_INTERVAL_MS), _SLOWEST_VALUES_MS))
        if self._view.zoom >= NEAR and self._scene.values:
            for view in self._scene.nodes_in(self._view.seen()):
                view.refresh_values()
