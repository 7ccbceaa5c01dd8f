"""The graph that the engine launches in each frame; its selection follows the patch's, and the other way round."""

from collections.abc import Iterable, Sequence
from functools import partial

from PySide6.QtCore import QMargins, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.docks.plan.graph_view import LaunchedGraphView
from warploom.app.docks.plan.plan_feed import PlanFeed, chosen_blocks
from warploom.app.view_models.profile.launched_graph import GraphDrawing, lay_out, summary, times_of, titles
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.compiler.inspection.data import FramePlan
from warploom.engine.profiling.profile import Profile

_HINT = (
    "No graph yet.\nWhile a patch runs, each kernel, memset, memcpy, library call and conditional node of its CUDA "
    "graph has a box here; a click selects its blocks"
)


class LaunchedGraph(EmptyState, Dock):
    """A line with what the graph consists of, and the graph. It is laid out on another thread, while it is visible."""

    name, title = "graph", "CUDA graph"
    least_share = 0.3

    #: The person chose a node here, which does the work of these blocks.
    nodes_chosen = Signal(list)
    #: The dock becomes visible or hidden.
    watching = Signal(bool)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self.view, self.summary = LaunchedGraphView(), ElidedLabel("faint")
        line = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0))
        line.addWidget(self.summary)
        column = QVBoxLayout(page, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addLayout(line)
        column.addWidget(self.view, 1)
        self.feed = PlanFeed(self)
        self.feed.arrived.connect(self._lay_out)
        self.feed.gone.connect(self._forget)
        self._editor: Editor | None = None
        self._plan: FramePlan | None = None
        self.view.nodes_chosen.connect(self.nodes_chosen)

    def follow(self, editor: Editor) -> None:
        """Follow the running graph, its times and the selection, and select blocks."""
        self._editor = editor
        self.feed.follow(editor)
        editor.bridge.profiled.connect(self.show_profile)
        editor.session.profiling_changed.connect(self._summarise)
        editor.canvas.selection_changed.connect(self._show_selection)
        self.watching.connect(partial(editor.bridge.watch_profile, self))
        self.nodes_chosen.connect(self._select)

    def set_seen(self, seen: bool) -> None:
        """Ask for plans and profiles while the dock is visible."""
        self.feed.set_seen(seen)
        self.watching.emit(seen)

    def show_graph(self, plan: FramePlan, drawing: GraphDrawing) -> None:
        """Show a plan in its layout."""
        self._plan = plan
        patch = self._editor.session.patch if self._editor is not None else None
        self.view.show_graph(plan, drawing, titles(plan, patch.title if patch is not None else str))
        self.set_filled(bool(plan.operations))
        self._summarise()
        if self._editor is not None:
            self._show_selection(self._editor.canvas.selected())

    def show_profile(self, profile: Profile) -> None:
        """Show the times of a measured frame."""
        if self._plan is not None:
            self.view.show_times(times_of(self._plan, profile.spans))

    def _forget(self) -> None:
        self._plan = None
        self.view.forget()
        self.set_filled(False)

    def _summarise(self) -> None:
        if self._plan is not None and self._editor is not None:
            self.summary.setText(summary(self._plan, self._editor.session.profiling))

    def _lay_out(self, plan: FramePlan) -> None:
        if self._editor is not None and (self._plan is None or plan.operations != self._plan.operations):
            work, then = partial(lay_out, plan.operations), partial(self._show_drawing, plan)
            self._editor.beside.run("Laying out the graph …", work, then, lambda: None)

    def _show_drawing(self, plan: FramePlan, drawing: GraphDrawing | None) -> None:
        if drawing is not None:
            self.show_graph(plan, drawing)

    def _show_selection(self, nodes: Iterable[str]) -> None:
        """Mark the nodes of the selected blocks, and of blocks in selected groups."""
        if self._editor is not None:
            self.view.show_selection(chosen_blocks(self._editor, nodes))

    def _select(self, nodes: Sequence[str]) -> None:
        """Select blocks, in the group of the first one."""
        if self._editor is not None and nodes:
            canvas = self._editor.canvas
            self._editor.kernel.go_to(nodes[0])
            shown = [node for node in nodes if node in canvas.scene.nodes]
            if len(shown) > 1:
                canvas.select(shown)
