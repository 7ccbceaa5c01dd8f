"""Typed text is entered into the patch, or the person is asked, before anything would drop it."""

import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.conftest import Asked
from tests.app.window.window_support import patch_of
from tests.fuzzing import many, seeds
from warploom.app.documents.dialogs import UnsavedChoice
from warploom.app.inspector.code_editor import CodeEditor
from warploom.app.widgets.number_box import NumberBox
from warploom.app.window.main_window import MainWindow
from warploom.engine.kernel_blocks.kernel_block import KernelBlock
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import load_patch, save_patch

GRAPH: dict[str, Any] = {
    "nodes": [
        {"id": "x", "type": "op.input"},
        {"id": "times", "type": "op.multiply", "position": [240, 0], "parameters": {"b": 2.0}},
        {"id": "out", "type": "op.output", "position": [480, 0]},
    ],
    "connections": [{"source": "x.value", "target": "times.a"}, {"source": "times.out", "target": "out.value"}],
}
FIELDS = ("code", "expression", "b", "gain", "free", "label", "source", "title")


def make_file(path: Path) -> Path:
    """Save a patch with fields of every kind."""
    patch = Patch()
    patch.add("kernel.cuda", node_id="cuda")
    patch.add("kernel.expression", node_id="formula", position=(200, 0))
    patch.add("test_app.every_parameter", node_id="every", position=(0, 200))
    patch.add("kernel.graph", node_id="graph", position=(200, 200), graph=GRAPH)
    save_patch(patch, path)
    return path


@pytest.fixture
def opened(window: MainWindow, asked: Asked, tmp_path: Path) -> MainWindow:
    """A window with such a patch; the answer about unsaved changes is Cancel."""
    asked.about_changes = UnsavedChoice.CANCEL
    assert window.files.open_path(make_file(tmp_path / "typed.loom"))
    window.activateWindow()
    return window


def field_of(window: MainWindow, name: str) -> QWidget | None:
    """Return a visible field, or None."""
    if name == "title":
        header = window.inspector.header
        return header.title if header is not None and not header.title.isReadOnly() else None
    if name not in window.inspector.rows or window.inspector.rows[name].is_driven:
        return None
    editor = window.inspector.editor(name)
    found: list[QWidget | None] = [editor.findChild(kind) for kind in (NumberBox, QPlainTextEdit, QLineEdit)]
    return next(filter(None, found), None)


def type_into(field: QWidget, number: int) -> str:
    """Type a unique text, and return it as the patch would store it."""
    field.setFocus()
    if isinstance(field, NumberBox):
        text = f"{1 + number % 25_000 / 10_000:.6g}"
        field.selectAll()
        QTest.keyClicks(field, text)
        return text
    marker = f"typed{number:05}"
    if isinstance(field, QPlainTextEdit):
        comment = "#" if "gain" in field.toPlainText() or field.toPlainText()[:1] == "x" else "//"
        QTest.keyClick(field, Qt.Key.Key_End, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClick(field, Qt.Key.Key_Return)
        QTest.keyClicks(field, f"{comment} {marker}")
    else:
        field.selectAll()  # type: ignore[attr-defined]
        QTest.keyClicks(field, marker)
    return marker


def holds(patch: Patch, marker: str) -> bool:
    """Return whether the patch or its undo history contains a text."""
    history = vars(patch.history)
    edits = [change for edit in (*history["_done"], *history["_undone"]) for change in edit.changes]
    return marker in repr([*patch.nodes.values(), *edits])


def select(window: MainWindow, draw: random.Random) -> None:
    patch = window.canvas.patch
    assert patch is not None
    window.canvas.select([draw.choice([*patch.nodes, *patch.nodes])] if patch.nodes else [])


def trigger(command: str) -> Callable[[MainWindow], None]:
    return lambda window: window.actions_by_id[command].trigger()


def delete(window: MainWindow) -> None:
    window.canvas.setFocus()
    window.actions_by_id["delete"].trigger()


def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> Callable[[MainWindow], None]:
    def act(window: MainWindow) -> None:
        field = window.focusWidget()
        if field is not None:
            QTest.keyClick(field, key, modifier)

    return act


def lose_focus(window: MainWindow) -> None:
    """Send the focused field the event of another window taking the keyboard."""
    field = window.focusWidget()
    if field is not None:
        QApplication.sendEvent(field, QFocusEvent(QEvent.Type.FocusOut, Qt.FocusReason.ActiveWindowFocusReason))


def enter_graph(window: MainWindow) -> None:
    patch = patch_of(window)
    if not window.kernel.is_open and "graph" in patch.nodes:
        window.kernel.enter(patch, "graph")


def reset(window: MainWindow) -> None:
    for row in tuple(window.inspector.rows.values()):
        if row.reset.isVisible():
            row.reset.click()
            return


ACTIONS: dict[str, Callable[[MainWindow], None]] = {
    **{name: trigger(name) for name in ("save", "undo", "redo", "new", "close", "quit", "theme_light", "theme_dark")},
    "delete": delete,
    "escape": press(Qt.Key.Key_Escape),
    "tab": press(Qt.Key.Key_Tab),
    "enter": press(Qt.Key.Key_Return),
    "run": press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier),
    "lose the focus": lose_focus,
    "close the window": lambda window: (window.close(), None)[1],
    "enter the op graph": enter_graph,
    "leave the op graph": lambda window: window.kernel.leave(),
    "select none": lambda window: window.canvas.select([]),
    "reset": reset,
    "report": lambda window: window.inspector.show_report(make_report()),
}


