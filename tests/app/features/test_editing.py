"""Editing by mouse and keys: arranging, frames, bypass, the clipboard, bookmarks, searching, undo, files."""

import difflib
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, QProcess, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from tests.app.app_support import FakeEngine, move_pointer
from tests.app.canvas.canvas_support import Hand, place
from tests.app.features.person import CONTROL, LEFT, SHIFT, Person
from warploom.app.canvas.mark_form import MarkForm
from warploom.app.docks.organise.history import EditList
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import Mode, PortRef
from warploom.engine.patch.files import dump_patch
from warploom.engine.patch.organise.annotations import Frame


@pytest.mark.feature("bypass")
def test_a_block_is_bypassed_and_disabled(person: Person) -> None:
    """Ctrl+B leaves the blur out, and the viewer gets the noise; Ctrl+Shift+B leaves it out with what needs it."""
    person.select("blur")
    person.press(Qt.Key.Key_B, CONTROL)
    assert person.patch.nodes["blur"].mode is Mode.BYPASSED
    person.press(Qt.Key.Key_B, CONTROL | SHIFT)
    assert person.patch.nodes["blur"].mode is Mode.DISABLED
    person.press(Qt.Key.Key_B, CONTROL | SHIFT)
    assert person.patch.nodes["blur"].mode is Mode.ACTIVE


@pytest.mark.feature("arrange")
def test_blocks_are_aligned_and_laid_out(person: Person) -> None:
    """Ctrl+L places selected blocks in a row; a command of the Align menu gives all one left edge."""
    person.select("noise", "blur", "viewer")
    person.command("left edges")
    assert len({person.patch.nodes[node].position[0] for node in ("noise", "blur", "viewer")}) == 1
    person.press(Qt.Key.Key_L, CONTROL)
    hand = person.hand
    assert place(hand, "noise").right() < place(hand, "blur").left()
    assert place(hand, "blur").right() < place(hand, "viewer").left()


@pytest.mark.feature("frames")
def test_a_frame_has_a_title_and_a_comment(person: Person) -> None:
    """Ctrl+Shift+F puts a frame around the selection; title and comment are typed, Tab goes on."""
    person.select("noise", "blur")
    person.press(Qt.Key.Key_F, CONTROL | SHIFT)
    person.until(lambda: isinstance(person.window.canvas.findChild(MarkForm), MarkForm))
    person.until(lambda: person.window.canvas.findChild(MarkForm).title.hasFocus())  # type: ignore[union-attr]
    person.type("Soft", Qt.Key.Key_Tab)
    person.type("A soft background", Qt.Key.Key_Tab)
    person.type("", Qt.Key.Key_Return)
    (frame,) = person.patch.annotations_of(Frame)
    assert (frame.title, frame.comment) == ("Soft", "A soft background")
    assert person.patch.history.names == ["Add frame"]
    before = person.patch.nodes["blur"].position
    at = QPointF(frame.position[0] + 60, frame.position[1] + 12)
    person.hand.drag(at, at + QPointF(0, 80))
    assert person.patch.nodes["blur"].position == (before[0], before[1] + 80)
    person.hand.click(at + QPointF(0, 80))
    person.press(Qt.Key.Key_X, CONTROL)
    assert not {"noise", "blur"} & person.patch.nodes.keys() and not person.patch.annotations_of(Frame)
    person.press(Qt.Key.Key_V, CONTROL)
    assert {"noise", "blur"} <= person.patch.nodes.keys() and person.patch.annotations_of(Frame)[0].title == "Soft"


@pytest.mark.feature("clipboard")
def test_blocks_are_copied_into_another_window(person: Person, tmp_path: Path) -> None:
    """Ctrl+C in one window and Ctrl+V in another paste blocks with their connections and values; so does a text."""
    person.select("noise", "blur")
    person.press(Qt.Key.Key_C, CONTROL)
    text = QGuiApplication.clipboard().text()
    other = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    other.show()
    other.activateWindow()
    QTest.mouseClick(person.button(other.welcome, "New patch"), LEFT)
    patch = other.session.patch
    assert patch is not None
    person.until(other.isActiveWindow)
    other.canvas.setFocus()
    for _ in range(2):
        QTest.keyClick(other.canvas.view, Qt.Key.Key_V, CONTROL)
    assert [found.type for found in patch.nodes.values()].count("image.noise") == 2
    assert patch.value("noise", "width") == 48
    assert str(patch.connections[0]) == "noise.out -> blur.image"
    assert not Hand(other.canvas).scene.nodes["noise"].place.intersects(place(Hand(other.canvas), "noise_2"))
    QGuiApplication.clipboard().setText(text)  # as from a mail
    QTest.keyClick(other.canvas.view, Qt.Key.Key_V, CONTROL)
    assert len(patch.nodes) == 6
    other.close()
    person.window.activateWindow()
    person.until(person.window.isActiveWindow)
    person.press(Qt.Key.Key_D, CONTROL)
    assert len(person.patch.nodes) == 7


