"""Shows the engine's reports on the nodes: states at once, times a few times a second so that they can be read."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.canvas.graph_scene import GraphScene
from app.canvas.tooltips import badge_text
from engine.runtime.messages import FrameReport, NodeState

_BADGE_INTERVAL_MS = 200


class ReportDisplay(QObject):
    """Takes every report; the newest one is `report`."""

    def __init__(self, scene: GraphScene, parent: QObject) -> None:
        super().__init__(parent)
        self._scene = scene
        self.report: FrameReport | None = None
        self._rest = QTimer(self, singleShot=True, interval=_BADGE_INTERVAL_MS)
        self._rest.timeout.connect(self._show_late_badges)
        self._has_late_badges = False

    def show_report(self, report: FrameReport) -> None:
        """Show a report."""
        self.report = report
        for node_id, view in self._scene.nodes.items():
            found = report.nodes.get(node_id)
            state = found.state if found else NodeState.OK
            if state is not view.look.state:
                view.show_look(state=state)
        if self._rest.isActive():
            self._has_late_badges = True
        else:
            self._show_badges()

    def clear(self) -> None:
        """Forget the reports: another patch is shown."""
        self.report = None
        self._rest.stop()

    def _show_badges(self) -> None:
        assert self.report is not None
        self._has_late_badges = False
        for node_id, view in self._scene.nodes.items():
            found = self.report.nodes.get(node_id)
            badge = badge_text(found.time_ns) if found and found.time_ns is not None else ""
            if badge != view.look.badge:
                view.show_look(badge=badge)
        self._rest.start()

    def _show_late_badges(self) -> None:
        if self._has_late_badges:
            self._show_badges()