@pytest.mark.parametrize("seed", seeds(2))
def test_typed_text_is_never_lost(opened: MainWindow, asked: Asked, tmp_path: Path, seed: int) -> None:
    """After random fields and actions, the patch, the saved file or the undo history contains the last typed text."""
    draw = random.Random(seed)
    window = opened
    for number in range(seed * 1000, seed * 1000 + many(30)):
        patch = patch_of(window)
        select(window, draw)
        fields = {name: field for name in FIELDS if (field := field_of(window, name)) is not None}
        if not fields:
            window.kernel.leave()
            if len(patch.nodes) < 3:
                asked.about_changes = UnsavedChoice.DISCARD
                window.files.open_path(make_file(tmp_path / "typed.loom"))
                asked.about_changes = UnsavedChoice.CANCEL
            continue
        done = [draw.choice(list(fields))]
        marker = type_into(fields[done[0]], number)
        for _ in range(draw.randrange(1, 4)):
            # A switch of the theme is rare, since it takes as long as ten rounds of other actions.
            names = [name for name in ACTIONS if number % 10 == 0 or not name.startswith("theme")]
            name = draw.choice(names)
            done.append(name)
            asked.shown.clear()
            ACTIONS[name](window)
            if draw.random() < 0.3:
                QApplication.processEvents()
            story = f"{marker}: {', '.join(done)}"
            if window.session.patch is not patch:  # no question is asked, since the file contains everything
                assert not asked.shown, story
                assert marker in (tmp_path / "typed.loom").read_text() or {"escape", "undo"} & set(done), story
                if not window.isVisible():
                    return
                window.files.open_path(make_file(tmp_path / "typed.loom"))
                break
            assert window.session.patch is patch, story
            if name in ("tab", "enter", "run", "report", "theme_light", "theme_dark"):
                continue  # these actions drop nothing
            window.inspector.enter_typed()
            assert holds(patch, marker), story
            if name == "escape" or marker not in repr(list(patch.nodes.values())):
                break  # the next edit would clear the redo history
            if name == "save" and marker in repr(list(patch.nodes.values())):
                saved = load_patch(tmp_path / "typed.loom")
                assert marker in repr(list(saved.nodes.values())), story


@pytest.mark.parametrize("way", ["quit", "close the window", "close", "new"])
def test_code_that_still_compiles_is_asked_about(opened: MainWindow, asked: Asked, way: str) -> None:
    """On quitting or closing while typed code compiles, the person is asked and may stay."""
    window = opened
    window.canvas.select(["cuda"])
    field = field_of(window, "code")
    assert field is not None
    marker = type_into(field, 7)
    ACTIONS[way](window)
    assert asked.shown == ["typed"]
    assert window.isVisible() and marker in patch_of(window).value("cuda", "code")


