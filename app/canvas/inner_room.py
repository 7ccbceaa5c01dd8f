"""`InnerRoom`: decides what the canvas shows, the session's patch, one of its groups, or the patch inside a block."""

from collections.abc import Callable
from typing import cast

from PySide6.QtCore import QObject, QPointF, QTimer, Signal

from warploom.app.canvas.breadcrumb import Breadcrumb
from warploom.app.canvas.canvas import Canvas
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.session import Session
from warploom.app.edits.organise.bookmarks import bookmark, set_bookmark
from warploom.app.qt.beside import Run
from warploom.app.view_models.groups import GroupReports
from warploom.app.view_models.ops.report import op_report
from warploom.app.view_models.profile.tape import Moment
from warploom.engine.diagnostics import PatchError
from warploom.engine.figures import plural
from warploom.engine.inner_patches.editing import InnerEditing
from warploom.engine.kernel_blocks.graph_block import ComputeBlock
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch, inner_kind
from warploom.engine.patch.organise.annotations import Frame
from warploom.engine.protocol.messages import EngineStatistics, FrameReport, NodeReport

#: Keeps an abandoned edit where redo can restore it.
Shelve = Callable[[Callable[[Patch], object]], None]


class InnerRoom(QObject):
    """Shows the session's patch, one of its groups, or the patch inside a block, and goes to nodes of all these.

    A group's *level* is what it has inside; the level "" is what is outside all groups. Edits of an inner patch are
    edits of the patch around it, which has the undo history.
    """

    #: The canvas now shows something else: a patch or None, and a replacement for its `shelve` (or None).
    shown = Signal(cast("type[Patch | None]", object), cast("type[Shelve | None]", object))
    #: A report about the shown patch.
    reported = Signal(FrameReport)
    #: Another patch is shown, or the open inner patch has changed.
    changed = Signal()
    #: The canvas can't show an inner patch; the text is the reason.
    refused = Signal(str)

    def __init__(self, canvas: Canvas, session: Session, bridge: Bridge, beside: Run, parent: QObject) -> None:
        super().__init__(parent)
        self._canvas, self._session, self._beside = canvas, session, beside
        self.breadcrumb = Breadcrumb()
        self.breadcrumb.chosen.connect(self.return_to)
        self.reported.connect(canvas.show_report)
        canvas.escaped.connect(self.leave)
        canvas.node_activated.connect(self.open)
        canvas.finding.went_to.connect(self._go_to_found)
        canvas.incoming.beside = beside
        canvas.profile = lambda: None if self.is_open else bridge.profile
        canvas.peak_bytes_per_s = lambda: session.peak_bytes_per_s
        canvas.connecting.cost = lambda changes: None if self.is_open else session.cost_of(changes)
        session.replaced.connect(self.set_patch)
        session.types_changed.connect(canvas.show_types)
        bridge.report.connect(self.show_report)
        bridge.looked_back.connect(self.look_back)
        self._editing: InnerEditing | None = None
        self._stop: list[Callable[[], None]] = []
        #: The group whose inside is shown, or around the open block; "" outside all groups.
        self.level = ""
        #: The views of the levels around, by group, and of the level around the open block.
        self._views: dict[str, tuple[float, QPointF]] = {}
        self._groups = GroupReports()
        self._last_report: FrameReport | None = None
        self._moment: Moment | None = None
        self._recent: list[str] = []
        self._has_errors = False
        self._unfollow: Callable[[], None] = lambda: None
        #: The groups around the shown one.
        self._around: list[str] = []
        #: The engine's report about the open block; below, about its patch.
        self._block_report: NodeReport | None = None
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
        self._unfollow()
        self.level, self._last_report = "", None
        self._views.clear()
        self._show(patch)
        self._name_it()
        self._unfollow = patch.subscribe(None, self._follow_groups) if patch is not None else lambda: None

    def open(self, node: str) -> None:
        """Open a group of the shown patch, or the patch inside a block; from the ends of a group, leave it."""
        patch = self._session.patch
        if patch is None or self.is_open or node not in patch.nodes:
            return
        if patch.is_group(node):
            self._show_level(node, fits=True)
        elif patch.is_end(node):
            self.leave()
        elif inner_kind(patch, node) is not None:
            self.enter(patch, node)

    def go_to(self, place: str) -> None:
        """Select a node of the patch, or a node of an inner patch as "block/node", and bring it into view."""
        patch, (node, _, op) = self._session.patch, place.partition("/")
        if patch is None or node not in patch.nodes:
            return
        if self._editing is not None and (not op or self.node != node):
            self._close()
        level = patch.group_of(node)
        if self.level != level:
            self._show_level(level)
        if op and self.node != node:
            self.enter(patch, node)
        self._canvas.go_to(op or node)

    def _go_to_found(self, place: str, is_frame: bool) -> None:
        """Show what the person has found, and leave the focus in the field."""
        if is_frame:
            frame = self._canvas.patch.annotations.get(f"frame {place}")
            if isinstance(frame, Frame) and not self.is_open:
                self.show_level(frame.group)
            self._canvas.go_to_frame(place)
        elif self.is_open:
            self._canvas.go_to(place)
        else:
            self.go_to(place)
        self._canvas.finding.stay()

    def go_to_bookmark(self, number: int) -> None:
        """Bring the part of the canvas of a bookmark into view, in its group."""
        patch = self._session.patch
        found = bookmark(patch, number) if patch is not None else None
        if found is None:
            self.refused.emit(f"Bookmark {number} is not set; Ctrl+{number} sets it")
            return
        self.show_level(found.group)
        self._canvas.view.set_zoom(found.zoom)
        self._canvas.view.centerOn(*found.centre)
        self._canvas.setFocus()

    def set_bookmark(self, number: int) -> None:
        """Set a bookmark to the part of the canvas in view."""
        patch, view = self._session.patch, self._canvas.view
        if patch is None or self.is_open:
            self.refused.emit("A bookmark must be of the patch, not of the patch inside a block")
            return
        centre = view.mapToScene(view.viewport().rect().center())
        set_bookmark(patch, number, (centre.x(), centre.y()), view.zoom, self.level)

    def show_level(self, group: str) -> None:
        """Show the inside of a group, or what is outside all groups."""
        if self._editing is not None:
            self._close()
        if self.level != group:
            self._show_level(group)

    def select(self, node: str) -> None:
        """Select a node of the patch while the canvas shows the patch."""
        if not self.is_open and node in self._canvas.scene.nodes:
            self._canvas.select([node])

    def select_op(self, op: str) -> None:
        """Select a node of the open inner patch, and bring it into view."""
        if self.graph is not None and op in self.graph.nodes:
            self._canvas.select([op])
            self._canvas.view.ensureVisible(self._canvas.scene.rect_of([op]), 24, 24)

    def enter(self, patch: Patch, node: str) -> None:
        """Show the patch inside a block."""
        if self._editing is not None:
            self._close()
        try:
            self._editing = editing = InnerEditing(patch, node, self._lose)
        except PatchError as problem:
            self.refused.emit(f"The patch inside {patch.title(node)} can't be shown: {problem}")
            return
        self._remember_view()
        self._swap_recent()
        self._show(editing.patch, editing.shelve)
        self._stop = [  # subscribed after the canvas, which must show a node before its state
            editing.patch.subscribe(None, self._show_state),
            patch.subscribe(None, self._name_it),
        ]
        self._canvas.setFocus()
        # Describe all blocks once in advance, to know which of them a chain may have before a person searches for one.
        self._beside("Searching the blocks …", editing.patch.catalogue.all, lambda _: None, lambda: None)
        self._name_it()
        self._show_state()
        QTimer.singleShot(0, self._canvas.fit)  # the canvas gets its size only from the layout

    def show_report(self, report: FrameReport) -> None:
        """Show a report of the patch.

        While a block is open, show only the report of its parts, such as a network's layers.
        """
        self._last_report = report
        if self._moment is not None:
            report = self._moment.report(report)
        if self._editing is None:
            patch = self._session.patch
            self.reported.emit(self._groups.add_to(patch, report) if patch is not None else report)
            return
        if self.report is None:
            return
        around = report.nodes.get(self._editing.node)
        if around != self._block_report or report.statistics.profiling is not self.report.statistics.profiling:
            self._block_report, self._statistics = around, report.statistics
            self._show_parts(self._editing.patch)

    def look_back(self, moment: Moment | None) -> None:
        """Show the times and values of a recorded frame, or of the present."""
        self._moment = moment
        if self._last_report is not None:
            self.show_report(self._last_report)

    def leave(self) -> None:
        """Return from an open block to the level around it, or from a group to the level around the group."""
        patch = self._session.patch
        if self._editing is not None:
            node = self._editing.node
            self._close()
            if node in self._canvas.scene.nodes:
                self._canvas.select([node])
            self.changed.emit()
        elif patch is not None and self.level in patch.nodes:
            left = self.level
            self._show_level(patch.group_of(left))
            self._canvas.select([left])

    def return_to(self, number: int) -> None:
        """Return to the level of this number in the way that the breadcrumb shows."""
        way = self._way()
        inner = self.node
        if self._editing is not None:
            self._close()
            self.changed.emit()
        left = way[number + 1] if number + 1 < len(way) else inner
        if self.level != way[number]:
            self._show_level(way[number])
        self._canvas.select([left] if left is not None else [])

    def _close(self) -> None:
        """Close the open block, and show the level around it again."""
        assert self._editing is not None
        outer = self._editing.outer
        self._forget()
        self.level = self._present_level(outer)
        self._show(outer)
        self._name_it()
        self._canvas.setFocus()
        self._restore_view()

    def _way(self) -> list[str]:
        """Return the levels from the outside of all groups to the shown one."""
        patch = self._session.patch
        return [
            "",
            *(patch.groups_around(self.level) if patch is not None and self.level else ()),
            *filter(None, [self.level]),
        ]

    def _show_level(self, level: str, *, fits: bool = False) -> None:
        """Show the inside of a group, or what is outside all groups, as it was shown before."""
        self._remember_view()
        self.level = level
        self._show(self._session.patch)
        self._name_it()
        self._canvas.setFocus()
        if level in self._views and not fits:
            self._restore_view()
        else:
            QTimer.singleShot(0, self._canvas.fit)  # the canvas gets its size only from the layout
        if self._last_report is not None:
            self.show_report(self._last_report)
        self.changed.emit()

    def _follow_groups(self) -> None:
        """Go to the next level around that still exists, since an edit or undo has removed the shown group."""
        patch = self._session.patch
        if patch is None or self.is_open:
            return
        if (level := self._present_level(patch)) != self.level:
            self._show_level(level)
        self._name_it()

    def _present_level(self, patch: Patch) -> str:
        """Return the shown group, or if it is gone, the next one around it that is still there."""
        levels = (self.level, *reversed(self._around))
        return next((level for level in levels if level in patch.nodes and patch.is_group(level)), "")

    def _remember_view(self) -> None:
        view = self._canvas.view
        self._views[self.level] = view.zoom, view.mapToScene(view.viewport().rect().center())

    def _restore_view(self) -> None:
        zoom, centre = self._views.get(self.level, (1.0, QPointF()))
        self._canvas.view.set_zoom(zoom)
        self._canvas.view.centerOn(centre)

    def _forget(self) -> None:
        """Close the inner patch without showing the patch around it, since another one will be shown."""
        if self._editing is not None:
            self._session.enter_typed()  # first, so that the patch still gets the edit
            self._editing.close()
            for end in self._stop:
                end()
            self._editing, self.report, self._has_errors, self._block_report = None, None, False, None
            self.breadcrumb.show_state("")
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
        self._canvas.set_patch(patch, "" if self.is_open else self.level)

    def _swap_recent(self) -> None:
        """Swap the lists of recently placed types, since nodes of inner patches and blocks have separate lists."""
        search = self._canvas.search
        search.recent, self._recent = self._recent, search.recent

    def _name_it(self) -> None:
        """Show the way to what the canvas shows."""
        patch, node = self._session.patch, self.node
        self._around = self._way()[:-1]
        places = [place for place in (*self._way()[1:], node) if place is not None and patch and place in patch.nodes]
        if patch is not None and places:
            self.breadcrumb.show_place([self._session.name, *map(patch.title, places)])
        self.breadcrumb.setVisible(bool(places))

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
        self.report = found = op_report(patch, self._block_report, self._statistics)
        self.reported.emit(found)
        return found

    def _lose(self, reason: str) -> None:
        self.refused.emit(f"The patch inside the block was closed: {reason}")
        QTimer.singleShot(0, self.leave)
