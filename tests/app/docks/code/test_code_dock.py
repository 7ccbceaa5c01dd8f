"""The code dock: what a person types, saves, searches and reads in it."""

import random
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.conftest import Asked
from tests.app.window.window_support import patch_of
from tests.fuzzing import many, seeds
from warploom.app.docks.code.code import Code
from warploom.app.docks.problems import Problems
from warploom.app.documents.dialogs import UnsavedChoice
from warploom.app.view_models.code.places import CodePlace
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import KernelError, error
from warploom.engine.kernel_sources.sass import INSTALL
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch

KERNEL = """// Makes it louder.
extern "C" __global__ void louder(
    const float* x,
    float* out,
    float gain,  // [0, 4] = 2, how much
    int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = gain * x[i];
}
"""
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A kernel file beside a patch."""
    (tmp_path / "louder.cu").write_text(KERNEL)
    return tmp_path / "louder.cu"


@pytest.fixture
def opened(window: MainWindow, kernel: Path) -> MainWindow:
    """A window with blocks of several kinds; the kernel's block is selected and its code shown."""
    patch = Patch()
    patch.add("kernel.file", node_id="louder", file="louder.cu")
    patch.add("kernel.cuda", node_id="cuda", position=(200, 0))
    patch.add("math.saxpy", node_id="saxpy", position=(400, 0))
    save_patch(patch, kernel.with_name("demo.loom"))
    assert window.files.open_path(kernel.with_name("demo.loom"))
    window.activateWindow()
    show(window, "louder")
    return window


def show(window: MainWindow, node: str) -> Code:
    """Select a block and press Ctrl+K."""
    window.canvas.select([node])
    window.actions_by_id["open_code"].trigger()
    return window.docks.widget(Code)


def type_at_end_of(dock: Code, line: int, text: str) -> None:
    dock.text.go_to_line(line)
    QTest.keyClick(dock.text, Qt.Key.Key_End)
    QTest.keyClicks(dock.text, text)
    dock.text.completion.hide()


@pytest.mark.feature("code")
def test_the_kernel_of_the_selected_block_is_shown(opened: MainWindow, kernel: Path) -> None:
    """Selecting a block shows its kernel file; its headers, and the file that defines it, are in the list."""
    dock = opened.docks.widget(Code)
    assert dock.place == CodePlace(str(kernel)) and dock.text.toPlainText() == KERNEL
    opened.canvas.select(["saxpy"])
    assert [dock.bar.places.itemText(n) for n in range(dock.bar.places.count())] == ["saxpy.cu", "saxpy.py"]
    assert dock.text.isReadOnly() and "comes with Warploom" in dock.bar.state.text()
    assert dock.bar.copy.isVisible() and not dock.bar.save.isVisible()
    opened.canvas.select(["cuda"])
    assert dock.text.toPlainText() == patch_of(opened).value("cuda", "code") and not dock.text.isReadOnly()


@pytest.mark.feature("code_errors")
def test_mistakes_stand_under_their_lines_before_saving(opened: MainWindow, kernel: Path, qtbot: QtBot) -> None:
    """Each mistake is shown under its line as it is typed, and goes when it is corrected; the file stays unchanged."""
    dock = opened.docks.widget(Code)
    plain = dock.text.blockBoundingGeometry(dock.text.document().findBlockByNumber(9)).height()
    type_at_end_of(dock, 10, " foo(3); bar = 4;")
    qtbot.waitUntil(lambda: len(dock.text.mistakes()) == 2)
    assert [(each.line, each.text) for each in dock.text.mistakes()] == [
        (10, 'identifier "bar" is undefined'),
        (10, 'identifier "foo" is undefined'),
    ]
    assert dock.text.blockBoundingGeometry(dock.text.document().findBlockByNumber(9)).height() > 2 * plain
    assert "not saved · 2 errors" in dock.bar.state.text() and kernel.read_text() == KERNEL
    QTest.keyClick(dock.text, Qt.Key.Key_Home)
    QTest.keyClick(dock.text, Qt.Key.Key_F8)
    assert dock.text.textCursor().blockNumber() == 9
    for _ in range(40):
        QTest.keyClick(dock.text, Qt.Key.Key_Z, CONTROL)
    qtbot.waitUntil(lambda: not dock.text.mistakes())
    assert dock.text.toPlainText() == KERNEL and dock.bar.state.text() == ""


