"""`Code`: the dock in which the code of the selected block is read and changed."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QMargins, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from warploom.app.docks.code.checker import Checker
from warploom.app.docks.code.code_bar import CodeBar
from warploom.app.docks.code.code_text import CodeDocument, CodeText
from warploom.app.docks.code.compare_view import CompareView
from warploom.app.docks.code.compiled import Compiled
from warploom.app.docks.code.find_bar import FindBar
from warploom.app.docks.code.making import Making
from warploom.app.docks.code.texts import OpenTexts, State
from warploom.app.docks.code.trial_view import TrialView
from warploom.app.docks.code.trials import Trials, Versions
from warploom.app.docks.dock import Dock, Editor
from warploom.app.edits.interfaces import setting_work
from warploom.app.edits.nodes import set_parameter
from warploom.app.qt.beside import Run, at_once
from warploom.app.view_models.code.checks import Checked, Mistake, check_of
from warploom.app.view_models.code.names import Names, names_at
from warploom.app.view_models.code.places import CodePlace, places_of
from warploom.app.widgets.banner import NO_NOTICE, Banner, Notice
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.diagnostics import Diagnostic, PatchError, Severity
from warploom.engine.figures import plural
from warploom.engine.patch.changes import BlockTypesChanged, Change, NodeAdded, NodeRemoved, ParameterChanged
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import inner_kind

_LOOK_MS = 400  # milliseconds between looks at the shown file
_HINT = "Select a block to see its code.\nCtrl+K opens that of the selected block; Code > New block … makes one"


def is_own_code(patch: Patch, node: str) -> bool:
    """Return whether a person has made the code of a block, which holds no patch to open instead."""
    if node not in patch.nodes or inner_kind(patch, node) is not None:
        return False
    return any(not place.is_shipped for place in places_of(patch, node))


class Code(EmptyState, Dock):
    """Shows the files and texts of the selected block's code. What is typed is kept until it is saved.

    A file of Warploom's library is read only; *Edit a copy* makes one that is the person's own.
    """

    name, title, least_share = "code", "Code", 0.45
    is_made_late = True

    #: A message that does not interrupt the person.
    noted = Signal(str)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, _HINT)
        self.bar = CodeBar()
        self.text, self.compare, self.compiled = CodeText(), CompareView(), Compiled()
        self.search, self.banner = FindBar(self.text), Banner()
        self._split = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        self.trial = TrialView()
        self.trial.hide()
        sides: list[QWidget] = [self.text, self.compare, self.trial, self.compiled]
        for part in sides:
            self._split.addWidget(part)
        column = QVBoxLayout(page, contentsMargins=QMargins(), spacing=0)
        above: list[QWidget] = [self.bar, self.banner, self.search]
        for part in above:
            column.addWidget(part)
        column.addWidget(self._split, 1)
        self.texts, self.checker = OpenTexts(self), Checker(self)
        #: The place that is shown.
        self.place: CodePlace | None = None
        self._patch: Patch | None = None
        self._node: str | None = None
        self._known: list[CodePlace] = []
        self._diagnostics: tuple[Diagnostic, ...] = ()
        self._mistakes: tuple[Mistake, ...] = ()
        self._is_stale = False
        self._tried = ""
        self._beside: Run = at_once
        self._unsubscribe: Callable[[], None] = lambda: None
        self._show_graph: Callable[[], bool] = lambda: False
        self._look = QTimer(self, interval=_LOOK_MS)
        self._look.timeout.connect(self.look)
        self._connect()
        self._show_parts()

    def _connect(self) -> None:
        bar = self.bar
        bar.places.activated.connect(lambda index: self.show_place(bar.places.itemData(index)))
        bar.save.clicked.connect(self.save)
        bar.search.triggered.connect(lambda: self._search(False))
        bar.replace.triggered.connect(lambda: self._search(True))
        bar.next.triggered.connect(self.text.next_mistake)
        bar.discard.triggered.connect(self._discard)
        bar.trial.clicked.connect(self.try_versions)
        self.trial.kept.connect(lambda: self._end_trial(None))
        self.trial.rolled_back.connect(lambda: self._end_trial(self._tried))
        self.trial.closed.connect(self.trial.hide)
        bar.outside.triggered.connect(self._open_outside)
        pair = bar.compiled, bar.compare
        for button, other in (pair, reversed(pair)):
            button.toggled.connect(lambda on, other=other: self._show_side(on, other))
        self.compare.restore_asked.connect(self._restore)
        self.text.save_asked.connect(self.save)
        self.text.left.connect(self.enter_typed)
        self.text.find_asked.connect(self._search)
        self.text.line_changed.connect(self._on_line)
        self.text.names = self._names
        self.text.is_saved = lambda: self.place is None or self.texts.drafts[self.place] is None
        self.texts.typed.connect(self._on_typed)
        self.checker.checked.connect(self._show_checked)
        self.compiled.origin_chosen.connect(lambda line: self.text.go_to_line(int(line)) if line.isdigit() else None)

    def _search(self, replaces: bool) -> None:
        self.search.begin(replaces=replaces)

    def follow(self, editor: Editor) -> None:
        """Follow the selection, the open patch and its problems."""
        session, canvas, kernel = editor.session, editor.canvas, editor.kernel
        self.texts.drafts = editor.files.drafts
        self._beside = editor.beside.run
        self.texts.set_parameter = self._set_parameter
        self.checker.beside = self.compiled.beside = editor.beside.run
        self.compiled.architecture = lambda: session.architecture

        def show_graph() -> bool:
            """Show what the open op graph, or that of the selected block, compiles to."""
            if session.patch is None:
                return False
            selected = canvas.selected()
            found = kernel.code(session.patch, kernel.node or next(iter(selected), None))
            if found[0] is None and not kernel.is_open:
                return False
            self.compiled.show_kernel(*found)
            self.compiled.show_selection(selected if kernel.is_open else ())
            return True

        def enter_typed(before: Callable[[], None] = session.enter_typed) -> None:
            before()
            self.enter_typed()

        def follow_selection(selected: Sequence[str]) -> None:
            self._follow_selection(kernel.node or next(iter(selected), None))

        self._show_graph = show_graph
        session.enter_typed = enter_typed
        session.replaced.connect(self.set_patch)
        session.changed.connect(self._on_changed)
        session.types_changed.connect(lambda _: self._refresh())
        kernel.changed.connect(self._refresh)
        canvas.selection_changed.connect(follow_selection)
        self.compiled.origin_chosen.connect(kernel.select_op)
        self.texts.drafts.changed.connect(self._list_places)
        editor.bridge.report.connect(lambda report: self.show_diagnostics(report.diagnostics))
        self.noted.connect(editor.note)

        def show_made(node: str, path: Path) -> None:
            editor.reveal(Code)
            self.show_node(node)
            self.open_file(path)

        self.making = Making(editor, show_made, self)
        self.trials = Trials(editor, self)
        self.trials.finished.connect(self.trial.show_outcomes)
        self.trials.refused.connect(self.noted)
        self.bar.copy.clicked.connect(self.making.edit_copy)
        self.set_patch(session.patch)
        follow_selection(canvas.selected())
        if editor.bridge.last_report is not None:
            self.show_diagnostics(editor.bridge.last_report.diagnostics)

    def _set_parameter(self, place: CodePlace, text: str) -> None:
        patch = self._patch
        if patch is not None and place.node in patch.nodes and patch.value(place.node, place.parameter) != text:
            try:
                set_parameter(patch, [place.node], place.parameter, text)
            except PatchError as problem:
                self.noted.emit(str(problem))

    def set_seen(self, seen: bool) -> None:
        """Show the code, which was not updated while the dock was hidden."""
        if seen:
            self._look.start()
            self._refresh()
        else:
            self._look.stop()
            self.checker.stop()

    def set_patch(self, patch: Patch | None) -> None:
        """Follow another patch, or none."""
        self._unsubscribe()
        self._patch, self._node, self.place, self._known = patch, None, None, []
        self._unsubscribe = patch.subscribe(self._on_change) if patch is not None else lambda: None
        self.texts.clear(patch)
        self._show_document(None)
        self._list_places()
        for draft in self.texts.drafts.all():  # recovered after a crash
            self.show_place(draft.place)

    def show_node(self, node: str) -> bool:
        """Show the code of a node. Return False if it has none."""
        self._node = node
        self._refresh()
        return self.place in self._known or self.compiled.currentIndex() == 1

    def open_file(self, path: Path, line: int | None = None) -> bool:
        """Show a file, with the cursor at a line. Return False if it can't be read as text."""
        place = next((each for each in self._known if each.file == str(path)), CodePlace(str(path)))
        if not self.show_place(place):
            return False
        if line is not None:
            self.text.go_to_line(line)
        self.text.setFocus()
        return True

    def show_place(self, place: CodePlace) -> bool:
        """Show the text of a place. Return False if it has none."""
        document = self.texts.open(place)
        if document is None:
            return False
        if place != self.place:
            self.enter_typed()
            self.trial.hide()
            self.place = place
            self._mistakes = ()
            self._show_document(document)
            self._check(now=True)
        self._list_places()
        self.look()
        return True

    def save(self) -> None:
        """Save the shown text: a file is written, and a parameter is set. The running patch follows."""
        place = self.place
        if place is None or self.texts.drafts[place] is None:
            return
        if self.texts.state(place) is State.CONFLICT:
            self.look()
            self.noted.emit(f"{place.name(self._patch)} was changed by another program: choose a version first")
            return
        draft, patch = self.texts.drafts[place], self._patch
        if draft is not None and patch is not None and place.node in patch.nodes:
            work = setting_work(patch, [place.node], place.parameter, draft.text)
            if work is not None:  # afterwards, setting the parameter waits for nothing
                self._beside(f"Compiling {place.name(patch)} …", work, lambda _: self.enter_typed(), self.look)
                return
        try:
            self.texts.save(place)
        except OSError as problem:
            self.noted.emit(f"{place.name(self._patch)} must be writable, got: {problem}")
        self.look()

    def try_versions(self) -> None:
        """Run the code before and the code now: what is typed against the saved text, or the last two saves."""
        place = self.place
        if place is None:
            return
        now = self.texts.text(place)
        before = next((version.text for version in self.texts.versions(place) if version.text != now), None)
        if before is None:
            self.noted.emit("Change the code first: there is no other version to compare with")
        elif self.trials.start(self._node, Versions(place, before, now)):
            self._tried = before
            self.trial.show_wait()
            self.trial.show()

    def _end_trial(self, text: str | None) -> None:
        """Save the code now, or the code before if it is given."""
        self.trial.hide()
        if self.place is not None:
            if text is not None:
                self.texts.restore(self.place, text)
            self.save()

    def enter_typed(self) -> None:
        """Set the parameters whose code was typed, which undo then takes back; files wait until they are saved."""
        for draft in self.texts.drafts.all():
            if not draft.place.file:
                self.texts.save(draft.place)

    def show_diagnostics(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Show the problems that the engine found in the saved text, too."""
        if diagnostics is not self._diagnostics:
            self._diagnostics = diagnostics
            self._show_mistakes()

    def look(self) -> None:
        """Compare the shown text with its file, and show its state."""
        place = self.place
        if place is None:
            return
        state, name = self.texts.state(place), place.name(self._patch)
        draft = self.texts.drafts[place]
        is_fixed = place.is_read_only or not self.texts.keeps_all(place)
        self.text.setReadOnly(is_fixed)
        typed = "not saved" if place.file else "not applied"
        words = {State.TYPED: typed, State.CONFLICT: typed, State.GONE: "its file is gone"}
        text = words.get(state, "")
        if is_fixed and not text:
            text = "read only: comes with Warploom" if place.is_shipped else "read only"
        errors = sum(mistake.severity is Severity.ERROR for mistake in self.text.mistakes())
        shown = " · ".join(filter(None, (text, plural(errors, "error") if errors else "")))
        self.bar.show_state(shown, is_error=bool(errors), is_typed=draft is not None)
        self.bar.save.setText("Save" if place.file else "Apply")
        self.bar.save.setVisible(not is_fixed)
        self.bar.save.setEnabled(draft is not None)
        self.bar.copy.setVisible(place.is_shipped)
        self.bar.discard.setEnabled(draft is not None)
        if state is State.CONFLICT and self.banner.text == "":
            self.banner.show_notice(self._conflict(place, name))
        elif state is not State.CONFLICT and self.banner.text:
            self.banner.show_notice(NO_NOTICE)
        self._show_versions()

    # Following

    def _follow_selection(self, node: str | None) -> None:
        if node != self._node or self.compiled.shows_graph:
            self._node = node
            self._refresh()

    def _on_change(self, change: Change) -> None:
        match change:
            case ParameterChanged(node, _) if node == self._node or (self.place and node == self.place.node):
                self._is_stale = True
            case NodeAdded() | NodeRemoved() | BlockTypesChanged():
                self._is_stale = True

    def _on_changed(self) -> None:
        if self._is_stale or self.compiled.shows_graph:
            self._is_stale = False
            self._refresh()

    def _refresh(self) -> None:
        """Show the code of the node again, with its present files; another block's stays if the node has none."""
        if not self.isVisible() or self._patch is None:
            return
        self._known = places_of(self._patch, self._node) if self._node is not None else []
        is_graph = self._show_graph()
        if self._known and self.place not in self._known:
            self.show_place(self._known[0])
        elif is_graph and not self._known and self.place is not None:
            self._leave_place()
        if not is_graph and self.compiled.shows_graph:
            self.compiled.show_kernel(None, str)
        self._list_places()
        self._show_parts(is_graph=is_graph)
        self.look()

    def _leave_place(self) -> None:
        self.enter_typed()
        self.place = None
        self._show_document(None)

    def _show_document(self, document: CodeDocument | None) -> None:
        self.checker.stop()
        self.text.show_document(document or CodeDocument("", ""))
        self.banner.show_notice(NO_NOTICE)
        if self.search.isVisible():
            self.search.end()
        self._show_parts()

    def _list_places(self) -> None:
        """List the places of the node, then those that are not saved."""
        unsaved = [draft.place for draft in self.texts.drafts.all()]
        listed = [*self._known, *(place for place in unsaved if place not in self._known)]
        if self.place is not None and self.place not in listed:
            listed.insert(0, self.place)
        self.bar.list_places(listed, unsaved, self.place, self._patch)
        self.setWindowTitle(f"{self.title} ({len(unsaved)} not saved)" if unsaved else self.title)

    # The text

    def _on_line(self, line: int) -> None:
        if self.place is not None and not self.compiled.shows_graph:
            self.compiled.show_selection({str(line)})

    def _names(self, text: str, place: int) -> Names:
        file = self.place.path if self.place is not None and self.place.file else None
        return names_at(text, place, self.text.language, file)

    def _on_typed(self, place: CodePlace) -> None:
        if place == self.place:
            self._check()
            self.look()

    def _check(self, *, now: bool = False) -> None:
        place, patch = self.place, self._patch
        if place is not None and patch is not None and self.isVisible():
            self.checker.ask(self.texts.text(place), lambda: check_of(patch, place), now=now)

    def _show_checked(self, text: str, found: Checked) -> None:
        place = self.place
        if place is None or self.texts.text(place) != text:
            return
        self._mistakes = found.mistakes
        self._show_mistakes()
        if place.language(self._patch) in ("cuda", "ptx") and (found.ptx or not found.mistakes):
            self.compiled.show_ptx(found.ptx, place.file or "kernel text")

    def _show_mistakes(self) -> None:
        place = self.place
        if place is None:
            return
        found = list(self._mistakes)
        if self.texts.drafts[place] is None and place.file:  # the lines of problems are those of the saved text
            lines = {mistake.line for mistake in found}
            found += [
                Mistake(item.line, item.message.splitlines()[0], item.severity)
                for item in self._diagnostics
                if item.file == place.file and item.line is not None and item.line not in lines
            ]
        self.text.show_mistakes(sorted(set(found)))
        self.look()

    def _restore(self, text: str) -> None:
        if self.place is not None and not self.text.isReadOnly():
            self.texts.restore(self.place, text)

    def _discard(self) -> None:
        if self.place is not None:
            self.texts.take_theirs(self.place)
            self.look()

    def _conflict(self, place: CodePlace, name: str) -> Notice:
        def answer(choose: Callable[[CodePlace], None]) -> None:
            choose(place)
            self.look()

        answers: Sequence[tuple[str, Callable[[], object]]] = (
            ("Compare", lambda: self.bar.compare.setChecked(True)),
            ("Take theirs", lambda: answer(self.texts.take_theirs)),
            ("Keep mine", lambda: answer(self.texts.keep_mine)),
        )
        return Notice(f"{name} was changed by another program while you typed.", (), tuple(answers))

    def _open_outside(self) -> None:
        if self.place is not None and self.place.file:
            QDesktopServices.openUrl(QUrl.fromLocalFile(self.place.file))

    def _show_versions(self) -> None:
        if self.place is not None and self.compare.isVisible():
            versions = self.texts.versions(self.place)
            self.compare.show_versions(versions, self.texts.text(self.place), self.text.language)

    def _show_side(self, shown: bool, other: QToolButton) -> None:
        """Show one of the sides instead of the other."""
        if shown:
            other.setChecked(False)
        self._show_parts()

    def _show_parts(self, *, is_graph: bool = False) -> None:
        """Show the text, and beside it what was asked for; the code of an op graph has no text."""
        has_text = self.place is not None
        self.bar.setVisible(has_text)
        compares = has_text and self.bar.compare.isChecked()
        self.compare.setVisible(compares)
        self.text.setVisible(has_text and not compares)
        self.compiled.setVisible(not has_text or self.bar.compiled.isChecked())
        self.set_filled(has_text or is_graph or self.compiled.shows_graph)
        self._show_versions()