@pytest.mark.feature("clipboard")
def test_what_can_not_be_pasted_is_named(person: Person) -> None:
    """Another program's text on the clipboard is refused with what to do, and nothing changes."""
    QGuiApplication.clipboard().setText("a shopping list")
    person.press(Qt.Key.Key_V, CONTROL)
    text = person.window.statusBar().currentMessage()
    assert text == "clipboard must hold blocks to paste, got 'a shopping list'; copy blocks first"
    assert not person.patch.history.names


@pytest.mark.feature("bookmarks")
def test_a_bookmark_returns_to_its_part(person: Person) -> None:
    """Ctrl+3 keeps the part in view, and 3 returns to it."""
    view = person.window.canvas.view
    view.centerOn(QPointF(-300, 50))
    before = view.mapToScene(view.viewport().rect().center())
    person.press(Qt.Key.Key_3, CONTROL)
    assert person.window.statusBar().currentMessage() == "Bookmark 3 is set; 3 returns to it"
    person.press(Qt.Key.Key_Home)
    view.centerOn(QPointF(900, 900))
    person.press(Qt.Key.Key_3)
    assert (view.mapToScene(view.viewport().rect().center()) - before).manhattanLength() < 8


@pytest.mark.feature("search")
@pytest.mark.parametrize(("typed", "title"), [("gausian", "Gaussian Blur"), ("torch", "External"), ("clouds", "Noise")])
def test_blocks_are_found_by_name_tag_and_help(person: Person, typed: str, title: str) -> None:
    """Tab and a double click open the search, which forgives mistakes and knows tags and words of the help."""
    move_pointer(person.hand.view.viewport(), person.hand.view.mapFromScene(QPointF(100, 200)))
    person.press(Qt.Key.Key_Tab)
    assert title in person.search(typed)
    person.type("", Qt.Key.Key_Escape)
    person.hand.double_click(QPointF(100, 200))
    assert person.search(typed)[0]
    person.type("")
    assert len(person.patch.nodes) == 6


@pytest.mark.feature("find")
def test_a_block_is_found_in_the_patch(person: Person) -> None:
    """Ctrl+F finds a block by its type, and Enter goes there."""
    person.press(Qt.Key.Key_F, CONTROL)
    person.type("gaussian")
    assert person.window.canvas.selected() == ["blur"]


@pytest.mark.feature("undo", "history")
def test_every_edit_is_taken_back_by_keys_and_in_the_list(person: Person) -> None:
    """Delete, rename, wiring and a number: four entries; a click on the first goes back, and Ctrl+Shift+Z forward."""
    first = dump_patch(person.patch)
    history = person.window.docks.widget(EditList)
    person.select("scale")
    person.set("scale", "3")
    person.press(Qt.Key.Key_F2)
    person.type("Louder")
    hand = person.hand
    hand.drag(hand.port("scale", "out", is_input=False), hand.port("scale", "out", is_input=False) + QPointF(4, 200))
    person.type("", Qt.Key.Key_Escape)
    hand.drag(hand.port("noise", "out", is_input=False), hand.port("viewer", "image", is_input=True))
    assert person.patch.source_of(PortRef("viewer", "image")) == PortRef("noise", "out")
    person.select("blur")
    person.press(Qt.Key.Key_Delete)
    assert len(person.patch.history.names) == 4
    last = dump_patch(person.patch)
    person.command("history")
    person.until(lambda: history.list.count() == 5)
    person.row(history.list, 0)
    assert dump_patch(person.patch) == first
    for _ in range(4):
        person.until(person.window.actions_by_id["redo"].isEnabled)
        person.press(Qt.Key.Key_Z, CONTROL | SHIFT)
    assert dump_patch(person.patch) == last
    for _ in range(4):
        person.until(person.window.actions_by_id["undo"].isEnabled)
        person.press(Qt.Key.Key_Z, CONTROL)
    assert dump_patch(person.patch) == first


