"""`MainWindow`: puts canvas, docks, commands and session together."""

import sys
from pathlib import Path

from PySide6.QtCore import QEvent, QMargins, QMimeData, QPoint, QPointF, QProcess, QTimer, QUrl
from PySide6.QtGui import QCloseEvent, QDesktopServices, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.inner_room import InnerRoom
from warploom.app.canvas.reports.overlays import Overlays
from warploom.app.commands.actions import Actions
from warploom.app.commands.commands import CONTEXT_MENUS, TOOLBAR, make_menus
from warploom.app.commands.guide import Guide
from warploom.app.commands.help_dialogs import show_about
from warploom.app.commands.keys import Keys
from warploom.app.commands.palette import palette_choices
from warploom.app.commands.shortcut_dialog import ShortcutDialog
from warploom.app.docks.code.code import Code, is_own_code
from warploom.app.docks.console import Console
from warploom.app.docks.dock import D
from warploom.app.docks.log import Log
from warploom.app.docks.pins.pins import Pins
from warploom.app.docks.problems import Problems
from warploom.app.documents import dialogs
from warploom.app.documents.bridge import Bridge
from warploom.app.documents.code_files.own_code import OwnCode
from warploom.app.documents.editor_state import copied, load_state, save_state
from warploom.app.documents.file_commands import FileCommands
from warploom.app.documents.gallery import find_examples
from warploom.app.documents.outside_changes import OutsideChanges
from warploom.app.documents.playhead import Playhead
from warploom.app.documents.recovery import RecoverySlot, find_left_behind
from warploom.app.documents.restarts import MakeSearch, Restarts
from warploom.app.documents.session import MakeEngine, Session
from warploom.app.documents.trust.overwriting import OverwriteQuestion
from warploom.app.documents.trust.questions import TrustQuestions
from warploom.app.documents.trust.trust import TrustedPaths
from warploom.app.edits.remedies import Remedy
from warploom.app.inspector.inspector import Inspector
from warploom.app.qt.beside import Beside
from warploom.app.qt.gc_timer import GcTimer
from warploom.app.theme.apply import apply_theme, enlarged, renew_code_fonts
from warploom.app.theme.colours import current
from warploom.app.viewers.ports.port_docks import PortDocks
from warploom.app.viewers.viewer_docks import ViewerDocks
from warploom.app.welcome.tour import Tour
from warploom.app.welcome.welcome import Welcome
from warploom.app.widgets.banner import Banner
from warploom.app.widgets.chooser import Chooser
from warploom.app.widgets.list_table import grow_tables
from warploom.app.window.docks import Docks
from warploom.app.window.engine_badge import EngineBadge
from warploom.app.window.focus_keys import FocusKeys
from warploom.app.window.input_events import InputEvents
from warploom.app.window.layouts import Layouts
from warploom.app.window.list_buttons import ListButtons
from warploom.app.window.past_banner import PastBanner
from warploom.app.window.problem_count import ProblemCount
from warploom.app.window.transport import TransportBar
from warploom.app.window.window_style import window_stylesheet
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.history import Edit

_NARROW = 760  # pixels; in a narrower window, menus and the badge have little room
_SHOWN_MS = 8000  # milliseconds that the status bar shows a message
#: How soon a thread that reads reports or writes a recovery copy gives the interpreter back. With Python's 5 ms, the
#: window's thread waits 1.7 ms in the longest of 1000 turns of its event loop, and with this 0.6 ms.
_SWITCH_INTERVAL_S = 0.0005


