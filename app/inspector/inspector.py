"""The inspector: the selected block's parameters, made from their declarations."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMargins, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.canvas.inner_room import Shelve
from warploom.app.docks.dock import Dock, Editor
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.interfaces import setting_work
from warploom.app.edits.remedies import Remedy, remedies
from warploom.app.inspector.code_editor import CodeEditor
from warploom.app.inspector.curve_editor import CurveEditor
from warploom.app.inspector.node_info import NodeHeader, NodeStatus
from warploom.app.inspector.node_page import NodePage, Unfinished
from warploom.app.inspector.parameter_drives import ParameterDrives
from warploom.app.inspector.parameter_editors import ParameterEditor, align_numbers, make_editor
from warploom.app.inspector.parameter_row import ParameterRow
from warploom.app.inspector.patch_page import PatchPage
from warploom.app.inspector.typed_line import TypedInput
from warploom.app.inspector.vector_row import VectorRow
from warploom.app.qt.beside import Run, at_once
from warploom.app.view_models.constant_gains import ConstantGains
from warploom.app.view_models.parameter_text import common_parameters
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import Diagnostic, PatchError
from warploom.engine.kernel_blocks.constants import CONSTANTS, marked
from warploom.engine.patch.changes import (
    Change,
    Connected,
    CurveChanged,
    Disconnected,
    NodeCommented,
    NodeRemoved,
    NodeRenamed,
    ParameterChanged,
)
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.protocol.messages import FrameReport, LookFor, Offered, ReleaseOsc, SaveOutputs

_HINT = "Select a block to edit its parameters"
_IDLE_MS = 600  # milliseconds; closer steps of a wheel or a held key are one gesture
_REFRESH_S = 0.25  # a person can't read figures that change faster
_LATER_MS = 20  # milliseconds between two looks at whether a click has ended


@dataclass(frozen=True, eq=False)
class _Waiting:
    """An edit that waits until its code is compiled on another thread."""

    patch: Patch
    nodes: Sequence[str]
    name: str
    value: Any


class Inspector(EmptyState, Dock):
    """Edits the parameters of the selected nodes, of several at once if they have the same type.

    Typed text is entered before anything that would drop it: another selection, another patch, or a command of the
    window (`enter_typed`). Text discarded with Escape is shelved, so that redo restores it.
    """

    name, title, area, is_open_at_first = "inspector", "Inspector", Qt.DockWidgetArea.RightDockWidgetArea, True

    #: An edit was refused; the text is the reason.
    refused = Signal(str)
    #: Escape discarded typed text, which redo can now restore.
    gave_up = Signal()
    #: The title was entered, so the canvas gets the keyboard back.
    renaming_ended = Signal()
    #: The person asked to see a node that drives a shown parameter.
    node_followed = Signal(str)
    #: The person chose a `Remedy` for a problem of the shown node.
    remedy_chosen = Signal(Remedy)
    #: The person wants to choose from what a parameter of a node offers.
    offers_wanted = Signal(str, str)
    #: The person wants the files of save blocks to be written.
    save_requested = Signal()
    #: The patch got more or fewer blocks or connections while none is shown. An edit may be made on another thread.
    _resized = Signal()

    def __init__(self) -> None:
        scroll, content = QScrollArea(widgetResizable=True, focusPolicy=Qt.FocusPolicy.NoFocus), QWidget()
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        whole = QWidget()
        self._column = QVBoxLayout(whole, contentsMargins=QMargins(), spacing=0)
        self._column.addWidget(scroll, 1)
        super().__init__(whole, _HINT)
        scroll.setWidget(content)
        self._patch_page = PatchPage(_HINT)
        self._patch_page.node_followed.connect(self.node_followed)
        self._refreshed_s = 0.0
        self._resized.connect(self._show_size)
        self._shown_size = (0, 0)
        self.addWidget(self._patch_page)
        self._scroll, self._content = scroll, content
        #: Holds the page of the shown nodes.
        self._pages = QVBoxLayout(content, contentsMargins=QMargins())
        self._page: NodePage | None = None
        #: The page of the selected nodes while it is made.
        self._next: NodePage | None = None
        self._patch = Patch()
        #: Ids of the nodes that are being edited.
        self.nodes: list[str] = []
        self._known: frozenset[str] = frozenset()
        self._forget_stale()
        self._unsubscribe: Callable[[], None] = lambda: None
        #: Runs slow work.
        self.beside: Run = at_once
        #: Titles of folded sections; they are folded for all blocks.
        self.folded: set[str] = set()
        self._rows: dict[str, ParameterRow] = {}
        self._header: NodeHeader | None = None
        self._status: NodeStatus | None = None
        self._report: FrameReport | None = None
        self._gains = ConstantGains()
        self._problems: tuple[Diagnostic, ...] | None = None  # the diagnostics whose remedies are shown
        self._drives = ParameterDrives(node_size, self)
        self._drives.refused.connect(self.refused)
        self._drives.followed.connect(self.node_followed)
        self._shelve: Shelve = self._patch.shelve
        self._rename: Callable[[Patch, str, str], None] = Patch.rename
        self._sets_keys: Callable[[], bool] = lambda: False
        #: The type of the shown nodes when their rows were made.
        self._type: type[Block] | None = None
        self._waiting: list[_Waiting] = []
        self._gesture: object | None = None
        self._dragging = False
        self._idle = QTimer(self, singleShot=True, interval=_IDLE_MS)
        self._idle.timeout.connect(self._end_gesture)
        self._later = QTimer(self, singleShot=True, interval=_LATER_MS)
        self._later.timeout.connect(self._refresh_stale)

    def follow(self, editor: Editor) -> None:
        """Follow the canvas's selection, and enter typed text before it is needed."""
        session, canvas = editor.session, editor.canvas
        self.beside, self.folded = editor.beside.run, editor.state.folded_sections
        session.enter_typed = self.enter_typed
        self._rename = canvas.organise.rename
        playhead = editor.playhead
        self._drives.set_playhead(playhead)
        self._sets_keys = lambda: playhead.auto_key
        editor.kernel.shown.connect(self.set_patch)
        editor.kernel.reported.connect(self.show_report)
        canvas.selection_changed.connect(self.show_nodes)
        self.refused.connect(editor.note)
        self.gave_up.connect(session.notify)
        self.gave_up.connect(lambda: editor.note("Redo restores the typed text"))
        self.node_followed.connect(editor.kernel.go_to)
        self._drives.released.connect(lambda parameters: session.post(ReleaseOsc(parameters)))
        self.renaming_ended.connect(canvas.setFocus)
        self.remedy_chosen.connect(editor.mend)
        self.save_requested.connect(lambda: session.post(SaveOutputs()))
        self.offers_wanted.connect(lambda node, parameter: session.post(LookFor(node, parameter)))
        editor.bridge.offered.connect(self.show_offers)

    @property
    def rows(self) -> Mapping[str, ParameterRow]:
        """The rows of the shown parameters, by name."""
        self._finish()
        return self._rows

    @property
    def header(self) -> NodeHeader | None:
        """The title and summary, while nodes are shown."""
        self._finish()
        return self._header

    @property
    def status(self) -> NodeStatus | None:
        """The problems and figures at the bottom, while nodes are shown."""
        self._finish()
        return self._status

    @property
    def page(self) -> NodePage:
        """All that is shown of nodes, which must be some."""
        self._finish()
        assert self._page is not None
        return self._page

    def editor(self, parameter: str) -> ParameterEditor:
        """Return the editor of a parameter."""
        return self.rows[parameter].editor

    def set_patch(self, patch: Patch | None, shelve: Shelve | None = None) -> None:
        """Follow another patch, with no selection. `shelve` replaces the patch's own method."""
        self.enter_typed()
        self.show_nodes([])
        self._unsubscribe()
        self._patch, self._report, self._gains = patch or Patch(), None, ConstantGains()
        self._unsubscribe = self._patch.subscribe(self._on_change, self._refresh_stale)
        self._shelve = shelve or self._patch.shelve
        self.show_nodes([])

    def enter_typed(self) -> None:
        """Apply typed text to the patch, even if it is still being compiled."""
        self._enter_fields()
        self._set_waiting()

    def _enter_fields(self) -> None:
        for row in tuple(self._rows.values()):
            row.editor.enter()
        if self._header is not None:
            self._header.title.enter()

    def show_offers(self, offered: Offered) -> None:
        """Let the person choose from the values that a parameter offers, if it is still shown."""
        row = self._rows.get(offered.parameter)
        if self.nodes[:1] == [offered.node] and row is not None and row.editor.offers is not None:
            row.editor.offers.show_offers(offered)

    def show_nodes(self, nodes: Sequence[str]) -> None:
        """Show the parameters of these nodes; unfinished input goes on while the nodes are the same."""
        unfinished: Unfinished | None = None
        if self._page is not None and self._header is not None and list(nodes) == self.nodes:
            unfinished = self._page.unfinished()
        else:
            self._enter_fields()
        self._end_gesture()
        if self._next is not None:
            self._next.drop()
            self._next = None
        if self._page is not None:
            self._page.end()
        self.nodes = [node for node in nodes if node in self._patch.nodes]
        self._known = frozenset(self.nodes)
        self._forget_stale()
        self._rows, self._header, self._status, self._problems = {}, None, None, None
        self._drives.show_rows(self._patch, self.nodes, self._rows)
        if not self.nodes:
            self._show_page(None, _HINT)
            return
        types = [self._patch.block_type(node) for node in self.nodes]
        is_mixed = len({held or self._patch.nodes[node].type for node, held in zip(self.nodes, types, strict=True)}) > 1
        self._type = types[0]
        specs = common_parameters(types)
        if is_mixed and not specs:
            self._show_page(None, f"{len(self.nodes)} blocks of different types.\nThey have no parameter in common")
            return
        shown = None if is_mixed else self._type
        page = self._next = NodePage(self._patch, self.nodes, shown, specs, self.folded, self._content)
        page.made.connect(partial(self._take, page, unfinished))
        page.make(self._make_row, at_once=unfinished is not None)  # typed text is never without its field

    def _show_page(self, page: NodePage | None, hint: str = "", unfinished: Unfinished | None = None) -> None:
        """Replace the shown page by another one, or by a hint."""
        before, self._page = self._page, page
        place = self._scroll.verticalScrollBar().value() if unfinished is not None else 0
        if page is not None:
            self._pages.addWidget(page)
            self._column.addWidget(page.status.problem)
            page.show()
            if unfinished is not None:
                page.continue_with(unfinished)  # before Qt moves the focus out of the hidden page
        else:
            self.hint.setText(hint)
        if before is not None:
            self._pages.removeWidget(before)
            before.hide()  # and keeps its parent, since Qt would style each of its widgets again
            before.status.problem.hide()
            before.status.problem.deleteLater()
            before.deleteLater()  # its widgets and their slots refer to each other, so Python would never free them
        self._scroll.verticalScrollBar().setValue(place)
        self.set_filled(page is not None)
        if page is None and not self.nodes and self._patch.nodes and not isinstance(self._patch, InnerPatch):
            self.setCurrentWidget(self._patch_page)
        self._show_patch()

    def _show_patch(self) -> None:
        """Refresh the facts of the patch, if they are shown."""
        if self.currentWidget() is self._patch_page:
            self._patch_page.show_patch(self._patch, self._report)
        self._shown_size = self._size_of_patch

    def _show_size(self) -> None:
        if not self.nodes:
            self._show_page(None, _HINT)

    @property
    def _size_of_patch(self) -> tuple[int, int]:
        return len(self._patch.nodes), len(self._patch.connections)

    def show_report(self, report: FrameReport) -> None:
        """Show the state, time and buffers of the node."""
        self._report = report
        self._drives.show_report(report)
        if time.monotonic() - self._refreshed_s > _REFRESH_S:
            self._refreshed_s = time.monotonic()
            self._show_patch()
            self._show_gains()
        if self._status is not None and len(self.nodes) == 1:
            self._status.show_report(self._patch, self.nodes[0], report)
            if report.diagnostics is not self._problems:
                self._problems = report.diagnostics
                self._offer_remedies(self._status, self.nodes[0])

    def _show_gains(self) -> None:
        for name, row in self._rows.items():
            if row.editor.spec.can_be_constant:
                is_constant = row.editor.spec.is_constant
                row.show_gain(self._gains.text(self.nodes[0], name, self._report, is_constant=is_constant))

    def _offer_remedies(self, status: NodeStatus, node: str) -> None:
        """Show a button for each problem of the node that one click can fix."""
        found = [
            r for item in self._problems or () if item.node == node for r in remedies(self._patch, item, node_size)
        ]
        status.remedies.show_buttons((r.title, partial(self.remedy_chosen.emit, r)) for r in found)

    def begin_rename(self) -> None:
        """Put the cursor into the title, when one block is shown."""
        if self.header is not None and len(self.nodes) == 1:
            self.header.title.setFocus()
            self.header.title.selectAll()

    def _finish(self) -> None:
        if self._next is not None:
            self._next.finish()

    def _take(self, page: NodePage, unfinished: Unfinished | None) -> None:
        """Show a page that was made."""
        self._next = None
        self._header, self._rows, self._status = page.header, page.rows, page.status
        page.header.renamed.connect(lambda title: self._do("", self._renaming(title)))
        page.header.given_up.connect(lambda title: self._give_up(self._renaming(title)))
        page.header.finished.connect(self.renaming_ended)
        page.asked.connect(lambda edit: self._do("", edit))
        page.save_requested.connect(self.save_requested)
        for vector in page.vectors:
            vector.reset.clicked.connect(partial(self._reset_vector, vector))
        self.align()
        for row in self._rows.values():
            self._refresh(row)
        self._drives.show_rows(self._patch, self.nodes, self._rows)
        if self._report is not None:
            self.show_report(self._report)
        self._show_page(page, unfinished=unfinished)
        self._wrap_rows()

    def _wrap_rows(self) -> None:
        if self._page is not None:
            bar = self._scroll.verticalScrollBar().sizeHint().width()
            self._page.wrap(self.width() - bar, self.height(), self.fontInfo().pixelSize())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap the rows for the new width."""
        super().resizeEvent(event)
        self._wrap_rows()

    def align(self) -> None:
        """Align the boxes of numbers, after a change of their font too."""
        align_numbers(row.editor for row in self._rows.values())

    def _folder(self) -> Path | None:
        return self._patch.path.parent if self._patch.path is not None else None

    def _make_row(self, spec: ParameterSpec, beside_constants: bool) -> ParameterRow:
        code = CurveEditor if spec.language == "curve" else CodeEditor
        editor = code(spec) if spec.language else make_editor(spec, self._folder)
        row = ParameterRow(spec, editor, beside_constants=beside_constants)
        row.editor.edited.connect(lambda value: self._edit(spec.name, value))
        row.editor.given_up.connect(lambda value: self._give_up(self._setting(spec.name, value)))
        row.editor.refused.connect(self.refused)
        row.editor.drag_began.connect(self._begin_drag)
        row.editor.drag_ended.connect(self._end_gesture)
        if spec.offers:
            row.editor.add_offers()
            row.editor.offers_wanted.connect(lambda: self.offers_wanted.emit(self.nodes[0], spec.name))
        row.reset.clicked.connect(lambda: self._reset(spec.name))
        row.constant.toggled.connect(lambda is_constant: self._mark(spec.name, is_constant=is_constant))
        return row

    def _refresh(self, row: ParameterRow) -> None:
        name = row.editor.spec.name
        typed = {node: edit.value for edit in self._waiting if edit.name == name for node in edit.nodes}
        row.editor.show_values([typed.get(node, self._patch.value(node, name)) for node in self.nodes])
        places = (place for node in self.nodes for place in self._patch.leaves(node, name))
        row.show_is_set(any(node_edits.is_set(self._patch, node, parameter) for node, parameter in places))

    # Editing

    def _edit(self, name: str, value: Any) -> None:
        if self._gesture is None:
            self._gesture = object()
        if not self._dragging:
            self._idle.start()
        patch, nodes, gesture = self._patch, self.nodes, (self._gesture, name)
        work = setting_work(patch, nodes, name, value)
        if work is None:
            self._do(name, self._setting(name, value, gesture))
        else:
            edit = _Waiting(patch, nodes, name, value)
            self._waiting.append(edit)
            title = f"Compiling {patch.title(nodes[0])} …"
            self.beside(title, work, lambda _: self._set_compiled(edit), lambda: self._cancel(edit))

    def _set_compiled(self, edit: _Waiting) -> None:
        """Set the compiled text, unless it was already set because another action could not wait."""
        if edit in self._waiting:
            self._waiting.remove(edit)
            nodes = [node for node in edit.nodes if node in edit.patch.nodes]
            if nodes:  # otherwise the nodes were removed while their code was compiled
                self._do(edit.name, lambda patch: node_edits.set_parameter(patch, nodes, edit.name, edit.value))

    def _cancel(self, edit: _Waiting) -> None:
        """Keep text whose compile was cancelled: in its field, or where redo can restore it."""
        if edit not in self._waiting:
            return
        self._waiting.remove(edit)
        row = self._rows.get(edit.name) if (edit.patch, edit.nodes) == (self._patch, self.nodes) else None
        if row is not None:
            self._refresh(row)
        if row is not None and isinstance(row.editor, CodeEditor):
            row.editor.continue_with(TypedInput(edit.value, len(edit.value), len(edit.value)))
            row.editor.text.setFocus()
            self.refused.emit("Not compiled: Ctrl+Enter in the field tries again, Escape discards the text")
        elif edit.patch is self._patch and all(node in self._patch.nodes for node in edit.nodes):
            self._give_up(lambda patch: node_edits.set_parameter(patch, edit.nodes, edit.name, edit.value))

    def _set_waiting(self) -> None:
        while self._waiting:
            self._set_compiled(self._waiting[0])

    def _setting(self, name: str, value: Any, gesture: object = None) -> Callable[[Patch], None]:
        nodes = self.nodes
        if self._sets_keys() and self._drives.has_keys(name):
            return lambda _: self._drives.set_keys(name, value, gesture)
        return lambda patch: node_edits.set_parameter(patch, nodes, name, value, gesture=gesture)

    def _renaming(self, title: str) -> Callable[[Patch], None]:
        node, rename = self.nodes[0], self._rename
        return lambda patch: rename(patch, node, title)

    def _give_up(self, edit: Callable[[Patch], None]) -> None:
        """Keep a discarded edit where redo can restore it."""
        self._set_waiting()  # a later edit would clear the redo history
        try:
            self._shelve(edit)
        except PatchError as problem:
            self.refused.emit(str(problem))
        else:
            self.gave_up.emit()

    def _reset(self, name: str) -> None:
        self.enter_typed()
        self._do(name, lambda patch: node_edits.reset_parameter(patch, self.nodes, name))

    def _reset_vector(self, vector: VectorRow) -> None:
        self.enter_typed()

        def edit(patch: Patch) -> None:
            with patch.edit(f"Reset {node_edits.parameter_of(patch, self.nodes, vector.name)}"):
                for row in vector.rows:
                    node_edits.reset_parameter(patch, self.nodes, row.editor.spec.name)

        self._do("", edit)

    def _mark(self, name: str, *, is_constant: bool) -> None:
        """Make a parameter a constant of the kernel, or one that is passed to it."""
        self.enter_typed()
        text = self._patch.value(self.nodes[0], CONSTANTS)
        known = [row.editor.spec.name for row in self._rows.values() if row.editor.spec.can_be_constant]
        self._gains.begin(self.nodes[0], name, self._report, is_constant=is_constant)
        self._edit(CONSTANTS, marked(text, name, is_constant=is_constant, known=known))

    def _do(self, parameter: str, edit: Callable[[Patch], None]) -> None:
        try:
            edit(self._patch)
        except PatchError as problem:
            self.refused.emit(str(problem))
            if parameter in self._rows:
                self._refresh(self._rows[parameter])

    def _begin_drag(self) -> None:
        self._idle.stop()
        self._gesture, self._dragging = object(), True

    def _end_gesture(self) -> None:
        self._idle.stop()
        self._gesture, self._dragging = None, False

    # Following the patch

    def _on_change(self, change: Change) -> None:
        """Note what must be refreshed; after an edit of a thousand blocks, each row is refreshed once."""
        match change:
            case ParameterChanged(node, parameter) if node in self._known:
                self._stale_values.add(parameter)
                if self._patch.decides_interface(node, parameter):
                    self._has_other_rows = True
            case CurveChanged(node, parameter) if node in self._known:
                self._stale_values.add(parameter)
                self._stale_drives.add(parameter)
            case Connected(connection) | Disconnected(connection):
                if connection.target.node in self._known:
                    self._stale_drives.add(connection.target.port)
                if connection.source.node in self._known:  # a reset gives what the driven parameter asks for
                    self._stale_values |= self.rows.keys()
            case NodeRenamed(node, title):
                self._is_renamed = True
                if node in self._known and self._header is not None:
                    self._header.show_title(title)
            case NodeCommented(node, comment) if node in self._known and self._header is not None:
                self._header.show_comment(comment)
            case NodeRemoved(node) if node.id in self._known:
                self._has_other_rows = True

    def _refresh_stale(self) -> None:
        if self._has_ports:  # a group's values are those of blocks inside
            self._stale_values |= self._rows.keys()
        if self._has_other_rows or (self._has_ports and self._patch.block_type(self.nodes[0]) is not self._type):
            if _is_pressing() and all(node in self._patch.nodes for node in self.nodes):
                self._later.start()  # a click has to reach the control that it began at
                return
            self.show_nodes(self.nodes)
        for name in self._stale_values & self._rows.keys():
            self._refresh(self._rows[name])
        for name in self._stale_drives & self._rows.keys():
            self._drives.refresh(name)
        if self._is_renamed:
            self._drives.refresh_all()
        self._forget_stale()
        if not self.nodes and self._size_of_patch != self._shown_size:
            self._resized.emit()

    @property
    def _has_ports(self) -> bool:
        """True while a group or one of its ends is shown, whose ports any edit may change."""
        node = self.nodes[0] if self.nodes else ""
        return node in self._patch.nodes and (self._patch.is_group(node) or self._patch.is_end(node))

    def _forget_stale(self) -> None:
        self._stale_values: set[str] = set()
        self._stale_drives: set[str] = set()
        self._is_renamed = self._has_other_rows = False


def _is_pressing() -> bool:
    """Return whether the person holds a mouse button, or chooses from an open list."""
    is_held = QApplication.mouseButtons() != Qt.MouseButton.NoButton
    return is_held or QApplication.activePopupWidget() is not None
