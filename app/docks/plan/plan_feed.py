"""The feed of plans: that of the running graph, for a visible widget."""

from collections.abc import Iterable
from contextlib import suppress

from PySide6.QtCore import QObject, Signal

from warploom.app.docks.dock import Editor
from warploom.app.qt.beside import Run, at_once
from warploom.app.qt.throttle import Throttle
from warploom.engine.compiler.inspection.data import FramePlan
from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import FrameReport

_REFRESH_MS = 500


class PlanFeed(QObject):
    """Requests the plan on another thread when a report has other buffers than the last one, while it is visible."""

    #: The plan of another graph.
    arrived = Signal(FramePlan)
    #: Another engine, which has no graph yet, or none.
    gone = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._beside: Run = at_once
        self._engine: Client | None = None
        self._buffers: object = None
        self._is_seen = False
        self._due = Throttle(self._ask, _REFRESH_MS, self)

    def follow(self, editor: Editor) -> None:
        """Follow the editor's engine."""
        self._beside = editor.beside.run
        editor.session.engine_changed.connect(self._set_engine)
        editor.bridge.report.connect(self._show_report)

    def set_seen(self, seen: bool) -> None:
        """Start or stop requesting plans."""
        self._is_seen, self._buffers = seen, None

    def _set_engine(self, engine: Client | None) -> None:
        self._engine, self._buffers = engine, None
        self._due.stop()
        self.gone.emit()

    def _show_report(self, report: FrameReport) -> None:
        if self._is_seen and report.buffers is not self._buffers:
            self._buffers = report.buffers
            self._due.ask()

    def _ask(self) -> None:
        engine = self._engine
        if engine is None:
            return

        def work() -> FramePlan | None:
            with suppress(WarploomError):  # the engine was closed or has ended; its last report has the reason
                return engine.plan()
            return None

        def then(plan: FramePlan | None) -> None:
            if engine is self._engine and plan is not None:
                self.arrived.emit(plan)

        self._beside("Reading the plan …", work, then, lambda: None)


def chosen_blocks(editor: Editor, nodes: Iterable[str]) -> frozenset[str]:
    """Return the selected blocks of the patch, with those in selected groups."""
    patch = editor.session.patch
    if patch is None or editor.kernel.is_open:
        return frozenset()
    chosen = [node for node in nodes if node in patch.nodes]
    return frozenset([*chosen, *(each for node in chosen if patch.is_group(node) for each in patch.within(node))])