class MainWindow(QMainWindow):
    """The editor's window. `make_engine` starts an engine for a patch; `folder` is the folder of the saved state.

    `make_search` makes the search for the block that made an engine fail.
    """

    def __init__(self, make_engine: MakeEngine, folder: Path, make_search: MakeSearch | None = None) -> None:
        super().__init__()
        self.folder = folder
        self.state = load_state(folder)
        self._saved = copied(self.state)
        self._first_scale = self.state.scale  # Qt has applied it
        self.set_theme(self.state.theme)  # before the parts are made, since Qt would style each of them again
        self.gc_timer = GcTimer(self)
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL_S))
        self.beside = Beside(self)
        self._work = ""  # what the status bar says about slow work
        self.beside.reported.connect(self._show_work)
        self.session = Session(make_engine, self)
        self._recovery = RecoverySlot(folder / "recovery")
        trusted = TrustedPaths(folder)
        self.trust = TrustQuestions(self.session, trusted, self)
        self.files = FileCommands(self.session, self.state, self._recovery, self.trust, self)
        self.own_code = OwnCode(self.session, trusted, self)
        self.outside = OutsideChanges(self.session, self.files.save_as, self)
        self.overwriting = OverwriteQuestion(self.session, self)
        self.bridge = Bridge(self)
        self.session.engine_changed.connect(self.bridge.set_engine)
        self.playhead = Playhead(self.session, self.bridge, self)
        self.bridge.frozen.connect(self.session.follow_pause)
        self.bridge.report.connect(self.trust.show_report)
        self.bridge.failed.connect(self.overwriting.show_failure)
        self.restarts = Restarts(self.session, self.bridge, make_search, self)
        self.canvas = Canvas()
        self.canvas.search.noted.connect(lambda text: self.note(text))
        self.canvas.search.recent = self.state.recent_blocks
        self.canvas.search.popup.unfolded = self.state.unfolded_groups
        self.canvas.menu_requested.connect(self._show_context_menu)
        incoming = self.canvas.incoming
        incoming.folder = lambda: self.own_code.beside_patch or folder / "pasted"
        incoming.patch_dropped.connect(self.files.open_path)
        incoming.noted.connect(self.note)
        self.overlays = Overlays(self.canvas, self.session, self.bridge, self.state, self)
        self.kernel = InnerRoom(self.canvas, self.session, self.bridge, self.beside.run, self)
        self.inputs = InputEvents(self.session.post, self.canvas.view.viewport(), self)
        self.session.replaced.connect(self.inputs.set_patch)
        self.session.replaced.connect(lambda _: self.bridge.look_back(None))
        self.focus_keys = FocusKeys(self.canvas)
        application().focusChanged.connect(self.focus_keys.watch)
        # In this order, the viewers are above the other docks, and Tab goes from the canvas to the docks.
        self.viewers = ViewerDocks(self)
        self.looking = PortDocks(self, self.viewers)
        self._make_central()
        self.docks = Docks(self)
        self.inspector, self.log = self.docks.widget(Inspector), self.docks.widget(Log)
        self._make_bars()
        self.docks.follow(self)
        self.canvas.node_activated.connect(self._show_own_code)
        self.files.drafts.changed.connect(self._show_drafts)
        self.own_code.noted.connect(self.note)
        self.viewers.follow(self)
        self.looking.follow(self)
        for viewers in (self.viewers, self.looking):
            viewers.failed.connect(self.log.add_error)
            viewers.noted.connect(self.note)
        self.session.changed.connect(self._show_title)
        self.files.drafts.changed.connect(self._show_title)
        self.session.replaced.connect(self._show_patch)
        self.session.engine_changed.connect(lambda engine: self.gc_timer.set_busy(engine is not None))
        self.restarts.noted.connect(self.log.add_error)
        self.layouts = Layouts(self, self.docks, self.viewers, self.state)
        self.session.replace(None)
        self._show_title()

    def _make_central(self) -> None:
        """Make the first page, and the canvas under its banners."""
        self.welcome = Welcome(find_examples())
        self.welcome.new_requested.connect(self.files.new)
        self.welcome.browse_requested.connect(self.files.open)
        self.welcome.open_requested.connect(self.files.open_path)
        self.welcome.example_requested.connect(self.files.open_example)
        self.welcome.dropped.connect(self._begin_with)
        self.files.recent_changed.connect(self._show_recent)
        self.files.recent_changed.connect(self._save_state)  # at once: the editor may be killed
        self._show_recent()
        self.banner, self.trust_banner, self.blocks_banner, self.save_banner, self.file_banner, tour_banner = (
            Banner() for _ in range(6)
        )
        self.tour = Tour(self, tour_banner, self)
        self.welcome.tour_requested.connect(self.tour.begin)
        self.restarts.noticed.connect(self.banner.show_notice)
        self.trust.patch_asked.connect(self.trust_banner.show_notice)
        self.trust.blocks_asked.connect(self.blocks_banner.show_notice)
        self.outside.noticed.connect(self.file_banner.show_notice)
        self.overwriting.asked.connect(self.save_banner.show_notice)
        banners = self.banner, self.trust_banner, self.blocks_banner, self.save_banner, self.file_banner, tour_banner
        page = QWidget()
        column = QVBoxLayout(page, contentsMargins=QMargins(), spacing=0)
        for part in (*banners, PastBanner(self.bridge), self.kernel.breadcrumb, self.canvas):
            column.addWidget(part)
        for banner in banners:
            banner.rest = self.canvas
        self._central = QStackedWidget()
        self._central.addWidget(self.welcome)
        self._central.addWidget(page)
        self.setCentralWidget(self._central)

    def _make_bars(self) -> None:
        """Make menus, toolbar and status bar."""
        self.actions_by_id = Actions(self, make_menus(self), self.canvas, lambda: self.session.enter_typed())
        self.keys = Keys(self.actions_by_id, self.state)
        self.chooser = Chooser(self)
        self.menu("docks").addActions([self.looking.follower.toggleViewAction(), *self.docks.toggle_actions()])
        self.transport = TransportBar(self, self.session, self.bridge, self.actions_by_id)
        self.badge = EngineBadge()
        self.badge.follow(self.session, self.bridge)
        # Beside the menus there is room in any window; in the toolbar, a narrow window would hide it.
        self.menuBar().setCornerWidget(self.badge)
        toolbar, spacer = self.actions_by_id.make_toolbar(TOOLBAR), QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        for part in (self.transport, spacer):
            toolbar.addWidget(part)
        self.addToolBar(toolbar)
        self.menu("docks").addAction(toolbar.toggleViewAction())
        cancel = QPushButton("Cancel", toolTip="Stop waiting for this", visible=False)
        cancel.clicked.connect(self.beside.cancel)
        self.beside.cancellable.connect(cancel.setVisible)
        self.statusBar().addPermanentWidget(cancel)
        self.problem_count = ProblemCount()
        self.problem_count.clicked.connect(lambda: self.docks.toggle(Problems.name))
        self.docks.widget(Problems).counted.connect(self.problem_count.show_count)
        self.statusBar().addPermanentWidget(self.problem_count)  # where no message covers it
        self.list_buttons = ListButtons(self.docks)
        self.statusBar().addPermanentWidget(self.list_buttons)
        self.statusBar().setSizeGripEnabled(False)
        self.log.noted.connect(lambda text: self.statusBar().showMessage(text, _SHOWN_MS))
        self._refusal, self._refused_after = "", self._last_edit  # a refusal, and the edit before it
        for refused in (self.canvas.refused, self.kernel.refused, self.inspector.refused):
            refused.connect(self._keep_refusal)
        self.session.changed.connect(self._forget_old_refusal)

    # Requests of docks and commands

    def reveal(self, dock: type[D]) -> D:
        """Bring a dock to the front, even if it was closed, and return it."""
        self.docks.reveal(dock.name)
        return self.docks.widget(dock)

    def open_file(self, path: Path, line: int | None = None) -> None:
        """Show a file of code, with the cursor at a line; a file that is no text opens in the system's editor."""
        if not self.reveal(Code).open_file(path, line):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    @property
    def code(self) -> Code:
        """The dock that shows code."""
        return self.docks.widget(Code)

    def menu(self, name: str) -> QMenu:
        """Return a menu of the menu bar by its id."""
        return self.actions_by_id.menus[name]

    def note(self, text: str) -> None:
        """Log a message to the person, and show it in the status bar for a moment."""
        self.log.add_message(text)

    def mend(self, remedy: Remedy) -> None:
        """Perform the action of a problem's button."""
        self._forget_refusal()
        self.session.enter_typed()
        if remedy.edit is not None:
            try:
                remedy.edit()
            except PatchError as problem:
                self.note(str(problem))
        elif remedy.search is not None:
            self.canvas.search_for(remedy.search)
        elif remedy.choose is not None:
            self.kernel.go_to(remedy.choose.node)
            self.reveal(Inspector).editor(remedy.choose.port).begin()
        else:
            self.actions_by_id[remedy.command].trigger()

    def set_theme(self, name: str) -> None:
        """Use the theme "dark" or "light"."""
        self.state.theme = name
        zoom = self.state.scale / self._first_scale
        apply_theme(application(), name, zoom)
        self.setStyleSheet(enlarged(window_stylesheet(current())))

    def set_scale(self, scale: float) -> None:
        """Show texts, controls and the canvas in another size.

        Qt itself scales everything, but only at its start (`app/editor.py`); until then, styles and widgets do.
        """
        if scale == self.state.scale:
            return
        view, arrangement, growth = self.canvas.view, self.layouts.current(), scale / self.state.scale
        self.state.scale = scale
        self.set_theme(self.state.theme)
        grow_tables(self, growth)
        self.docks.growth *= growth
        renew_code_fonts(self)
        self.inspector.align()
        self._set_narrow()
        application().sendEvent(self.menuBar(), QEvent(QEvent.Type.StyleChange))  # it makes room for the badge
        view.unit = scale / self._first_scale
        view.set_zoom(view.zoom * growth)
        self.layouts.resize(arrangement)
        self._save_state()
        self.note(f"The editor is shown at {scale:.0%}")

    def go_to_part(self, step: int) -> None:
        """Move the focus to the next part of the window, or with -1 to the one before."""
        self.focus_keys.go_to_part(step)

    def toggle_lists(self) -> None:
        """Open or close the lists below the canvas."""
        self.docks.toggle_lists()

    def layout_names(self) -> list[str]:
        """Return the names of the person's arrangements of the docks."""
        return sorted(self.state.arrangements)

    def use_layout(self, name: str) -> None:
        """Arrange the docks as in a named arrangement, or as at first."""
        self.layouts.use(self.state.arrangements.get(name))
        if name not in self.state.arrangements:
            self.looking.show_behind()

    def save_layout(self) -> None:
        """Ask for a name, and keep the present arrangement under it."""
        dialogs.ask_name(self, "Save layout", "", self._keep_layout)

    def _keep_layout(self, name: str) -> None:
        if name.strip():
            self.state.arrangements[name.strip()] = self.layouts.current()
            self._save_state()

    def delete_layout(self, name: str) -> None:
        """Forget a named arrangement."""
        self.state.arrangements.pop(name, None)
        self._save_state()

    def open_window(self) -> None:
        """Start another editor."""
        is_started, _ = QProcess.startDetached(sys.executable, ["-P", "-m", "warploom", "edit"])
        if not is_started:
            self.note(f"program must be startable, got {sys.executable}")

    def show_shortcuts(self) -> None:
        """List commands and gestures, with keys that can be changed."""
        dialog = ShortcutDialog(self.keys, self)
        dialog.finished.connect(self._save_state)
        dialog.open()

    def show_guide(self) -> None:
        """List all features, in a window that stays open while they are tried."""
        Guide(self.actions_by_id, self).show()

    def show_palette(self) -> None:
        """Search the entries of all menus."""
        self.chooser.open("Search commands", palette_choices(self.actions_by_id), "No command matches")

    def show_about(self) -> None:
        """Show the About dialog."""
        engine = self.session.engine
        info = engine.info if engine else None
        show_about(self, f"{info.name}, {info.title}" if info else "no device; open a patch first")

    def offer_recovery(self) -> None:
        """Offer unsaved work from a crash."""
        is_open = False
        for found in find_left_behind(self.folder / "recovery"):
            if is_open:
                found.leave()  # the copy is offered again at the next start
            else:
                is_open = self.files.recover(found)

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave room for the menus beside the badge."""
        self._set_narrow()
        super().resizeEvent(event)

    def _set_narrow(self) -> None:
        for part in (self.badge, self.list_buttons):
            part.set_narrow(self.width() < _NARROW)

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
        self.layouts.remember()
        self.restarts.close()
        self.session.close()
        self.log.end()
        self.docks.widget(Console).end()
        if (pins := self.docks.made(Pins)) is not None:
            pins.end()
        self.looking.end()
        self.gc_timer.close()
        self.beside.close()
        self._recovery.close()
        self._save_state()
        event.accept()

    def _save_state(self) -> None:
        try:
            self._saved = save_state(self.state, self.folder, self._saved)
        except OSError as problem:
            self.log.add_error(f"window state must be writable to {self.folder}, got: {problem}")

    # Following session and engine

    def _show_patch(self, patch: Patch | None) -> None:
        """Show the page of a patch, or the first page; all parts already follow the patch."""
        self._central.setCurrentIndex(0 if patch is None else 1)
        self.docks.show_all(patch is not None)
        self.list_buttons.setVisible(patch is not None)
        self.problem_count.setVisible(patch is not None)
        self.viewers.empty.setVisible(patch is not None and not self.viewers.docks)
        if patch is not None:
            self.canvas.setFocus()
            self.layouts.show()
            # The canvas gets its size from the layout, in the next turn of the event loop.
            QTimer.singleShot(0, self.canvas.fit)

    def _begin_with(self, data: QMimeData) -> None:
        """Begin a patch with what was dropped on the first page, unless no block reads it."""
        what, is_read = self.canvas.incoming.explain(data, QPointF(0, 0))
        if not is_read:
            self.note(what)
            return
        self.files.new()
        self.canvas.incoming.take(data, QPointF(0, 0))

    def _show_own_code(self, node: str) -> None:
        if self.session.patch is not None and is_own_code(self.session.patch, node):
            self.reveal(Code).show_node(node)

    def _show_drafts(self) -> None:
        """Have the code dock count typed code that is not saved, such as that of a recovered patch."""
        if self.files.drafts.all():
            self.docks.widget(Code)

    def _show_title(self) -> None:
        self.setWindowTitle(f"{self.session.name}[*] – Warploom" if self.session.patch else "Warploom[*]")
        self.setWindowModified(self.files.has_unsaved)

    def _show_work(self, text: str) -> None:
        """Show slow work; when it is done, leave other messages, such as that of its result."""
        if text or self.statusBar().currentMessage() == self._work:
            self.statusBar().showMessage(text)
        self._work = text

    @property
    def _last_edit(self) -> Edit | None:
        return self.session.patch.history.last if self.session.patch is not None else None

    def _keep_refusal(self, text: str) -> None:
        self._refusal, self._refused_after = text, self._last_edit

    def _forget_refusal(self) -> None:
        """Clear a refusal from the status bar."""
        if self._refusal and self.statusBar().currentMessage() == self._refusal:
            self.statusBar().clearMessage()
        self._refusal = ""

    def _forget_old_refusal(self) -> None:
        if self._last_edit is not self._refused_after:
            self._forget_refusal()

    def _show_recent(self) -> None:
        self.welcome.show_recent(self.state.existing_recent()[:5])

    def _show_context_menu(self, kind: str, position: QPoint) -> None:
        self.actions_by_id.open_menu(CONTEXT_MENUS[kind], position)


def application() -> QApplication:
    """Return the application, which exists before any window."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app
