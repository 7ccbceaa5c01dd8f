"""The pins of the patch: outputs with their expected contents, and the results of the last check."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from PySide6.QtCore import QMargins, QModelIndex, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QLabel, QPushButton, QSplitter, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.docks.pins.pin_form import PinForm
from warploom.app.docks.pins.pin_runs import PinRuns
from warploom.app.theme import colours
from warploom.app.view_models.code.trial import difference_of
from warploom.app.view_models.looking.fitting import ports_of
from warploom.app.widgets.array_view import ArrayView
from warploom.app.widgets.empty_state import EmptyState
from warploom.app.widgets.list_table import ListModel, make_table
from warploom.engine.diagnostics import PatchError, WarploomError
from warploom.engine.figures import plural
from warploom.engine.patch.changes import AnnotationChanged, Change, NodeMoved, NodeRenamed, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.runtime.check.pins import PinChecks, PinResult, expected, pin_output, read_pinned
from warploom.engine.types import Array

_HINT = (
    "No pins yet.\nSelect a block and press Pin: what its output holds after a frame becomes a test of the patch, "
    "also for warploom run --check"
)


@dataclass(frozen=True)
class PinRow:
    """A pin with the result of its last check, and what the output held if it differed."""

    pin: Pin
    title: str
    result: PinResult | None = None
    found: Array | None = None
    #: The patch has changed since.
    is_old: bool = False


class PinRows(ListModel[PinRow]):
    """The pins of the patch."""

    HEADERS = ("Output", "Test", "Result")
    RESULT = 2

    def texts(self, row: PinRow) -> Sequence[str]:
        result = "not checked" if row.result is None else row.result.text or "passed"
        rule = row.pin.rule.removeprefix("as pinned ")
        return row.title, rule, f"{result} (before the last edits)" if row.is_old else result

    def tooltip(self, row: PinRow, column: int) -> str:
        return self.texts(row)[column].replace("; ", "\n")

    def colour(self, row: PinRow, column: int) -> str:
        theme = colours.current()
        if column < self.RESULT:
            return theme.text if column == 0 else theme.text_dim
        if row.result is None or row.is_old:
            return theme.text_dim
        return theme.running if row.result.passed else theme.error


class Pins(QWidget, Dock):
    """A row for each pin; the chosen one shows what it expects, and what was found in its place."""

    name, title = "pins", "Pins"
    is_made_late = True
    least_share = 0.3

    def __init__(self) -> None:
        super().__init__()
        self.runs = PinRuns(self)
        self._editor: Editor | None = None
        self._patch: Patch | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        # The pins of the last check by their keys, with their results; what those outputs held that differed.
        self._results: dict[str, tuple[Pin, PinResult]] = {}
        self._differing: dict[str, Array] = {}
        self._edits, self._is_old = 0, False
        self.pin = QPushButton("Pin …", toolTip="Keep what an output of the selection holds, as a test of the patch")
        self.check = QPushButton("Check pins", toolTip="Run the patch from frame 0 in another engine, and compare")
        self.stop = QPushButton("Cancel", toolTip="End the run", visible=False)
        self.change = QPushButton("Change …", toolTip="Change tolerance or time, or pin the output again")
        self.remove = QPushButton("Remove", toolTip="Remove the chosen pin from the patch")
        self.summary = ElidedLabel("faint")
        self.rows = PinRows(self)
        self.table = make_table(self.rows, "Pins", {0: 150, 1: 250}, PinRows.RESULT)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.pictures = [ArrayView(title) for title in ("Expected", "Found", "Difference")]
        self.page = EmptyState(self._make_page(), _HINT)
        column = QVBoxLayout(self, contentsMargins=QMargins(0, 4, 0, 0), spacing=4)
        column.addLayout(self._make_bar())
        column.addWidget(self.page, 1)
        self.pin.clicked.connect(lambda: self.ask())
        self.check.clicked.connect(lambda: self.check_all())
        self.stop.clicked.connect(self.runs.cancel)
        self.change.clicked.connect(self._change_chosen)
        self.remove.clicked.connect(self._remove_chosen)
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._show_details())
        self.table.activated.connect(self._activate)
        self.runs.progressed.connect(lambda done, frames: self._say(f"Frame {done + 1:,} of {frames:,} …"))
        self.runs.running_changed.connect(self._show_running)
        self._refresh()

    def follow(self, editor: Editor) -> None:
        """Follow the patch and its pins."""
        self._editor = editor
        editor.session.replaced.connect(self.set_patch)
        self.set_patch(editor.session.patch)

    def set_patch(self, patch: Patch | None) -> None:
        """Show the pins of another patch, and end a run for the one before."""
        self.runs.cancel()
        self._unsubscribe()
        self._unsubscribe = lambda: None
        self._patch, self._results, self._differing = patch, {}, {}
        self.summary.setText("")
        if patch is not None:
            self._unsubscribe = patch.subscribe(self._on_change, self._refresh)
        self._refresh()

    def end(self) -> None:
        """End a run, and wait for its engine."""
        self.runs.close()

    @property
    def chosen(self) -> PinRow | None:
        """The row that the person has chosen."""
        index = self.table.currentIndex()
        return self.rows.rows[index.row()] if index.isValid() else None

    def ask(self, ports: Sequence[PortRef] | None = None) -> None:
        """Ask how to pin an output of the selection; the one whose menu was opened comes first."""
        editor, patch = self._editor, self._patch
        if editor is None or patch is None:
            return
        canvas = editor.canvas
        if ports is None and canvas.patch is patch:
            ports = ports_of(patch, canvas.selected(), canvas.scene.selected_connections())
            if canvas.menu_port in ports:
                ports = sorted(ports, key=lambda port: port != canvas.menu_port)
        if not ports:
            self._say("Select a block of the patch that has an output, and then pin what it holds", is_problem=True)
        elif not self._is_busy():
            form = PinForm(patch, ports, self.window())
            form.chosen.connect(self._pin)
            form.open()

    def check_all(self) -> None:
        """Check all pins of the patch."""
        editor, patch = self._editor, self._patch
        if editor is None or patch is None or self._is_busy():
            return
        editor.session.enter_typed()
        pins = patch.annotations_of(Pin)
        if not pins:
            self._say("No pins to check", is_problem=True)
            return
        checks, edits = list[PinChecks](), self._edits

        def follow(found: Any) -> None:
            if isinstance(found, WarploomError):
                self._say(f"Not checked: {found}", is_problem=True)
                return
            self._results = {pin.key: (pin, result) for pin, result in zip(pins, found, strict=True)}
            self._differing, self._is_old = checks[0].differing, edits != self._edits
            self._refresh()
            failed = [result for result in found if not result.passed]
            self._say(
                f"{len(failed):,} of {plural(len(found), 'pin')} failed"
                if failed
                else f"{plural(len(found), 'pin')} passed"
            )
            for result in failed:
                editor.note(str(result))
            row = next((n for n, each in enumerate(self.rows.rows) if each.result and not each.result.passed), None)
            if row is not None:
                self.table.selectRow(row)

        def work(client: Any, goes_on: Callable[[int, int], bool]) -> object:
            checks.append(PinChecks(client.patch, pins))
            return checks[0].run(client, goes_on)

        self.runs.run(editor.session, work, follow)

    # Making

    def _pin(self, port: PortRef, options: dict[str, Any], keeps: bool) -> None:
        editor, patch = self._editor, self._patch
        if editor is None or patch is None:
            return
        known = patch.annotations.get(f"pin {port}")
        try:
            if keeps and isinstance(known, Pin) and known.frame == options["frame"]:
                patch.annotate(msgspec.structs.replace(known, **options), f"Change pin of {port}")
                return
            patch.check_pin(port)
        except PatchError as problem:
            self._say(f"Not pinned: {problem}", is_problem=True)
            return
        editor.session.enter_typed()

        def follow(found: Any) -> None:
            try:
                if isinstance(found, WarploomError):
                    raise found
                pin = pin_output(patch, port, found, **options)
            except WarploomError as problem:
                self._say(f"Not pinned: {problem}", is_problem=True)
                return
            self._say(f"Pinned {port} after frame {pin.frame:,}")
            self.table.selectRow(next(n for n, row in enumerate(self.rows.rows) if row.pin.key == pin.key))

        frame: int = options["frame"]
        self.runs.run(editor.session, lambda client, goes_on: read_pinned(client, port, frame, goes_on), follow)

    def _change_chosen(self) -> None:
        if (row := self.chosen) is not None:
            self.ask([PortRef(row.pin.node, row.pin.port)])

    def _remove_chosen(self) -> None:
        if (row := self.chosen) is not None and self._patch is not None:
            self._patch.remove_annotation(row.pin.key, f"Remove pin of {row.pin.node}.{row.pin.port}")

    def _is_busy(self) -> bool:
        if self.runs.is_running:
            self._say("Another run for pins is under way", is_problem=True)
        return self.runs.is_running

    # Showing

    def _on_change(self, change: Change) -> None:
        if not isinstance(change, AnnotationChanged | NodeMoved | NodeRenamed):
            self._edits += 1
            self._is_old = True

    def _refresh(self) -> None:
        """Show the pins of the patch; the chosen one stays chosen."""
        patch, chosen, rows = self._patch, self.chosen, list[PinRow]()
        for pin in patch.annotations_of(Pin) if patch is not None else ():
            title = (
                f"{patch.title(pin.node) if patch is not None and pin.node in patch.nodes else pin.node} · {pin.port}"
            )
            checked, result = self._results.get(pin.key, (None, None))
            known = result if checked == pin else None
            found = self._differing.get(pin.key) if known is not None else None
            rows.append(PinRow(pin, title, known, found, known is not None and self._is_old))
        if [(row.pin, row.title, row.result, row.is_old) for row in rows] != [
            (row.pin, row.title, row.result, row.is_old) for row in self.rows.rows
        ]:
            self.rows.set_rows(rows)
            keys = [row.pin.key for row in rows]
            if chosen is not None and chosen.pin.key in keys:
                self.table.selectRow(keys.index(chosen.pin.key))
        self.page.set_filled(bool(rows))
        if not rows:
            self._say("")
        self._show_details()

    def _show_details(self) -> None:
        """Show what the chosen pin expects, and what was found if that differed."""
        row, patch, editor = self.chosen, self._patch, self._editor
        for part in (self.change, self.remove):
            part.setEnabled(row is not None)
        self.check.setEnabled(bool(self.rows.rows) and not self.runs.is_running)
        if row is None or patch is None or editor is None:
            self.text.setText("Choose a pin to see what it expects")
            for picture in self.pictures:
                picture.hide()
            return

        def work() -> Array | PatchError:
            try:
                return expected(patch, row.pin)
            except PatchError as problem:
                return problem

        def then(read: Array | PatchError | None) -> None:
            if self.chosen is row and read is not None:
                self._show_arrays(row, read)

        editor.beside.run("Reading the pin …", work, then, lambda: None)

    def _show_arrays(self, row: PinRow, wanted: Array | PatchError) -> None:
        held = None if isinstance(wanted, PatchError) else wanted
        found = row.found
        is_alike = held is not None and found is not None and (held.shape, held.dtype) == (found.shape, found.dtype)
        apart = difference_of(held, found) if is_alike and held is not None and found is not None else None
        for picture, array in zip(self.pictures, (held, found, apart), strict=True):
            picture.setVisible(array is not None)
            picture.show_array(array, is_difference=picture is self.pictures[2])
        text = self.rows.texts(row)[PinRows.RESULT].replace("; ", "\n")
        self.text.setText(str(wanted) if held is None else text)

    def _show_running(self, is_running: bool) -> None:
        self.stop.setVisible(is_running)
        self.pin.setEnabled(not is_running)
        self.check.setEnabled(bool(self.rows.rows) and not is_running)
        self._say("Starting another engine …" if is_running else "")

    def _activate(self, index: QModelIndex) -> None:
        if self._editor is not None:
            self._editor.kernel.go_to(self.rows.rows[index.row()].pin.node)

    def _say(self, text: str, *, is_problem: bool = False) -> None:
        self.summary.setText(text)
        self.summary.setToolTip(text)
        if is_problem and self._editor is not None:
            self._editor.note(text)

    def _make_bar(self) -> QHBoxLayout:
        bar = QHBoxLayout(contentsMargins=QMargins(8, 0, 8, 0), spacing=8)
        for part in (self.pin, self.check, self.stop):
            bar.addWidget(part)
        bar.addWidget(self.summary, 1)
        for part in (self.change, self.remove):
            bar.addWidget(part)
        return bar

    def _make_page(self) -> QSplitter:
        details = QWidget()
        sides = QHBoxLayout(spacing=8)
        for picture in self.pictures:
            sides.addWidget(picture, 1)
        column = QVBoxLayout(details, contentsMargins=QMargins(8, 4, 8, 8), spacing=4)
        column.addWidget(self.text)
        column.addLayout(sides, 1)
        page = QSplitter(Qt.Orientation.Horizontal, childrenCollapsible=False)
        page.addWidget(self.table)
        page.addWidget(details)
        page.setSizes([500, 400])
        return page


def offer_pin(viewer: QWidget, ask: Callable[[], object]) -> None:
    """Give a viewer a menu that pins what it shows."""
    action = QAction("Pin as test …", viewer)
    action.triggered.connect(lambda: ask())
    viewer.addAction(action)
    viewer.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
