"""`MainWindow`: puts canvas, docks, commands and session together."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QCloseEvent, QDesktopServices
from PySide6.QtWidgets import QApplication, QMainWindow, QStackedWidget

from app.canvas.canvas import Canvas
from app.canvas.drawing.node_layout import node_size
from app.commands.actions import Actions
from app.commands.commands import PROFILING, make_commands
from app.commands.help_dialogs import make_shortcut_list, show_about
from app.commands.menus import Availability, ChangingMenus, open_context_menu
from app.docks.help import Help
from app.docks.kernel_code import KernelCode
from app.docks.log import Log
from app.docks.problems import Problems
from app.docks.profiler.profiler import Profiler
from app.docks.recorder import Recorder
from app.docks.updates import Updates
from app.documents.bridge import Bridge
from app.documents.editor_state import load_state, save_state
from app.documents.file_commands import FileCommands
from app.documents.gallery import find_examples
from app.documents.outside_changes import OutsideChanges
from app.documents.recovery import RecoverySlot, find_left_behind
from app.documents.session import MakeEngine, Session
from app.documents.trust import TrustedPaths
from app.edits.remedies import Remedy
from app.inspector.inspector import Inspector
from app.qt.beside import Beside
from app.qt.gc_timer import GcTimer
from app.qt.safe_overrides import safe_overrides
from app.theme.apply import apply_theme
from app.theme.colours import current
from app.view_models.block_help import kernel_files
from app.view_models.profile.flight import Flight
from app.viewers.viewer_docks import ViewerDocks
from app.widgets.banner import NO_NOTICE, Banner, Notice
from app.window.docks import LISTS, Docks, arrange, remember, restore, size_docks
from app.window.engine_badge import EngineBadge
from app.window.focus_keys import FocusKeys
from app.window.input_events import InputEvents
from app.window.kernel_room import KernelRoom
from app.window.toolbars import ProblemCount, add_toolbar, fill_menu_bar, list_button, under_banners
from app.window.transport import TransportControls
from app.window.welcome import Welcome
from app.window.window_style import window_stylesheet
from engine.diagnostics import PatchError, Source, error
from engine.patch.inner_patch import inner_kind
from engine.protocol.messages import FrameReport, SetFrameBudget

_SHOWN_MS = 8000  # of a message in the status bar


@safe_overrides
class MainWindow(QMainWindow):
    """The editor's window. `make_engine` starts an engine for a patch; `folder` keeps what is remembered."""

    def __init__(self, make_engine: MakeEngine, folder: Path) -> None:
        super().__init__()
        self.setWindowTitle("Warploom[*]")
        self._folder = folder
        self._is_sized = False
        self.state = load_state(folder)
        self.gc_timer = GcTimer(self)
        self.beside = Beside(self)
        self.beside.told.connect(lambda text: self.statusBar().showMessage(text))
        self.session = Session(make_engine, self)
        self._recovery = RecoverySlot(folder / "recovery")
        self.files = FileCommands(self.session, self.state, self._recovery, TrustedPaths(folder), self)
        self.outside = OutsideChanges(self.session, self.files.save_as, self)
        self.bridge = Bridge(self)
        self.canvas = Canvas()
        self.inputs = InputEvents(self.session.post, self.canvas.view.viewport(), self)
        self.welcome = Welcome(find_examples())
        self.inspector, self.help, self.problems, self.log = Inspector(node_size), Help(), Problems(), Log(folder)
        self.session.enter_typed = self.inspector.enter_typed
        self.canvas.search.recent = self.state.recent_blocks
        self.canvas.search.popup.unfolded = self.state.unfolded_groups
        self.inspector.folded = self.state.folded_sections
        self.updates, self.code, self.recorder = Updates(), KernelCode(), Recorder()
        self.profiler = Profiler()
        self.viewers = ViewerDocks(self)
        self.log.noted.connect(lambda text: self.statusBar().showMessage(text, _SHOWN_MS))
        self.badge = EngineBadge()
        self.banner, self.trust_banner, self.blocks_banner, self.file_banner = (Banner() for _ in range(4))
        self.problem_count = ProblemCount()
        self._central = QStackedWidget()
        self._central.addWidget(self.welcome)
        self.kernel = KernelRoom(self.canvas, self.inspector, lambda: self.files.name, self)
        banners = self.banner, self.trust_banner, self.blocks_banner, self.file_banner
        self._central.addWidget(under_banners(*banners, self.kernel.breadcrumb, self.canvas))
        self.setCentralWidget(self._central)
        self.docks = Docks(self)
        self.docks.add("inspector", "Inspector", self.inspector, Qt.DockWidgetArea.RightDockWidgetArea)
        self.docks.add("help", "Help", self.help, Qt.DockWidgetArea.RightDockWidgetArea)
        self.docks.add("problems", "Problems", self.problems, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.docks.add("updates", "Updates", self.updates, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.docks.add("log", "Log", self.log, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.docks.add("code", "Kernel code", self.code, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.docks.add("recorder", "Recorder", self.recorder, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.docks.add("profiler", "Profiler", self.profiler, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.actions_by_id = Actions(self, make_commands(self), self.canvas, self.inspector.enter_typed)
        self.transport = TransportControls(self, self.session, self.actions_by_id)
        self.profiler.offer_levels({level: self.actions_by_id[command] for level, command in PROFILING.items()})
        fill_menu_bar(self.actions_by_id, self.docks)
        add_toolbar(self, self.actions_by_id, self.transport.bar, self.badge)
        self.statusBar().addPermanentWidget(self.problem_count)  # where no message covers it
        for name in LISTS[1:]:
            button = list_button(self.docks[name].windowTitle())
            button.clicked.connect(partial(self.docks.toggle, name))
            self.statusBar().addPermanentWidget(button)
        self.statusBar().setSizeGripEnabled(False)
        self._availability = Availability(self, self.session, self.canvas, self.actions_by_id)
        ChangingMenus(self, self.actions_by_id, self.canvas, self.viewers, self.files, self.state)
        application().focusChanged.connect(FocusKeys(self.canvas).watch)
        self._wire()
        arrange(self, self.docks)
        restore(self, self.docks, self.state)
        self._show_recent()
        self.set_theme(self.state.theme)
        self.canvas.show_heat(self.state.shows_heat)
        self._on_replaced()

    # Commands that concern the window itself

    def go_to(self, place: str) -> None:
        """Select a node of the patch, or an op of a kernel in it as "node/op", and bring it into view."""
        patch, (node, _, op) = self.session.patch, place.partition("/")
        if patch is None or node not in patch.nodes:
            return
        if not op:
            self.kernel.leave()
        elif self.kernel.node != node:
            self.kernel.enter(patch, node)
        self._show_node(op or node)

    def _show_node(self, node: str) -> None:
        """Select a node of what the canvas shows and bring it into view."""
        if self.canvas.patch is not None and node in self.canvas.patch.nodes:
            self.canvas.select([node])
            self.canvas.fit_selection()
            self.canvas.setFocus()

    def mend(self, remedy: Remedy) -> None:
        """Do what the button of a problem says."""
        self.inspector.enter_typed()
        if remedy.edit is not None:
            try:
                remedy.edit()
            except PatchError as problem:
                self.log.add_message(str(problem))
        elif remedy.search is not None:
            self.canvas.search_for(remedy.search)
        elif remedy.choose is not None:
            self.go_to(remedy.choose.node)
            self.docks.reveal("inspector")
            self.inspector.editor(remedy.choose.port).begin()
        else:
            self.actions_by_id[remedy.command].trigger()

    def rename_selected(self) -> None:
        """Let the person rename the selected block."""
        self.docks.reveal("inspector")
        self.inspector.begin_rename()

    def show_block_help(self) -> None:
        """Show the help of the selected block beside its parameters."""
        self.docks.reveal("help")

    def open_op_graph(self) -> None:
        """Open the op graph of the selected kernel."""
        for node in self.canvas.selected()[:1]:
            self._activate(node)

    def open_kernel_source(self) -> None:
        """Open the kernel files of the selected block in the system's editor."""
        patch, selected = self.canvas.patch, self.canvas.selected()
        block_type = patch.block_type(selected[0]) if patch is not None and selected else None
        files = kernel_files(block_type) if block_type else []
        for path in files:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
        if not files:
            self.log.add_message("The selected block has no kernel of its own")

    def set_theme(self, name: str) -> None:
        """Use the theme "dark" or "light"."""
        apply_theme(application(), name)
        self.state.theme = name
        self.setStyleSheet(window_stylesheet(current()))
        self.actions_by_id.refresh_icons()
        self.viewers.refresh_icons()
        self.updates.refresh_icons()
        self.problems.refresh_icons()
        self.log.refresh_icons()
        self.recorder.refresh_icons()
        self.inspector.show_nodes(self.inspector.nodes)
        self.help.refresh()
        self.transport.refresh()

    def toggle_heat(self) -> None:
        """Show or hide the heat map."""
        self.state.shows_heat = not self.state.shows_heat
        self.canvas.show_heat(self.state.shows_heat)

    def toggle_path(self) -> None:
        """Show or hide the critical path."""
        self.state.shows_path = not self.state.shows_path
        self._show_path()

    def _show_path(self) -> None:
        """Mark the critical path if that is chosen; only then profiles are requested."""
        self.bridge.watch_profile("path", self.state.shows_path)
        self.canvas.path.show_path(self.state.shows_path)

    def show_shortcuts(self) -> None:
        """List the commands that have keys."""
        make_shortcut_list(self, self.actions_by_id.commands.values()).open()

    def show_about(self) -> None:
        """Show the About dialog."""
        engine = self.session.engine
        info = engine.info if engine else None
        show_about(self, f"{info.name}, {info.title}" if info else "no device; open a patch first")

    def offer_recovery(self) -> None:
        """Offer unsaved work that a crash left behind."""
        is_open = False
        for found in find_left_behind(self._folder / "recovery"):
            if is_open:
                found.leave()  # it is offered at the next start
            else:
                is_open = self.files.recover(found)

    # Qt

    def changeEvent(self, event: QEvent) -> None:
        """Stop drawing while the window is minimised."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.bridge.set_active(not self.isMinimized())

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved changes, remember the window, and end the engine."""
        if not self.files.may_close():
            event.ignore()
            return
        remember(self, self.docks, self.state, arranged=self._is_sized)
        self.session.close()
        self.log.end()
        self.gc_timer.close()
        self.beside.close()
        self._recovery.close()
        try:
            save_state(self.state, self._folder)
        except OSError as problem:
            self.log.add_error(f"window state must be writable to {self._folder}, got: {problem}")
        event.accept()

    def _wire(self) -> None:
        session, bridge, canvas = self.session, self.bridge, self.canvas
        for part in (canvas, self.inspector, self.code, self.kernel, self.recorder.feed, self.profiler.feed):
            part.beside = self.beside.run
        self.code.architecture = lambda: session.architecture
        session.replaced.connect(self._on_replaced)
        session.engine_changed.connect(self._on_engine_changed)
        session.changed.connect(self._show_title)
        session.changed.connect(self._show_code)  # constants of a kernel may have other values
        session.types_changed.connect(self._on_types)
        session.engine_failed.connect(self._on_engine_failed)
        bridge.report.connect(self._on_report)
        bridge.preview.connect(self.viewers.show_preview)
        bridge.updated.connect(self.updates.add)
        bridge.updated.connect(self.badge.note_update)
        bridge.saved.connect(self.log.add_saved)
        bridge.frozen.connect(self.log.add_frozen)
        bridge.frozen.connect(session.follow_freeze)
        bridge.failed.connect(self.log.add_diagnostic)
        for watcher in (canvas.view.tooltip, self.badge.tooltip, self.profiler):
            watcher.watching.connect(partial(bridge.watch_profile, watcher))
        bridge.profiled.connect(canvas.path.show_profile)
        bridge.profiled.connect(self.profiler.show_profile)
        self.profiler.node_chosen.connect(self._choose_node)
        self.profiler.node_activated.connect(self.go_to)
        self.profiler.frame_chosen.connect(self._show_frame)
        canvas.profile = lambda: None if self.kernel.is_open else bridge.profile
        canvas.peak_bytes_per_s = lambda: session.peak_bytes_per_s
        self.badge.profile = lambda: bridge.profile
        self.viewers.visible_changed.connect(bridge.observe)
        self.viewers.failed.connect(self.log.add_error)
        canvas.connecting.cost = lambda changes: None if self.kernel.is_open else session.cost_of(changes)
        canvas.selection_changed.connect(self._on_selection)
        canvas.menu_requested.connect(self._show_context_menu)
        canvas.refused.connect(self.log.add_message)
        canvas.node_activated.connect(self._activate)
        self.kernel.refused.connect(self.log.add_message)
        self.kernel.changed.connect(self._show_code)
        self.docks["code"].visibilityChanged.connect(self._show_code)
        self.docks["recorder"].visibilityChanged.connect(self.recorder.set_seen)
        self.docks["profiler"].visibilityChanged.connect(self.profiler.set_seen)
        self.code.op_chosen.connect(self._choose_op)
        canvas.patch_dropped.connect(self.files.open_path)
        self.inspector.refused.connect(self.log.add_message)
        self.inspector.gave_up.connect(session.notify)
        self.inspector.gave_up.connect(lambda: self.log.add_message("Redo restores the typed text"))
        self.inspector.node_followed.connect(self._show_node)
        self.inspector.renaming_ended.connect(canvas.setFocus)
        self.problems.node_activated.connect(self.go_to)
        self.problems.remedy_chosen.connect(self.mend)
        self.inspector.remedy_chosen.connect(self.mend)
        self.updates.node_activated.connect(self.go_to)
        self.recorder.node_activated.connect(self.go_to)
        self.recorder.budget_changed.connect(lambda budget_ns: session.post(SetFrameBudget(budget_ns)))
        self.recorder.budget_changed.connect(canvas.path.set_budget)
        self.updates.noted.connect(self.log.add_message)
        self.problems.counted.connect(self._on_problem_count)
        self.problem_count.clicked.connect(lambda: self.docks.toggle("problems"))
        self.welcome.new_requested.connect(self.files.new)
        self.welcome.browse_requested.connect(self.files.open)
        self.welcome.open_requested.connect(self.files.open_path)
        self.welcome.example_requested.connect(self.files.open_example)
        self.files.noted.connect(self.log.add_message)
        self.files.trust_asked.connect(self.trust_banner.show_notice)
        self.files.blocks_asked.connect(self.blocks_banner.show_notice)
        bridge.report.connect(self.files.show_report)
        self.outside.noticed.connect(self.file_banner.show_notice)
        self.files.recent_changed.connect(self._show_recent)

    # Following session and engine

    def _on_replaced(self) -> None:
        patch = self.session.patch
        self.kernel.forget()
        for part in (self.inspector, self.problems, self.updates, self.profiler, self.viewers):
            part.set_patch(patch)
        self.canvas.set_patch(patch)
        self.inputs.set_patch(patch)
        self._on_engine_changed()
        self._central.setCurrentIndex(0 if patch is None else 1)
        self.docks.show_all(patch is not None)
        self.viewers.empty.setVisible(patch is not None and not self.viewers.docks)
        self._availability.follow_patch()
        self._on_selection([])
        if patch is not None:
            self.canvas.setFocus()
            if not self.state.layout and not self._is_sized:
                self._is_sized = True
                size_docks(self, self.docks, next(iter(self.viewers.docks.values()), self.viewers.empty))
            # The canvas has its size only after the layout, which is done in the next turn of the event loop.
            QTimer.singleShot(0, self.canvas.fit)

    def _on_engine_changed(self) -> None:
        self.banner.show_notice(NO_NOTICE)
        self.badge.clear()
        self.transport.begin()
        self.gc_timer.set_busy(self.session.engine is not None)
        self.updates.begin_again()
        self.bridge.set_engine(self.session.engine)
        self._show_path()  # of the new engine's frames
        self.recorder.set_engine(self.session.engine)
        self.profiler.set_engine(self.session.engine)

    def _show_frame(self, flight: Flight, place: int) -> None:
        """Show a frame and its details in the recorder."""
        self.docks.reveal("recorder")
        self.recorder.show_frame(flight, place)

    def _show_title(self) -> None:
        self.setWindowTitle(f"{self.files.name}[*] – Warploom" if self.session.patch else "Warploom[*]")
        self.setWindowModified(self.session.is_modified)

    def _activate(self, node: str) -> None:
        """Open the op graph of a kernel, or show the viewer of a node."""
        patch = self.session.patch
        if patch is not None and not self.kernel.is_open and inner_kind(patch, node) is not None:
            self.kernel.enter(patch, node)
        else:
            self.viewers.reveal(node)

    def _on_selection(self, nodes: list[str]) -> None:
        patch = self.canvas.patch
        self.inspector.show_nodes(nodes)
        self.help.show_type(patch.block_type(nodes[0]) if patch is not None and nodes else None)
        if not self.kernel.is_open:
            self.profiler.show_selection(nodes)
        self._show_code()
        self._availability.follow_selection()

    def _show_code(self) -> None:
        """Show the code of the open kernel, or of the selected one."""
        selected = self.canvas.selected()
        if self.code.isVisible() and self.session.patch is not None:
            node = self.kernel.node or next(iter(selected), None)
            self.code.show_kernel(*self.kernel.code(self.session.patch, node))
            self.code.show_selection(selected if self.kernel.is_open else ())

    def _choose_node(self, node: str) -> None:
        """Select a node of the patch that was chosen in the profiler, while the canvas shows the patch."""
        if not self.kernel.is_open and self.canvas.patch is not None and node in self.canvas.patch.nodes:
            self.canvas.select([node])

    def _choose_op(self, op: str) -> None:
        """Select the op of a line of code that was clicked."""
        graph = self.kernel.graph
        if graph is not None and op in graph.nodes:
            self.canvas.select([op])
            self.canvas.view.ensureVisible(self.canvas.scene.rect_of([op]), 24, 24)

    def _on_types(self, types: frozenset[str]) -> None:
        patch, selected = self.canvas.patch, self.canvas.selected()
        if patch is not None and any(patch.nodes[node].type in types for node in selected):
            self._on_selection(selected)

    def _on_report(self, report: FrameReport) -> None:
        if not self.kernel.is_open:
            self.canvas.show_report(report)
            self.inspector.show_report(report)
        self.kernel.show_report(report)
        self.viewers.show_report(report)
        self.problems.show_diagnostics(report.diagnostics, report.sightings)
        self.updates.show_report(report)
        self.profiler.show_report(report)
        self.badge.show_report(report)
        self.transport.show_report(report)
        if report.failed:
            self._offer_restart(f"The engine has stopped; the patch is intact. {report.diagnostics[-1].message}")

    def _on_engine_failed(self, text: str) -> None:
        self.log.add_error(text)
        self.problems.show_diagnostics((error(text, source=Source.ENGINE),))
        self._offer_restart(f"The engine can't start; the patch is intact. {text}")

    def _offer_restart(self, text: str) -> None:
        restart = ("Restart engine", self.session.restart_engine)
        self.banner.show_notice(Notice(text, answers=(restart,), state="error"))

    def _on_problem_count(self, errors: int, warnings: int, incomplete: int) -> None:
        count = errors + warnings + incomplete
        self.docks["problems"].setWindowTitle(f"Problems ({count})" if count else "Problems")
        self.problem_count.show_count(errors, warnings, incomplete)

    def _show_recent(self) -> None:
        self.welcome.show_recent(self.state.existing_recent()[:5])

    def _show_context_menu(self, kind: str, position: QPoint) -> None:
        self._availability.follow_selection()
        open_context_menu(self, self.actions_by_id, kind, position)


def application() -> QApplication:
    """Return the application, which is there before any window."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app