@pytest.mark.feature("undo_drag")
def test_a_drag_is_one_step(person: Person) -> None:
    """A slider moved over many values, and a block moved over many places, are one entry each."""
    person.select("blur")
    editor = person.parameter("sigma").editor
    assert isinstance(editor, NumberEditor) and editor.slider is not None
    slider = editor.slider
    QTest.mousePress(slider, LEFT, pos=QPoint(4, slider.height() // 2))
    for x in range(8, slider.width() - 4, 6):
        move_pointer(slider, QPoint(x, slider.height() // 2), LEFT)
    QTest.mouseRelease(slider, LEFT, pos=QPoint(slider.width() - 6, slider.height() // 2))
    assert person.patch.value("blur", "sigma") > 10
    hand = person.hand
    hand.drag(hand.title("blur"), hand.title("blur") + QPointF(40, 120))
    assert len(person.patch.history.names) == 2


@pytest.mark.feature("undo_own")
def test_only_edits_are_steps(person: Person) -> None:
    """Selecting, zooming, looking, pausing and opening docks leave the history empty and the patch unchanged."""
    person.select("noise")
    person.press(Qt.Key.Key_V)
    person.hand.turn_wheel(QPoint(100, 100), 240)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Period, Qt.Key.Key_Space, Qt.Key.Key_H, Qt.Key.Key_H, Qt.Key.Key_Home):
        person.press(key)
    person.command("memory")
    person.command("memory")
    assert person.patch.history.names == [] and not person.window.isWindowModified()


@pytest.mark.feature("diffs")
def test_a_diff_shows_what_was_changed(person: Person, tmp_path: Path) -> None:
    """A saved number is one changed line, and a saved move another one."""
    before = dump_patch(person.patch)
    person.select("blur")
    person.set("sigma", "2.5")
    person.press(Qt.Key.Key_Right)
    after = dump_patch(person.patch)
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert [line[0] for line in lines] == ["-", "+"] * 2 and '"sigma": 2.5' in lines[3]


@pytest.mark.feature("replace")
def test_a_block_is_replaced(person: Person) -> None:
    """R and a name put another block in the blur's place; what it was connected to stays.

    Types that need no more inputs than it has come first; a driven parameter is none.
    """
    slider = person.patch.add("value.slider", position=(0, 900))
    person.patch.connect(slider["value"], PortRef("blur", "sigma"))
    person.select("blur")
    person.press(Qt.Key.Key_R)
    (offered,) = {group.title: group.types for group in person.window.canvas.search._find("")[:1]}.values()
    assert {(kind.category, len(kind.inputs())) for kind in offered[:5]} == {("Image", 1)}
    assert "image.gaussian_blur" not in {kind.id for kind in offered}
    person.type("sharpen", Qt.Key.Key_Return)
    (new,) = person.window.canvas.selected()
    assert "blur" not in person.patch.nodes and person.patch.nodes[new].type == "image.sharpen"
    assert {str(line) for line in person.patch.connections} >= {
        f"noise.out -> {new}.image",
        f"{new}.out -> viewer.image",
    }
    assert person.patch.history.names[-1].endswith(" by Sharpen")


@pytest.mark.feature("select_along")
def test_all_that_a_block_depends_on_is_selected(person: Person) -> None:
    """The bracket keys add what feeds the selection, and what it feeds."""
    person.select("blur")
    person.press(Qt.Key.Key_BracketLeft)
    assert set(person.window.canvas.selected()) == {"noise", "blur"}
    person.press(Qt.Key.Key_BracketRight)
    assert set(person.window.canvas.selected()) == {"noise", "blur", "viewer"}


@pytest.mark.feature("clipboard")
def test_another_window_is_opened(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl+Shift+N starts the editor once more, or says that it can't be started."""
    started: list[list[str]] = []

    def start(program: str, arguments: list[str]) -> tuple[bool, int]:
        started.append([program, *arguments])
        return len(started) < 2, 1

    monkeypatch.setattr(QProcess, "startDetached", start)
    person.window.statusBar().clearMessage()
    person.press(Qt.Key.Key_N, CONTROL | SHIFT)
    assert started == [[sys.executable, "-P", "-m", "warploom", "edit"]]
    assert not person.window.statusBar().currentMessage()
    person.press(Qt.Key.Key_N, CONTROL | SHIFT)
    assert person.window.statusBar().currentMessage() == f"program must be startable, got {sys.executable}"


@pytest.mark.feature("swap")
def test_inputs_change_places(person: Person) -> None:
    """S swaps what feeds two inputs; Shift+D adds a copy that is fed alike; a menu resets its values."""
    mix = person.patch.add("image.mix", node_id="mix", position=(0, 300), amount=0.25)
    person.patch.connect(person.patch["noise"]["out"], mix["a"])
    person.patch.connect(person.patch["blur"]["out"], mix["b"])
    person.select("mix")
    person.press(Qt.Key.Key_S)
    assert {str(line) for line in person.patch.connections_of("mix")} == {"blur.out -> mix.a", "noise.out -> mix.b"}
    person.press(Qt.Key.Key_D, SHIFT)
    (copy,) = person.window.canvas.selected()
    assert {str(line) for line in person.patch.connections_of(copy)} == {
        f"blur.out -> {copy}.a",
        f"noise.out -> {copy}.b",
    }
    person.command("reset values")
    assert (person.patch.value(copy, "amount"), person.patch.value("mix", "amount")) == (0.5, 0.25)


@pytest.mark.feature("swap")
def test_inputs_of_several_blocks_change_places(person: Person) -> None:
    """That is one undo step; if one block has no two inputs, all stay as they are."""
    for number, name in enumerate(("first", "second")):
        mix = person.patch.add("image.mix", node_id=name, position=(240 * number, 300))
        person.patch.connect(person.patch["noise"]["out"], mix["a"])
    before = set(map(str, person.patch.connections))
    person.select("first", "second")
    person.press(Qt.Key.Key_S)
    assert {str(line) for line in person.patch.connections} == {line.replace(".a", ".b") for line in before}
    assert person.patch.undo() == "Swap inputs of 2 blocks"
    person.select("first", "noise", "second")
    person.press(Qt.Key.Key_S)
    assert set(map(str, person.patch.connections)) == before