def test_saving_does_not_wait_for_the_compiler(
    opened: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving writes typed code to the file while it is still being compiled, and makes one undo step of it."""
    window, may_end, ui = opened, threading.Event(), threading.current_thread()
    interface = vars(KernelBlock)["interface"].__func__

    def slow(cls: Any, values: Any) -> Any:
        if threading.current_thread() is not ui:
            may_end.wait()
        return interface(cls, values)

    monkeypatch.setattr(KernelBlock, "interface", classmethod(slow))
    window.canvas.select(["cuda"])
    field = field_of(window, "code")
    assert isinstance(field, QPlainTextEdit)
    marker = type_into(field, 8)
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert marker not in patch_of(window).value("cuda", "code")
    window.actions_by_id["save"].trigger()
    assert marker in json.dumps(json.loads((tmp_path / "typed.loom").read_text()))
    may_end.set()
    assert patch_of(window).history.names == ["Set code of Scale"]


def test_escape_shelves_code_which_redo_brings(opened: MainWindow) -> None:
    """Escape drops typed code without an edit, and redo brings it back."""
    window = opened
    patch = patch_of(window)
    window.canvas.select(["cuda"])
    field, before = field_of(window, "code"), patch.value("cuda", "code")
    assert isinstance(field, QPlainTextEdit)
    heard: list[object] = []
    end = patch.subscribe(heard.append)
    marker = type_into(field, 9)
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.toPlainText() == before == patch.value("cuda", "code") and not heard
    assert not window.session.is_modified
    QApplication.processEvents()  # enables the command
    window.actions_by_id["redo"].trigger()
    assert marker in patch.value("cuda", "code")
    end()


def test_escape_in_an_op_graph_is_redone_in_the_patch(opened: MainWindow) -> None:
    """Escape in an op graph is redone through the patch's undo history."""
    window = opened
    window.kernel.enter(patch_of(window), "graph")
    window.canvas.select(["times"])
    field = field_of(window, "b")
    assert field is not None
    marker = type_into(field, 10)
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert marker not in repr(patch_of(window).value("graph", "graph"))
    QApplication.processEvents()  # enables the command
    window.actions_by_id["redo"].trigger()
    assert marker in repr(patch_of(window).value("graph", "graph"))


def test_a_person_who_types_on_while_code_compiles_is_not_disturbed(opened: MainWindow, qtbot: QtBot) -> None:
    """If compiled code has new parameters, the rows are rebuilt; text typed meanwhile and the cursor stay."""
    window = opened
    window.canvas.select(["cuda"])
    field = field_of(window, "code")
    assert isinstance(field, QPlainTextEdit)
    code = field.toPlainText().replace("gain", "loud")
    field.setFocus()
    field.setPlainText(code)
    field.document().setModified(True)
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(window.focusWidget(), "//soft")
    qtbot.waitUntil(lambda: "loud" in window.inspector.rows)
    editor = window.inspector.editor("code")
    assert isinstance(editor, CodeEditor) and editor.text is not field
    assert window.focusWidget() is editor.text
    assert editor.text.textCursor().position() == len("//soft")
    QTest.keyClicks(editor.text, "er ")
    window.inspector.enter_typed()
    assert patch_of(window).value("cuda", "code") == f"//softer {code}"


def test_a_text_that_is_no_number_is_told(opened: MainWindow) -> None:
    """A typed text that is no number is refused with a message."""
    window = opened
    window.canvas.select(["every"])
    told: list[str] = []
    window.inspector.refused.connect(told.append)
    field = field_of(window, "gain")
    assert isinstance(field, NumberBox)
    field.selectAll()
    QTest.keyClicks(field, "3 +")
    window.actions_by_id["save"].trigger()
    assert told == ["gain must be a number, got '3 +'"]


def test_a_click_that_enters_code_reaches_its_field(opened: MainWindow, qtbot: QtBot) -> None:
    """A click into another field enters a formula, which changes the rows; focus and typed keys stay in the field."""
    patch, inspector = patch_of(opened), opened.inspector
    patch.set("formula", expression="x * freq", sliders="freq: 0..20 = 4")
    opened.canvas.select(["formula"])
    qtbot.waitUntil(opened.isActiveWindow)

    def click(name: str, kind: type[QWidget]) -> None:
        before, field = opened.focusWidget(), inspector.editor(name).findChild(kind)
        QTest.mouseClick(field.lineEdit() if isinstance(field, NumberBox) else field, Qt.MouseButton.LeftButton)
        assert opened.focusWidget() is field
        QApplication.sendEvent(before, QFocusEvent(QEvent.Type.FocusOut))  # not sent while another window is active

    def replace(text: str) -> None:
        QTest.keyClick(opened.focusWidget(), Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(opened.focusWidget(), text)

    inspector.editor("expression").begin()
    replace("x * speed + y")
    click("reads", QLineEdit)
    qtbot.waitUntil(lambda: "speed" in inspector.rows)
    focused: Any = opened.focusWidget()
    assert inspector.isAncestorOf(focused) and focused.accessibleName() == "reads"
    replace("x, y")
    click("speed", NumberBox)
    qtbot.waitUntil(lambda: patch.value("formula", "reads") == "x, y")
    qtbot.waitUntil(lambda: "y" not in inspector.rows)
    box = inspector.editor("speed").findChild(NumberBox)
    assert opened.focusWidget() is box and box.lineEdit().hasSelectedText()
