"""`Canvas`: the widget on which a person edits a patch."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QMargins, QMimeData, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from warploom.app.canvas.gestures.connection_edits import ConnectionEdits
from warploom.app.canvas.graph_view import GraphView
from warploom.app.canvas.incoming import Incoming
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.canvas.keyboard import CanvasKeyboard
from warploom.app.canvas.mirror import Mirror
from warploom.app.canvas.notice import CanvasNotice, EmptyHint
from warploom.app.canvas.organise_edits import OrganiseEdits
from warploom.app.canvas.reports.heat_legend import HeatLegend
from warploom.app.canvas.reports.path_display import PathDisplay
from warploom.app.canvas.reports.report_display import ReportDisplay
from warploom.app.canvas.reports.thumbnails import Thumbnails
from warploom.app.canvas.search.block_search import BlockSearch, Goal, Replacement
from warploom.app.canvas.search.find_bar import FindBar
from warploom.app.canvas.selection_edits import SelectionEdits
from warploom.app.edits import nodes as node_edits
from warploom.app.edits import regions
from warploom.app.edits.regions import NodeDrop
from warploom.app.edits.remedies import Remedy
from warploom.app.view_models.tooltips import Hit, tooltip
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.layers import GAP_X
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.messages import FrameReport

_ARROWS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}
#: The distance from an input, or an output, to the edge of a block that is searched for it, in scene units.
_AWAY = {True: -GAP_X, False: GAP_X}
#: A pointer that is closer than this to a block gives a new one no place, in scene units.
_NEAR = 24.0
#: The margin around what is brought into view, in pixels.
_AROUND = 48


class Canvas(QWidget):
    """A view of one patch. Gestures become edits of the patch; the picture follows only the patch's changes."""

    selection_changed = Signal(list)  # node ids
    refused = Signal(str)  # the reason why an edit is refused
    node_activated = Signal(str)  # double-clicked, or entered by the keyboard
    escaped = Signal()  # Escape, while nothing is dragged
    menu_requested = Signal(str, QPoint)  # for a "node", a "connection" or the "canvas", at a screen position

    def __init__(self) -> None:
        super().__init__()
        #: The shown patch; an empty one while none is open.
        self.patch = Patch()
        #: The profile of the last measured frame; requested while a tooltip is shown.
        self.profile: Callable[[], Profile | None] = lambda: None
        #: The memory bandwidth of the engine's device; None where it is unknown.
        self.peak_bytes_per_s: Callable[[], float | None] = lambda: None
        #: The port whose menu was opened last.
        self.menu_port: PortRef | None = None
        self._selected: list[str] = []
        self._opened: Patch | None = None
        self.scene = GraphScene(self)
        self.scene.selection_settled.connect(self._pass_on_selection)
        self.connecting = ConnectionEdits(self)
        self.connecting.refused.connect(self._refuse)
        self.connecting.offered.connect(self._offer)
        self.connecting.dropped_on_nothing.connect(self._search_for_end)
        self.incoming = Incoming(self.scene, self)
        self.incoming.refused.connect(self._refuse)
        self.incoming.placed.connect(self._show_placed)
        self.view = GraphView(self.scene, self.connecting, self._move_refusal, self._tooltip, self.incoming, self)
        self.view.setAccessibleName("Patch")
        self.edits = SelectionEdits(self.scene, self.view.cursor_point, self)
        self.edits.refused.connect(self._refuse)
        self.organise = OrganiseEdits(self.scene, self)
        self.organise.refused.connect(self._refuse)
        self.connecting.keep_apart = self.organise.keep_apart
        legend = HeatLegend(self)
        #: What reports show: states, times, values, heat and activity.
        self.display = ReportDisplay(self.scene, self.view, legend)
        self.path = PathDisplay(self.scene, self)
        self.thumbnails = Thumbnails(self.scene, self.view)
        self.organise.room_below = self.edits.room_below = self.thumbnails.room
        self._notice = CanvasNotice(self)
        self._hint = EmptyHint()
        self.scene.filled.connect(self._show_hint)
        self.search = BlockSearch(self, self.organise.free_place, self.organise.make_room)
        self.finding = FindBar(self)
        edits = self.connecting, self.edits, self.organise
        self.keyboard = CanvasKeyboard(self.view, self.scene, edits, self.search_for, self._refuse, self)
        self.search.placed.connect(self._select_placed)
        self.search.replaced.connect(self._show_placed)
        self.search.refused.connect(self._refuse)
        self.search.popup.shown.connect(self._show_hint)
        layout = QGridLayout(self, contentsMargins=QMargins(), spacing=0)
        layout.addWidget(self.view, 0, 0, 2, 1)
        # The hint is no child of the viewport, which moves its children.
        layout.addWidget(self._hint, 0, 0, 2, 1, Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(legend, 1, 0, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)
        layout.setRowStretch(0, 1)
        self._legend, self._layout, self._path_row = legend, layout, -1
        self._part_legends()
        self.setFocusProxy(self.view)
        self.view.nodes_dropped.connect(self._move)
        self.view.move_explained.connect(self._explain)
        self.view.drop_explained.connect(self._explain)
        self.view.connections_cut.connect(lambda crossed: node_edits.cut(self.patch, crossed))
        self.view.frames_dropped.connect(self.organise.move_frames)
        self.view.frame_resized.connect(self.organise.resize_frame)
        self.view.frame_double_clicked.connect(self.organise.edit_frame)
        self.view.dots_dropped.connect(self.organise.set_dots)
        self.view.dot_double_clicked.connect(self.organise.remove_dot)
        self.view.slider_moved.connect(self._slide)
        self.view.pressed.connect(self._notice.hide)
        self.connecting.explained.connect(self._explain)
        self.view.node_double_clicked.connect(self.node_activated)
        self.view.connection_double_clicked.connect(partial(self._open_search_for, None))
        self.view.canvas_double_clicked.connect(self.open_search)
        self.view.menu_requested.connect(self._open_menu)
        self._mirror = Mirror(self.patch, self.scene, self.view.cancel_drag)

    # Display

    def set_patch(self, patch: Patch | None, level: str = "") -> None:
        """Show a patch: the inside of the group `level`, or what is outside all groups. None shows an empty canvas."""
        self._mirror.stop()
        self.search.popup.close_search()
        self.view.cancel_drag()
        self.display.clear()
        self.path.set_patch(patch)
        self.patch = self.edits.patch = self.organise.patch = self.connecting.patch = patch or Patch()
        self.incoming.patch = self.patch
        if patch is not self._opened and not isinstance(patch, InnerPatch):
            self._opened = patch
            self.organise.spread()
        self._mirror = Mirror(self.patch, self.scene, self.view.cancel_drag, level)
        self.thumbnails.set_patch(self.patch)
        self._pass_on_selection()
        self.view.painting.forget()

    def show_report(self, report: FrameReport) -> None:
        """Show states and times of a frame, including those in tooltips."""
        self.display.show_report(report)
        self.thumbnails.show_report(report)
        self.path.show_report(report)

    def fit(self) -> None:
        """Bring the whole patch into view."""
        self.view.show_rect(self.scene.rect_of(self.scene.nodes))

    def fit_selection(self) -> None:
        """Bring the selected nodes into view, or the whole patch when none is selected."""
        self.view.show_rect(self.scene.rect_of(self.selected() or self.scene.nodes))

    def _part_legends(self) -> None:
        """Put the path's legend beside that of the heat map, or above it where there is no room for both."""
        legends = self._legend, self.path
        width = sum(legend.sizeHint().width() for legend in legends if not legend.isHidden())
        row = 1 if self._legend.isHidden() or width <= self.width() else 0
        if row != self._path_row:
            self._path_row = row
            self._layout.removeWidget(self.path)
            self._layout.addWidget(self.path, row, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)

    def _show_hint(self) -> None:
        """Show a hint on an empty canvas, unless the search is open."""
        self._hint.setVisible(not self.scene.nodes and not self.search.popup.isVisible())

    # Selection

    def selected(self) -> list[str]:
        """Ids of the selected nodes."""
        return self.scene.selected_nodes()

    def select(self, node_ids: Iterable[str]) -> None:
        """Select these nodes and nothing else."""
        self.scene.select(node_ids)

    def select_all(self) -> None:
        """Select every node."""
        self.scene.select(self.scene.nodes)

    def go_to(self, node: str) -> None:
        """Select a node, if it exists, and bring it into view at the present zoom."""
        if node in self.scene.nodes:
            self.select([node])
            self._bring_into_view(self.scene.rect_of([node]))
            self.setFocus()

    def _bring_into_view(self, rect: QRectF) -> None:
        """Bring a part of the scene into view, but not behind the field of *Find*."""
        self.view.ensureVisible(rect, _AROUND, _AROUND)
        if self.finding.isVisible():
            field = QRect(self.view.viewport().mapFrom(self, self.finding.pos()), self.finding.size())
            seen = self.view.mapFromScene(rect).boundingRect()
            if seen.intersects(field):
                self.view.scroll_by(QPoint(0, seen.top() - field.bottom() - _AROUND))

    def show_types(self, types: frozenset[str]) -> None:
        """Report the selection again if the type of a selected node has changed."""
        selected = self.selected()
        if any(self.patch.nodes[node].type in types for node in selected):
            self.selection_changed.emit(selected)

    def _pass_on_selection(self) -> None:
        selected = self.selected()
        if selected != self._selected:
            self._selected = selected
            self.selection_changed.emit(selected)

    def _open_menu(self, hit: object, position: QPoint) -> None:
        """Select the item under the pointer and request its menu."""
        self.menu_port = hit if isinstance(hit, PortRef) else None
        match hit:
            case Connection():
                self.scene.select_connection(hit)
                kind = "connection"
            case PortRef(node=node) | str(node):
                if node not in self.selected():
                    self.select([node])
                kind = "node"
            case _ if (frame_id := self.scene.frames.strip_at(self.view.cursor_point())) is not None:
                if frame_id not in self.scene.frames.selected():
                    self.select([])
                    self.scene.frames.select([frame_id])
                kind = "frame"
            case _:
                kind = "canvas"
        self.menu_requested.emit(kind, position)

    def _move(self, drop: NodeDrop) -> None:
        try:
            regions.drop(self.patch, drop, self.organise.make_room)
        except PatchError as problem:
            self._refuse(str(problem))

    def paste(self) -> None:
        """Paste blocks, or files, a picture or a table of another program, at the pointer."""
        data = QGuiApplication.clipboard().mimeData() or QMimeData()  # None while nothing has been copied
        if not self.incoming.take(data, self.view.cursor_point(), drops=False):
            self.edits.paste()

    def _show_placed(self, nodes: list[str]) -> None:
        self.select(nodes)
        self.view.ensureVisible(self.scene.rect_of(nodes), 24, 24)

    def _move_refusal(self, nodes: Sequence[str], scope: str) -> str | None:
        return regions.move_refusal(self.patch, nodes, scope)

    # Connecting

    def _search_for_end(self, point: QPointF, start: PortRef) -> None:
        self._open_search_for(self.view.mapFromScene(point), start)

    def _slide(self, node: str, parameter: str, value: float, gesture: object) -> None:
        node_edits.set_parameter(self.patch, [node], parameter, value, gesture=gesture)

    def _say(self, text: str) -> None:
        self._notice.show_at(self.view.cursor_position, text, self.view.tray_area())

    def _explain(self, text: str, is_refused: bool) -> None:
        """Show what a drop would do, or why it would be refused."""
        if is_refused and text:
            self._say(text)
        elif text:
            self._notice.tell_at(self.view.cursor_position, text, self.view.tray_area())
        else:
            self._notice.hide()

    def _refuse(self, reason: str) -> None:
        self._say(reason)
        self.refused.emit(reason)

    def _offer(self, reason: str, remedies: list[Remedy]) -> None:
        """Show why a connection is refused, with a button for each edit that would allow it."""
        if not remedies:
            self._refuse(reason)
            return
        answers = [(remedy.title, remedy.edit) for remedy in remedies if remedy.edit is not None]
        self._notice.offer_at(self.view.cursor_position, reason, answers)
        self.refused.emit(reason)

    # Search

    def search_for(self, port: PortRef, *, only_fitting: bool = True) -> None:
        """Open the search for a block to connect to a port, beside it."""
        node = self.scene.nodes.get(port.node)
        view = next((v for key, v in node.ports.items() if key[0] == port.port), None) if node is not None else None
        if node is not None and view is not None:
            self.select([port.node])
            self.view.ensureVisible(node.place, 24, 24)
            position = self.view.mapFromScene(view.scenePos() + QPointF(_AWAY[view.model.is_input], 0))
            self._open_search_for(position, port, only_fitting=only_fitting)

    def open_search(self, position: QPoint | None = None) -> None:
        """Open the search at a position of the canvas, or at the pointer. The chosen block is placed there.

        With one block selected, blocks that fit its free end come first, and are connected to it; without a pointer on
        a free place of the canvas, the new block goes beside it. If the search is already open, close it.
        """
        selected = self.selected()
        if self.search.popup.isVisible():
            self.search.popup.close_search()
        elif position is None and len(selected) == 1 and (end := self.scene.nodes[selected[0]].free_end()) is not None:
            if self._is_at_free_place():
                self._open_search_for(None, end, only_fitting=False)
            else:
                self.search_for(end, only_fitting=False)
        else:
            self._open_search_for(position)

    def _is_at_free_place(self) -> bool:
        """Return whether the pointer is on an empty place of the canvas; a block may just have been placed there."""
        point, margin = self.view.cursor_point(), QPointF(_NEAR, _NEAR)
        near = QRectF(point - margin, point + margin)
        return self.view.viewport().rect().contains(self.view.cursor_position) and not any(
            view.place.intersects(near) for view in self.scene.nodes.values()
        )

    def _open_search_for(self, position: QPoint | None, goal: Goal = None, *, only_fitting: bool = True) -> None:
        position = position or self.view.mapFromScene(self.view.cursor_point())
        point = self.view.mapToScene(position)
        scope = self.scene.regions.scope_at(point)
        self.search.open(self.patch, position, point, goal, scope, only_fitting=only_fitting)

    def open_find(self) -> None:
        """Open the field that finds blocks and frames of the patch."""
        self.finding.open(self.patch)

    def go_to_frame(self, frame_id: str) -> None:
        """Select a frame, and bring it into view."""
        if (view := self.scene.frames.views.get(frame_id)) is not None:
            self.select([])
            self.scene.frames.select([frame_id])
            self._bring_into_view(view.rect)

    def insert_block(self) -> None:
        """Search for a block to put in the middle of the selected connection."""
        connections = self.scene.selected_connections()
        if connections:
            self._open_search_for(None, connections[0])

    def replace_block(self) -> None:
        """Search for a block type to put in the place of the selected blocks."""
        if nodes := self.selected():
            position = self.view.mapFromScene(self.scene.nodes[nodes[0]].place.topLeft())
            self._open_search_for(position, Replacement(tuple(nodes)), only_fitting=False)

    # Frames

    def add_frame(self) -> None:
        """Put a frame around the selected blocks, or at the pointer, and ask for its title."""
        gesture = object()  # the frame and its title are one undo step
        frame_id = self.organise.add_frame(self.view.cursor_point(), gesture)
        self.scene.frames.select([frame_id])
        self.organise.edit_frame(frame_id, gesture)

    def _select_placed(self, node_id: str) -> None:
        self._show_placed([node_id])

    # Events

    def _tooltip(self, hit: Hit) -> str:
        shown = self.display
        peak = self.peak_bytes_per_s()
        text = tooltip(self.patch, hit, shown.report, self.profile(), peak, is_still=shown.is_still)
        node = hit if isinstance(hit, str) else hit.source.node if isinstance(hit, Connection) else ""
        numbers = self.thumbnails.text_of(node)
        return f"{text}\n{numbers}" if text and numbers else text

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move and open the selection, and leave an inner patch; the keys of commands have precedence."""
        key = Qt.Key(event.key())
        if key in _ARROWS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            if (node := self.keyboard.go(*_ARROWS[key])) is not None:
                self.go_to(node)
        elif key in _ARROWS:
            self.keyboard.move(*_ARROWS[key], is_held=event.isAutoRepeat())
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and len(self.selected()) == 1:
            self.node_activated.emit(self.selected()[0])
        elif key == Qt.Key.Key_Escape:
            self.escaped.emit()
        else:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """Keep the legends apart when their sizes change."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._part_legends()
        return super().event(event)

    def changeEvent(self, event: QEvent) -> None:
        """Repaint in another theme's colours."""
        if event.type() == QEvent.Type.PaletteChange:
            self.view.viewport().update()
            self._hint.refresh()
        super().changeEvent(event)
