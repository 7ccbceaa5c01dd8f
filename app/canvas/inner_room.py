"""`InnerRoom`: decides what the canvas shows, the session's patch or the patch inside one of its blocks."""

from collections.abc import Callable
from typing import cast

from PySide6.QtCore import QMargins, QObject, QPointF, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton

from app.canvas.canvas import Canvas
from app.documents.bridge import Bridge
from app.documents.session import Session
from app.qt.beside import Run
from app.view_models.ops.report import op_report
from engine.diagnostics import PatchError
from engine.figures import plural
from engine.inner_patches.editing import InnerEditing
from engine.kernel_blocks.graph_block import ComputeBlock
from engine.kernel_sources.sources import OpGraphSource
from engine.patch.document import Patch
from engine.patch.inner_patch import InnerPatch, inner_kind
from engine.protocol.messages import EngineStatistics, FrameReport, NodeReport

#: Keeps an abandoned edit where redo can restore it.
Shelve = Callable[[Callable[[Patch], object]], None]


class InnerRoom(QObject):
    """Shows the session's patch, or the patch inside a block instead, and goes to nodes of both.

    Edits of an inner patch are edits of the patch around it, which has the undo history.
    """

    #: The canvas now shows something else: a patch or None, and a replacement for its `shelve` (or None).
    shown = Signal(cast("type[Patch | None]", object), cast("type[Shelve | None]", object))
    #: A report about the shown patch.
    reported = Signal(FrameReport)
    #: Another patch is shown, or the open inner patch has changed.
    changed = Signal()
    #: The canvas can't show an inner patch; the text is the reason.
    refused = Signal(str)

    def __init__(
        self, canvas: Canvas, session: Session, bridge: Bridge, beside: Run, name: Callable[[], str], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._canvas, self._session, self._beside, self._name = canvas, session, beside, name
        self.breadcrumb = Breadcrumb()
        self.breadcrumb.left.connect(self.leave)
        self.reported.connect(canvas.show_report)
        canvas.escaped.connect(self.leave)
        canvas.node_activated.connect(self.open)
        canvas.beside = beside
        canvas.profile = lambda: None if self.is_open else bridge.profile
        canvas.peak_bytes_per_s = lambda: session.peak_bytes_per_s
        canvas.connecting.cost = lambda changes: None if self.is_open else session.cost_of(changes)
        session.replaced.connect(self.set_patch)
        session.types_changed.connect(canvas.show_types)
        bridge.report.connect(self.show_report)
        self._editing: InnerEditing | None = None
        self._stop: list[Callable[[], None]] = []
        self._view: tuple[float, QPointF] = 1.0, QPointF()
        self._recent: list[str] = []
        self._has_errors = False
        #: The engine's report about the open block; below, about its patch.
        self._around: NodeReport | None = None
        self._statistics = EngineStatistics("")
        #: The state of the open inner patch.
        self.report: FrameReport | None = None

    @property
    def is_open(self) -> bool:
        """True while the canvas shows an inner patch."""
        return self._editing is not None

    @property
    def node(self) -> str | None:
        """The block whose patch is open."""
        return self._editing.node if self._editing is not None else None

    @property
    def graph(self) -> InnerPatch | None:
        """The inner patch that is open."""
        return self._editing.patch if self._editing is not None else None

    def set_patch(self, patch: Patch | None) -> None:
        """Show another patch of the session, or none."""
        self._forget()
        self._show(patch)

    def open(self, node: str) -> None:
        """Open the patch inside a block of the shown patch, if there is one."""
        patch = self._session.patch
        if patch is not None and not self.is_open and inner_kind(patch, node) is not None:
            self.enter(patch, node)

    def go_to(self, place: str) -> None:
        """Select a node of the patch, or a node of an inner patch as "block/node", and bring it into view."""
        patch, (node, _, op) = self._session.patch, place.partition("/")
        if patch is None or node not in patch.nodes:
            return
        if not op:
            self.leave()
        elif self.node != node:
            self.enter(patch, node)
        self._canvas.go_to(op or node)

    def select(self, node: str) -> None:
        """Select a node of the patch while the canvas shows the patch."""
        if not self.is_open and node in self._canvas.patch.nodes:
            self._canvas.select([node])

    def select_op(self, op: str) -> None:
        """Select a node of the open inner patch, and bring it into view."""
        if self.graph is not None and op in self.graph.nodes:
            self._canvas.select([op])
            self._canvas.view.ensureVisible(self._canvas.scene.rect_of([op]), 24, 24)

    def enter(self, patch: Patch, node: str) -> None:
        """Show the patch inside a block."""
        if self._editing is not None:
            self.leave()
        try:
            self._editing = editing = InnerEditing(patch, node, self._lose)
        except PatchError as problem:
            self.refused.emit(f"The patch inside {patch.title(node)} can't be shown: {problem}")
            return
        view = self._canvas.view
        self._view = view.zoom, view.mapToScene(view.viewport().rect().center())
        self._swap_recent()
        self._show(editing.patch, editing.shelve)
        self._stop = [  # subscribed after the canvas, which must show a node before its state
            editing.patch.subscribe(lambda change: None, self._show_state),
            patch.subscribe(lambda change: None, self._name_it),
        ]
        self._canvas.setFocus()
        # Describe all blocks once in advance, to know which of them a chain may have before a person searches for one.
        self._beside("Searching the blocks …", editing.patch.catalogue.all, lambda: None)
        self._name_it()
        self.breadcrumb.show()
        self._show_state()
        QTimer.singleShot(0, self._canvas.fit)  # the canvas gets its size only from the layout

    def show_report(self, report: FrameReport) -> None:
        """Show a report of the patch.

        While a block is open, show only the report of its parts, such as a network's layers.
        """
        if self._editing is None:
            self.reported.emit(report)
            return
        if self.report is None:
            return
        around = report.nodes.get(self._editing.node)
        if around != self._around or report.statistics.profiling is not self.report.statistics.profiling:
            self._around, self._statistics = around, report.statistics
            self._show_parts(self._editing.patch)

    def leave(self) -> None:
        """Return to the patch and its previous view."""
        if self._editing is None:
            return
        editing = self._editing
        self._forget()
        self._show(editing.outer)
        self._canvas.setFocus()
        zoom, centre = self._view
        self._canvas.view.set_zoom(zoom)
        self._canvas.view.centerOn(centre)
        if editing.node in editing.outer.nodes:
            self._canvas.select([editing.node])
        self.changed.emit()

    def _forget(self) -> None:
        """Close the inner patch without showing the patch around it, since another one will be shown."""
        if self._editing is not None:
            self._session.enter_typed()  # first, so that the patch still gets the edit
            self._editing.close()
            for end in self._stop:
                end()
            self._editing, self.report, self._has_errors, self._around = None, None, False, None
            self.breadcrumb.hide()
            self._swap_recent()

    def code(self, patch: Patch, node: str | None) -> tuple[OpGraphSource | None, Callable[[str], str], str]:
        """Return the kernel that a block of the patch runs, the titles of its ops, and a note about it."""
        block_type = patch.block_type(node) if node in patch.nodes and node is not None else None
        content = block_type.content if block_type is not None and issubclass(block_type, ComputeBlock) else None
        graph = self.graph
        note = "This is the last good kernel; the op graph has problems" if self._has_errors else ""
        title = (lambda op: graph.title(op) if op in graph.nodes else op) if graph is not None else str
        if block_type is None or content is None or node is None:
            return None, title, note
        values = {name: patch.value(node, name) for name, spec in block_type.parameters.items() if spec.is_constant}
        return content[0].with_constants(values), title, note

    def _show(self, patch: Patch | None, shelve: Shelve | None = None) -> None:
        self.shown.emit(patch, shelve)
        self._canvas.set_patch(patch)

    def _swap_recent(self) -> None:
        """Swap the lists of recently placed types, since nodes of inner patches and blocks have separate lists."""
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
        text = f"{plural(len(errors), 'problem')}: the last good version keeps running" if errors else ""
        self.breadcrumb.show_state(text, is_error=bool(errors))
        self.changed.emit()

    def _show_parts(self, patch: InnerPatch) -> FrameReport:
        self.report = found = op_report(patch, self._around, self._statistics)
        self.reported.emit(found)
        return found

    def _lose(self, reason: str) -> None:
        self.refused.emit(f"The patch inside the block was closed: {reason}")
        QTimer.singleShot(0, self.leave)


class Breadcrumb(QFrame):
    """The path from the session's patch to an inner one; hidden while the canvas shows the session's patch."""

    #: The person wants to return to the patch.
    left = Signal()

    def __init__(self) -> None:
        super().__init__(objectName="breadcrumb")
        self.patch = QToolButton(autoRaise=True, objectName="breadcrumbPatch")
        self.patch.setToolTip("Back to the patch (Escape)")
        self.patch.clicked.connect(self.left)
        self.kernel = QLabel(objectName="breadcrumbKernel", textFormat=Qt.TextFormat.PlainText)
        self.state = QLabel(objectName="message", textFormat=Qt.TextFormat.PlainText)
        row = QHBoxLayout(self, contentsMargins=QMargins(8, 4, 12, 4), spacing=4)
        row.addWidget(self.patch)
        row.addWidget(QLabel("›", objectName="faint"))
        row.addWidget(self.kernel)
        row.addStretch(1)
        row.addWidget(self.state)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.hide()

    def show_place(self, patch: str, kernel: str) -> None:
        """Show the names of the patch and of the open block."""
        self.patch.setText(patch)
        self.kernel.setText(kernel)

    def show_state(self, text: str, *, is_error: bool = False) -> None:
        """Show the state of the inner patch."""
        self.state.setText(text)
        self.state.setProperty("state", "error" if is_error else "")
        self.state.style().polish(self.state)
