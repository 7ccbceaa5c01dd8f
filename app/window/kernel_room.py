"""`KernelRoom`: opens the op graph of a kernel on the canvas, and returns to the patch."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QPointF, QTimer, Signal

from app.canvas.canvas import Canvas
from app.inspector.inspector import Inspector
from app.qt.beside import Run, at_once
from app.view_models.ops.report import op_report
from app.window.breadcrumb import Breadcrumb
from engine.diagnostics import PatchError
from engine.figures import plural
from engine.inner_patches.editing import InnerEditing
from engine.kernel_blocks.graph_block import ComputeBlock
from engine.kernel_sources.sources import OpGraphSource
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerPatch
from engine.protocol.messages import EngineStatistics, FrameReport, NodeReport


class KernelRoom(QObject):
    """Shows the op graph of a kernel in canvas and inspector in place of the patch, and the patch again.

    While it is open, what is edited there is edited in the patch; the undo history is the patch's.
    """

    #: Another patch or op graph is shown, or the open op graph has changed.
    changed = Signal()
    #: An op graph can't be shown, or no longer can, for the reason in the text.
    refused = Signal(str)

    def __init__(self, canvas: Canvas, inspector: Inspector, name: Callable[[], str], parent: QObject) -> None:
        super().__init__(parent)
        self._canvas, self._inspector, self._name = canvas, inspector, name
        self.breadcrumb = Breadcrumb()
        self.breadcrumb.left.connect(self.leave)
        canvas.escaped.connect(self.leave)
        self._editing: InnerEditing | None = None
        self._stop: list[Callable[[], None]] = []
        self._view: tuple[float, QPointF] = 1.0, QPointF()
        self._recent: list[str] = []
        self._has_errors = False
        #: The engine's reports about the open block and itself.
        self._around: NodeReport | None = None
        self._statistics = EngineStatistics("")
        #: How slow work is done.
        self.beside: Run = at_once
        #: The state of the open op graph.
        self.report: FrameReport | None = None

    @property
    def is_open(self) -> bool:
        """True while the canvas shows an op graph."""
        return self._editing is not None

    @property
    def node(self) -> str | None:
        """The block whose op graph is open."""
        return self._editing.node if self._editing is not None else None

    @property
    def graph(self) -> InnerPatch | None:
        """The op graph that is open."""
        return self._editing.patch if self._editing is not None else None

    def enter(self, patch: Patch, node: str) -> None:
        """Show the op graph of a block of the patch."""
        if self._editing is not None:
            self.leave()
        try:
            self._editing = editing = InnerEditing(patch, node, self._lose)
        except PatchError as problem:
            self.refused.emit(f"The op graph of {patch.title(node)} can't be shown: {problem}")
            return
        view = self._canvas.view
        self._view = view.zoom, view.mapToScene(view.viewport().rect().center())
        self._swap_recent()
        self._stop = [
            editing.patch.subscribe(lambda change: None, self._show_state),
            patch.subscribe(lambda change: None, self._name_it),
        ]
        self._show(editing.patch, editing.shelve)
        # To know what a chain may have, all blocks are described once: before a person searches for one.
        self.beside("Searching the blocks …", editing.patch.catalogue.all, lambda: None)
        self._name_it()
        self.breadcrumb.show()
        self._show_state()
        QTimer.singleShot(0, self._canvas.fit)  # the canvas has its size only after the layout

    def show_report(self, report: FrameReport) -> None:
        """Show what the engine reports of the parts of the open block, such as the times of a network's layers."""
        if self._editing is None or self.report is None:
            return
        around = report.nodes.get(self._editing.node)
        if around != self._around or report.statistics.profiling is not self.report.statistics.profiling:
            self._around, self._statistics = around, report.statistics
            self._show_parts(self._editing.patch)

    def leave(self) -> None:
        """Show the patch again, as it was seen."""
        if self._editing is None:
            return
        editing = self._editing
        self.forget()
        self._show(editing.outer)
        zoom, centre = self._view
        self._canvas.view.set_zoom(zoom)
        self._canvas.view.centerOn(centre)
        if editing.node in editing.outer.nodes:
            self._canvas.select([editing.node])
        self.changed.emit()

    def forget(self) -> None:
        """Close the op graph without showing the patch, since another one will be shown."""
        if self._editing is not None:
            self._inspector.enter_typed()  # while the patch still hears of it
            self._editing.close()
            for end in self._stop:
                end()
            self._editing, self.report, self._has_errors, self._around = None, None, False, None
            self.breadcrumb.hide()
            self._swap_recent()

    def code(self, patch: Patch, node: str | None) -> tuple[OpGraphSource | None, Callable[[str], str], str]:
        """Return the kernel that a block of the patch runs, what its ops are called, and what to know of it."""
        block_type = patch.block_type(node) if node in patch.nodes and node is not None else None
        content = block_type.content if block_type is not None and issubclass(block_type, ComputeBlock) else None
        graph = self.graph
        note = "This is the last good kernel; the op graph has problems" if self._has_errors else ""
        title = (lambda op: graph.title(op) if op in graph.nodes else op) if graph is not None else str
        if block_type is None or content is None or node is None:
            return None, title, note
        values = {name: patch.value(node, name) for name, spec in block_type.parameters.items() if spec.is_constant}
        return content[0].with_constants(values), title, note

    def _show(self, patch: Patch, shelve: Callable[[Callable[[Patch], object]], None] | None = None) -> None:
        self._inspector.set_patch(patch, shelve)
        self._canvas.set_patch(patch)
        self._canvas.setFocus()

    def _swap_recent(self) -> None:
        """Ops and blocks have separate lists of recently placed types."""
        search = self._canvas.search
        search.recent, self._recent = self._recent, search.recent

    def _name_it(self) -> None:
        if self._editing is not None and self._editing.node in self._editing.outer.nodes:
            self.breadcrumb.show_place(self._name(), self._editing.outer.title(self._editing.node))

    def _show_state(self) -> None:
        if self._editing is None:
            return
        report = self._show_parts(self._editing.patch)
        errors = [problem for problem in report.diagnostics if problem.severity == "error"]
        self._has_errors = bool(errors)
        text = f"{plural(len(errors), 'problem')}: the last good kernel keeps running" if errors else ""
        self.breadcrumb.show_state(text, is_error=bool(errors))
        self.changed.emit()

    def _show_parts(self, patch: InnerPatch) -> FrameReport:
        self.report = found = op_report(patch, self._around, self._statistics)
        self._canvas.show_report(found)
        self._inspector.show_report(found)
        return found

    def _lose(self, reason: str) -> None:
        self.refused.emit(f"The op graph was closed: {reason}")
        QTimer.singleShot(0, self.leave)
