"""The memory of a frame: which buffers are in use during which operations, and which share bytes."""

from collections.abc import Iterable

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.docks.plan.memory_view import MemoryView, totals
from warploom.app.docks.plan.plan_feed import PlanFeed, chosen_blocks
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.compiler.inspection.data import FramePlan

_HINT = "No buffers yet.\nEach buffer of the running patch has a bar here, from its first to its last use in a frame"


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
        scrolled.setFrameShape(QScrollArea.Shape.NoFrame)
        scrolled.setWidget(self.view)
        self.view.row_shown.connect(lambda y: scrolled.ensureVisible(0, y, 0, 24))
        line = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0))
        line.addWidget(self.summary)
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addLayout(line)
        column.addWidget(scrolled, 1)
        self._editor: Editor | None = None
        self.feed = PlanFeed(self)
        self.feed.arrived.connect(self.show_plan)
        self.feed.gone.connect(lambda: self.set_filled(False))
        self.view.node_chosen.connect(self.node_chosen)

    def follow(self, editor: Editor) -> None:
        """Follow the engine and the selection, and select blocks."""
        self._editor = editor
        self.feed.follow(editor)
        editor.canvas.selection_changed.connect(self.show_selection)
        self.node_chosen.connect(editor.kernel.go_to)

    def set_seen(self, seen: bool) -> None:
        """Ask for plans while the dock is visible."""
        self.feed.set_seen(seen)

    def show_selection(self, nodes: Iterable[str]) -> None:
        """Mark the buffers of the selected blocks."""
        if self._editor is not None:
            self.view.show_selection(chosen_blocks(self._editor, nodes))

    def show_plan(self, plan: FramePlan) -> None:
        """Show a plan."""
        patch = self._editor.session.patch if self._editor is not None else None
        self.view.show_plan(plan, patch.title if patch is not None else str)
        if self._editor is not None:
            self.show_selection(self._editor.canvas.selected())
        self.summary.setText(totals(plan))
        self.set_filled(bool(plan.buffers))
