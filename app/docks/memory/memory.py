"""The memory of a frame: which buffers are in use during which operations, and which share bytes."""

from collections.abc import Iterable
from contextlib import suppress

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from app.docks.dock import Dock, Editor
from app.docks.elided_label import ElidedLabel
from app.docks.memory.memory_view import MemoryView, totals
from app.qt.beside import Run, at_once
from app.qt.throttle import Throttle
from app.widgets.empty_state import EmptyState
from engine.compiler.inspection.data import FramePlan
from engine.diagnostics import WarploomError
from engine.protocol.client import Client
from engine.protocol.messages import FrameReport

_HINT = "No buffers yet.\nEach buffer of the running patch has a bar here, from its first to its last use in a frame"
_REFRESH_MS = 500


class Memory(EmptyState, Dock):
    """A line with the totals, and rows of buffers. While it is visible, it asks for the plan when the graph is new."""

    name, title = "memory", "Memory"

    #: The person chose a block here.
    node_chosen = Signal(str)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self.view, self.summary = MemoryView(), ElidedLabel("faint")
        scrolled = QScrollArea(widgetResizable=True, horizontalScrollBarPolicy=Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scrolled.setWidget(self.view)
        self.view.row_shown.connect(lambda y: scrolled.ensureVisible(0, y, 0, 24))
        self.summary.setContentsMargins(8, 0, 8, 0)
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addWidget(self.summary)
        column.addWidget(scrolled, 1)
        self.beside: Run = at_once
        self._engine: Client | None = None
        self._buffers: object = None
        self._is_seen = False
        self._due = Throttle(self._ask, _REFRESH_MS, self)
        self.view.node_chosen.connect(self.node_chosen)

    def follow(self, editor: Editor) -> None:
        """Follow the engine and the selection, and select blocks."""
        self.beside = editor.beside.run
        editor.session.engine_changed.connect(self.set_engine)
        editor.bridge.report.connect(self.show_report)
        editor.canvas.selection_changed.connect(self.show_selection)
        self.node_chosen.connect(editor.kernel.go_to)

    def set_engine(self, engine: Client | None) -> None:
        """Show the memory of another engine."""
        self._engine, self._buffers = engine, None
        self._due.stop()
        self.set_filled(False)

    def set_seen(self, seen: bool) -> None:
        """Ask for plans while the dock is visible."""
        self._is_seen, self._buffers = seen, None

    def show_report(self, report: FrameReport) -> None:
        """Ask for the plan if the report has other buffers than the last one."""
        if self._is_seen and report.buffers is not self._buffers:
            self._buffers = report.buffers
            self._due.ask()

    def show_selection(self, nodes: Iterable[str]) -> None:
        """Mark the buffers of the selected blocks."""
        self.view.show_selection(frozenset(nodes))

    def show_plan(self, plan: FramePlan) -> None:
        """Show a plan."""
        self.view.show_plan(plan)
        self.summary.setText(totals(plan))
        self.set_filled(bool(plan.buffers))

    def _ask(self) -> None:
        engine, found = self._engine, list[FramePlan | None]()
        if engine is None:
            return

        def work() -> None:
            with suppress(WarploomError):  # the engine was closed or has ended; its last report has the reason
                found.append(engine.plan())

        def then() -> None:
            if engine is self._engine and found and found[0] is not None:
                self.show_plan(found[0])

        self.beside("Reading the plan …", work, then)