def test_saving_writes_the_file(opened: MainWindow, kernel: Path) -> None:
    """Ctrl+S in the code writes the file; until then the tab and the window's title tell of unsaved text."""
    dock = opened.docks.widget(Code)
    type_at_end_of(dock, 1, " Much.")
    assert dock.bar.places.currentText() == "louder.cu •" and opened.isWindowModified()
    assert dock.windowTitle() == "Code (1 not saved)"
    QTest.keyClick(dock.text, Qt.Key.Key_S, CONTROL)
    assert kernel.read_text() == KERNEL.replace("louder.\n", "louder. Much.\n", 1)
    assert not opened.isWindowModified() and not patch_of(opened).history.names
    dock.bar.compare.click()
    assert dock.compare.versions.count() == 2
    dock.compare.versions.setCurrentIndex(1)
    assert [row.right for row in dock.compare.rows if row.is_changed] == ["// Makes it louder. Much."]
    dock.compare.restore.click()
    assert dock.texts.text(CodePlace(str(kernel))) == KERNEL and opened.isWindowModified()


def test_home_keeps_the_indentation(opened: MainWindow) -> None:
    """Home goes to the first letter of a line, and from there to its beginning; with Shift, it selects."""
    text = opened.docks.widget(Code).text
    line = next(n for n, found in enumerate(KERNEL.splitlines(), 1) if found.startswith("    "))
    text.go_to_line(line)
    QTest.keyClick(text, Qt.Key.Key_End)
    columns = []
    for _ in range(3):
        QTest.keyClick(text, Qt.Key.Key_Home)
        columns.append(text.textCursor().positionInBlock())
    assert columns == [4, 0, 4]
    QTest.keyClick(text, Qt.Key.Key_End)
    QTest.keyClick(text, Qt.Key.Key_Home, Qt.KeyboardModifier.ShiftModifier)
    assert text.textCursor().selectedText() == KERNEL.splitlines()[line - 1].strip()


def test_why_there_is_no_sass_fits_beside_the_code(
    opened: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """The message with the command that installs what is missing is read without scrolling."""
    message = f"nvdisasm of the CUDA toolkit must be installed to show SASS, got none: {INSTALL}"

    def missing(*_: object) -> str:
        raise KernelError(message)

    monkeypatch.setattr("warploom.app.docks.code.compiled.run", missing)
    compiled = opened.docks.widget(Code).compiled
    opened.docks.widget(Code).bar.compiled.click()
    compiled.tabs.setCurrentWidget(compiled.sass)
    qtbot.waitUntil(lambda: "nvdisasm" in compiled.sass.toPlainText())
    lines = compiled.sass.toPlainText().splitlines()
    assert max(map(len, lines)) < 60
    assert " ".join(line.removeprefix("// ") for line in lines) == message


def test_ctrl_s_in_saved_code_saves_the_patch(opened: MainWindow, kernel: Path, qtbot: QtBot) -> None:
    """The first Ctrl+S saves the code that was typed, and the next one the patch that was edited."""
    dock = opened.docks.widget(Code)
    opened.activateWindow()
    dock.text.setFocus()
    qtbot.waitUntil(dock.text.hasFocus)
    patch_of(opened).move("cuda", (8.0, 808.0))
    type_at_end_of(dock, 1, " Much.")
    QTest.keyClick(dock.text, Qt.Key.Key_S, CONTROL)
    assert "Much." in kernel.read_text() and opened.session.is_modified
    QTest.keyClick(dock.text, Qt.Key.Key_S, CONTROL)
    assert not opened.session.is_modified


def test_a_parameter_is_applied_in_one_undo_step(opened: MainWindow) -> None:
    """Code in a parameter is set by Ctrl+Enter or by a command, as one undo step, which undo takes back."""
    dock, patch = show(opened, "cuda"), patch_of(opened)
    before = patch.value("cuda", "code")
    type_at_end_of(dock, 1, "  // typed")
    assert patch.value("cuda", "code") == before and dock.bar.state.text() == "not applied"
    opened.actions_by_id["save"].trigger()
    assert "// typed" in patch.value("cuda", "code") and len(patch.history.names) == 1
    assert "// typed" in kernel_text(opened)
    patch.undo()
    opened.session.changed.emit()
    assert dock.text.toPlainText() == patch.value("cuda", "code") == before


def kernel_text(window: MainWindow) -> str:
    path = patch_of(window).path
    assert path is not None
    return path.read_text()


def test_completion_offers_names_that_exist(opened: MainWindow) -> None:
    """Typing offers parameters, CUDA's names and header functions; Tab or Enter takes one, Escape none."""
    dock = opened.docks.widget(Code)
    dock.text.go_to_line(10)
    QTest.keyClick(dock.text, Qt.Key.Key_End)
    QTest.keyClicks(dock.text, " ga")
    assert dock.text.completion.names() == ["gain"]
    QTest.keyClick(dock.text, Qt.Key.Key_Tab)
    assert dock.text.toPlainText().splitlines()[9].endswith(" gain")
    QTest.keyClicks(dock.text, " at")
    assert {"atan2f", "atomicAdd"} <= set(dock.text.completion.names())
    QTest.keyClick(dock.text, Qt.Key.Key_Escape)
    assert not dock.text.completion.is_open
    dock.text.go_to_line(1)
    QTest.keyClicks(dock.text, '#include "vec')
    QTest.keyClick(dock.text, Qt.Key.Key_Space, CONTROL)
    assert dock.text.completion.names() == ["warploom/vector.h"]
    QTest.keyClick(dock.text, Qt.Key.Key_Return)
    QTest.keyClicks(dock.text, '"')
    QTest.keyClick(dock.text, Qt.Key.Key_Return)
    type_at_end_of(dock, 11, "")
    QTest.keyClicks(dock.text, " satu")
    assert dock.text.completion.names() == ["saturate"]


def test_search_and_replace(opened: MainWindow) -> None:
    """Ctrl+F counts and selects the places, Enter goes on, and Replace all is one undo step."""
    dock = opened.docks.widget(Code)
    dock.text.go_to_line(1)
    QTest.keyClick(dock.text, Qt.Key.Key_H, CONTROL)
    QTest.keyClicks(dock.search.what, "gain")
    assert dock.search.count.text() == "1 of 2" and dock.text.textCursor().selectedText() == "gain"
    QTest.keyClick(dock.search.what, Qt.Key.Key_Return)
    assert dock.search.count.text() == "2 of 2"
    QTest.keyClicks(dock.search.by, "loudness")
    QTest.mouseClick(dock.search.all, Qt.MouseButton.LeftButton)
    assert dock.text.toPlainText() == KERNEL.replace("gain", "loudness")
    QTest.keyClick(dock.search.what, Qt.Key.Key_Escape)
    assert dock.search.isHidden() and opened.focusWidget() is dock.text
    QTest.keyClick(dock.text, Qt.Key.Key_Z, CONTROL)
    assert dock.text.toPlainText() == KERNEL


def test_the_compiled_code_follows_the_cursor(opened: MainWindow, qtbot: QtBot) -> None:
    """PTX stands beside the code; the lines made from the cursor's line stand out."""
    dock = opened.docks.widget(Code)
    QTest.mouseClick(dock.bar.compiled, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "mul.f32" in dock.compiled.ptx.toPlainText())
    assert dock.compiled.ptx.isVisible() and dock.text.isVisible()
    dock.text.go_to_line(10)
    lines = dock.compiled.ptx.toPlainText().splitlines()
    assert any("mul.f32" in lines[number] for number in dock.compiled.ptx.marked())


def test_a_problem_leads_to_its_line(opened: MainWindow, kernel: Path) -> None:
    """A double click on a problem of a file shows the file with the cursor at the line, in the dock."""
    problems, dock = opened.docks.widget(Problems), opened.docks.widget(Code)
    opened.docks["code"].close()
    told = error("louder.cu must compile, got 1 error", node="louder", file=str(kernel), line=9)
    problems.show_diagnostics((told,))
    row = problems.list.topLevelItem(0)
    assert row is not None
    problems.list.itemActivated.emit(row, 0)
    assert dock.isVisible() and dock.place == CodePlace(str(kernel)) and dock.text.textCursor().blockNumber() == 8
    dock.show_diagnostics((told,))
    assert [each.line for each in dock.text.mistakes()] == [9]


def test_another_program_changes_the_file(opened: MainWindow, kernel: Path) -> None:
    """An unchanged text follows its file; a typed one stays until the person chooses."""
    dock = opened.docks.widget(Code)
    kernel.write_text(KERNEL.replace("gain *", "2.0f * gain *"))
    dock.look()
    assert "2.0f" in dock.text.toPlainText()
    type_at_end_of(dock, 1, " Mine.")
    kernel.write_text(KERNEL.replace("louder.", "LOUDER."))
    dock.look()
    assert "Mine." in dock.text.toPlainText() and "another program" in dock.banner.text
    QTest.keyClick(dock.text, Qt.Key.Key_S, CONTROL)
    assert "Mine." not in kernel.read_text()
    dock.banner.buttons[2].click()
    assert dock.banner.isHidden()
    QTest.keyClick(dock.text, Qt.Key.Key_S, CONTROL)
    assert "Mine." in kernel.read_text()
    dock.bar.compare.click()
    assert any("LOUDER." in version.text for version in dock.texts.versions(CodePlace(str(kernel))))


@pytest.mark.parametrize("answer", list(UnsavedChoice)[:1] + list(UnsavedChoice)[2:])
def test_typed_code_is_asked_for_on_closing(
    opened: MainWindow, asked: Asked, kernel: Path, answer: UnsavedChoice
) -> None:
    """Closing asks about code that is not saved: it is saved, dropped, or the patch stays open."""
    dock = opened.docks.widget(Code)
    type_at_end_of(dock, 1, " Mine.")
    asked.about_changes = answer
    opened.actions_by_id["close"].trigger()
    assert asked.shown == ["louder.cu"]
    assert (opened.session.patch is not None) is (answer is UnsavedChoice.CANCEL)
    assert ("Mine." in kernel.read_text()) is (answer is UnsavedChoice.SAVE)


def test_code_is_never_saved_over_another_programs_change_by_closing(
    opened: MainWindow, asked: Asked, kernel: Path
) -> None:
    """If the file has changed since typing began, Save on closing keeps both, and the patch stays open."""
    type_at_end_of(opened.docks.widget(Code), 1, " Mine.")
    kernel.write_text("// theirs\n")
    asked.about_changes = UnsavedChoice.SAVE
    opened.actions_by_id["close"].trigger()
    assert opened.session.patch is not None and kernel.read_text() == "// theirs\n"
    assert "Mine." in opened.docks.widget(Code).text.toPlainText()


def test_typed_code_survives_a_kill(opened: MainWindow, asked: Asked, kernel: Path, tmp_path: Path) -> None:
    """Typed code is in the copy for recovery; after a crash it is offered, and typed again in the dock."""
    from warploom.app.documents.recovery import find_left_behind

    type_at_end_of(opened.docks.widget(Code), 1, " Mine.")
    opened.files.autosave()
    copying = opened.files._copying
    assert copying is not None
    copying.result()
    opened._recovery._lock.unlock()  # as if the editor had ended
    (found,) = find_left_behind(tmp_path / "state" / "recovery")
    assert found.differences() == ["typed, not saved: louder.cu, 1 changed line"]
    opened.files.drafts.replace()
    assert opened.files.recover(found)
    dock = show(opened, "louder")
    assert "Mine." in dock.text.toPlainText() and not opened.session.is_modified and opened.isWindowModified()
    assert kernel.read_text() == KERNEL


ACTIONS: dict[str, Any] = {
    **{node: lambda window, node=node: window.canvas.select([node]) for node in ("louder", "cuda", "saxpy")},
    "none": lambda window: window.canvas.select([]),
    "hide": lambda window: window.docks["code"].close(),
    "show": lambda window: window.docks.reveal("code"),
    "compare": lambda window: window.docks.widget(Code).bar.compare.click(),
    "compiled": lambda window: window.docks.widget(Code).bar.compiled.click(),
    "undo": lambda window: window.session.undo(),
    "look": lambda window: window.docks.widget(Code).look(),
    "list": lambda window: window.docks.widget(Code)._refresh(),
    "save the patch": lambda window: window.actions_by_id["save"].trigger(),
    "cancel closing": lambda window: window.actions_by_id["close"].trigger(),
}
KEYS = [
    *(Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Backspace, Qt.Key.Key_Delete, Qt.Key.Key_Home, Qt.Key.Key_Up),
    *(Qt.Key.Key_BraceRight, Qt.Key.Key_Escape, Qt.Key.Key_Backtab),
]


@pytest.mark.parametrize("seed", seeds(2))
def test_random_edits_never_lose_the_text(opened: MainWindow, asked: Asked, kernel: Path, seed: int) -> None:
    """After random keys and actions, each place's text is what was typed last, until it is saved into its file."""
    draw = random.Random(seed)
    dock, place = opened.docks.widget(Code), CodePlace(str(kernel))
    asked.about_changes = UnsavedChoice.CANCEL
    typed = KERNEL
    for number in range(many(15)):
        opened.docks.reveal("code")
        opened.canvas.select(["louder"])
        dock.show_place(place)
        dock.bar.compare.setChecked(False)
        assert dock.text.toPlainText() == typed, number
        dock.text.setFocus()
        if draw.random() < 0.7:
            dock.text.go_to_line(draw.randrange(1, 14))
            for sign in draw.choice(["x", "// é", "foo(", "}", "\N{SNOWMAN}\N{GRINNING FACE}", "float gain;"]):
                none = Qt.KeyboardModifier.NoModifier  # QTest's own clicks know ASCII only
                QApplication.sendEvent(dock.text, QKeyEvent(QEvent.Type.KeyPress, 0, none, sign))
        else:
            QTest.keyClick(dock.text, draw.choice(KEYS))
        typed = dock.text.toPlainText()
        if draw.random() < 0.2:
            dock.save()
            assert kernel.read_text() == typed
        for _ in range(draw.randrange(3)):
            ACTIONS[draw.choice(list(ACTIONS))](opened)
        draft = opened.files.drafts[place]
        assert (draft.text if draft is not None else kernel.read_text()) == typed, number
