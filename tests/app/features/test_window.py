"""The window by mouse and keys: help, first page, themes, keys, recent files, long work."""

import json
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton

from tests.app.app_support import move_pointer
from tests.app.features.person import CONTROL, LEFT, SHIFT, Person
from warploom.app.commands.shortcut_dialog import ShortcutDialog
from warploom.app.docks.help import Help
from warploom.app.theme.colours import category_tint, current
from warploom.app.welcome.example_card import ExampleCard
from warploom.app.widgets.number_box import NumberBox
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import load_patch


@pytest.mark.feature("block_help")
def test_f1_shows_help_and_shift_f1_an_example(person: Person) -> None:
    """The help names ports and parameters; the example is another patch, in which the block is selected."""
    person.select("blur")
    person.press(Qt.Key.Key_F1)
    page = person.window.docks.widget(Help).page
    assert page.isVisible() and "Gaussian Blur" in page.toPlainText()
    before = person.patch
    person.press(Qt.Key.Key_F1, SHIFT)
    person.until(lambda: person.window.session.patch is not before and person.window.canvas.selected())
    (node,) = person.window.canvas.selected()
    assert person.patch.nodes[node].type == "image.gaussian_blur"
    assert any(found.type == "io.viewer" for found in person.patch.nodes.values())


@pytest.mark.feature("recent", "media_paths")
def test_a_patch_moves_with_its_picture(person: Person, tmp_path: Path) -> None:
    """The saved path is relative to the patch, and File › Open recent has it."""
    folder = tmp_path / "project"
    folder.mkdir()
    picture = folder / "in.png"
    picture.write_bytes(b"")
    person.press(Qt.Key.Key_N, CONTROL)
    person.window.canvas.view.setFocus()
    person.press(Qt.Key.Key_Tab)
    person.search("load image")
    person.type("")
    (node,) = person.window.canvas.selected()
    person.set("file", str(picture))
    person.asked.path = folder / "p.loom"
    person.press(Qt.Key.Key_S, CONTROL)
    assert load_patch(folder / "p.loom").value(node, "file") == "in.png"
    moved = folder.rename(tmp_path / "elsewhere")
    person.asked.path = moved / "p.loom"
    person.press(Qt.Key.Key_O, CONTROL)
    assert person.patch.value(node, "file") == "in.png" and person.patch.folder == moved
    person.press(Qt.Key.Key_W, CONTROL)
    person.press(Qt.Key.Key_P, CONTROL | SHIFT)
    person.type("p.loom open recent")
    assert person.window.session.path == moved / "p.loom"


@pytest.mark.feature("migration")
def test_an_older_file_opens_and_what_is_unknown_stays(person: Person, file: Path, tmp_path: Path) -> None:
    """A file without what later versions added opens; a field of a later version is saved again."""
    document = json.loads(file.read_text())
    document = {name: document[name] for name in ("schema", "nodes", "connections")} | {"mood": "calm"}
    person.asked.path = tmp_path / "old.loom"
    person.asked.path.write_text(json.dumps(document))
    person.press(Qt.Key.Key_O, CONTROL)
    assert set(person.patch.nodes) == {"numbers", "scale", "noise", "blur", "viewer"}
    person.select("blur")
    person.press(Qt.Key.Key_Down)
    person.press(Qt.Key.Key_S, CONTROL)
    assert json.loads(person.asked.path.read_text())["mood"] == "calm"


@pytest.mark.feature("templates", "welcome")
def test_the_first_page_offers_examples_and_a_tour(person: Person) -> None:
    """Ctrl+W leads to the first page; a click on a card opens a copy; the tour says what to do first."""
    person.press(Qt.Key.Key_W, CONTROL)
    welcome = person.window.welcome
    assert welcome.isVisible()
    card = welcome.findChildren(ExampleCard)[0]
    QTest.mouseClick(card, LEFT)
    assert person.window.session.path is None or not person.window.isWindowModified()
    assert len(person.patch.nodes) > 2
    person.press(Qt.Key.Key_W, CONTROL)
    person.click(person.button(welcome, "Tour, 3 minutes"))
    assert "click" in person.window.tour._banner.text.lower()


@pytest.mark.feature("themes")
def test_the_theme_is_changed_by_a_command(person: Person) -> None:
    """Light makes the canvas light, and Dark makes it dark again."""

    def lightness() -> int:
        image = person.window.canvas.view.grab().toImage()
        return QColor(image.pixel(5, image.height() - 5)).lightness()

    assert lightness() < 60
    person.command("light theme")
    assert lightness() > 190
    person.command("dark theme")
    assert lightness() < 60


@pytest.mark.feature("ui_scale")
def test_the_size_of_the_editor_is_chosen(person: Person) -> None:
    """A command shows the editor in another size at once, and keeps it."""
    before = person.window.menuBar().font().pixelSize()
    person.command("150 %")
    assert person.window.menuBar().font().pixelSize() > 1.4 * before
    assert person.window.state.scale == 1.5 and "150%" in person.window.statusBar().currentMessage()
    person.command("100 %")
    assert person.window.state.scale == 1.0


@pytest.mark.feature("shortcuts")
def test_a_key_is_changed(person: Person) -> None:
    """Ctrl+/ lists the commands; a chosen one gets the typed key, which then runs it."""
    person.press(Qt.Key.Key_Slash, CONTROL)
    dialog = person.window.findChild(ShortcutDialog)
    assert dialog is not None
    person.until(dialog.isActiveWindow)
    QTest.keyClicks(dialog.filter, "select all")
    dialog.rows.setFocus()
    shown = next(item for item in dialog._items() if not item.isHidden())
    QTest.mouseClick(dialog.rows.viewport(), LEFT, pos=dialog.rows.visualItemRect(shown).center())
    dialog.typed.setFocus()
    QTest.keyClick(dialog.typed, Qt.Key.Key_F7)
    person.until(dialog.give.isEnabled)
    person.click(dialog.give)
    assert person.window.keys.user("F7") == "select_all"
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    person.press(Qt.Key.Key_F7)
    assert len(person.window.canvas.selected()) == 5
    person.window.keys.reset(["select_all"])


@pytest.mark.feature("progress")
def test_long_work_is_named_and_cancelled(person: Person) -> None:
    """Work of over a second is in the status bar with a Cancel button, which ends the wait."""
    may_end, cancelled = threading.Event(), list[bool]()
    person.window.beside.run("Reading a large file …", may_end.wait, lambda _: None, lambda: cancelled.append(True))
    status = person.window.statusBar()
    cancel = next(each for each in status.findChildren(QPushButton) if each.text() == "Cancel")
    person.until(cancel.isVisible)
    assert status.currentMessage() == "Reading a large file …"
    person.click(cancel)
    assert cancelled == [True] and not cancel.isVisible() and status.currentMessage() == ""
    may_end.set()


@pytest.mark.feature("keyboard")
def test_a_patch_is_made_without_the_mouse(person: Person) -> None:
    """Blocks are added, connected, set and looked at by keys alone, while the pointer rests on the canvas."""
    window = person.window
    move_pointer(person.hand.view.viewport(), person.hand.view.viewport().rect().center())
    person.press(Qt.Key.Key_Right, CONTROL)
    person.until(lambda: len(window.canvas.selected()) == 1)
    person.command("select all")
    person.press(Qt.Key.Key_Tab)
    person.search("checker")
    person.type("")
    (board,) = window.canvas.selected()
    person.press(Qt.Key.Key_L)
    person.type("out")
    person.type("blur")
    assert person.patch.source_of(PortRef("blur", "image")) == PortRef(board, "out")
    person.press(Qt.Key.Key_F6)
    reached = list[str]()
    for _ in range(40):
        focused = QApplication.focusWidget()
        assert focused is not None
        if isinstance(focused, NumberBox) and focused.accessibleName() == "width":
            break
        reached.append(f"{type(focused).__name__} {focused.accessibleName()}")
        inside = window.docks["inspector"].isAncestorOf(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab if inside else Qt.Key.Key_F6)
        QApplication.processEvents()  # the inspector's page is made in several turns
    else:
        raise AssertionError(reached)
    QTest.keyClicks(focused, "64")
    QTest.keyClick(focused, Qt.Key.Key_Return)
    assert person.patch.value(board, "width") == 64
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, SHIFT)
    for _ in range(9):
        if window.canvas.view.hasFocus():
            break
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, SHIFT)
    assert window.canvas.view.hasFocus()


@pytest.mark.feature("patch_picture")
def test_the_canvas_is_saved_as_a_picture(person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole patch, also what is out of view: the title bars have their colours, and the drawing has the titles."""
    tone = person.patch.add("image.tone", node_id="far", title="Far away", position=(4000, 0))
    for suffix in (".png", ".svg"):
        path = tmp_path / f"patch{suffix}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        person.command("picture of the patch")
    image, scene = QImage(str(tmp_path / "patch.png")), person.window.canvas.scene
    left = min(view.place.left() for view in scene.nodes.values())
    top = min(view.place.top() for view in scene.nodes.values())
    for node in ("noise", tone.id):
        corner, block_type = scene.nodes[node].place.topLeft(), person.patch.block_type(node)
        at = (corner - QPointF(left - 32, top - 32)) * 2 + QPointF(8, 10)
        assert block_type is not None
        assert image.pixelColor(at.toPoint()) == QColor(category_tint(block_type.category, current()))
    text = (tmp_path / "patch.svg").read_text()
    assert "Far away" in text and text.startswith("<?xml")


@pytest.mark.feature("patch_picture")
def test_a_picture_of_the_patch_holds_regions(person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The box of a region reaches above its blocks; around it is the canvas."""
    outer = person.patch.add("control.for", node_id="outer", position=(0, 900))
    inner = person.patch.add("control.for", node_id="inner", position=(300, 900), region=outer)
    person.patch.add("image.noise", node_id="deep", position=(600, 900), region=inner)
    path = tmp_path / "patch.png"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    person.until(lambda: person.window.canvas.scene.regions.views["outer"].layout)
    person.command("picture of the patch")
    image, canvas = QImage(str(path)), QColor(current().canvas)
    edge = [image.pixelColor(x, image.height() - 4) for x in range(0, image.width(), 16)]
    assert set(map(QColor.name, edge)) == {canvas.name()}


@pytest.mark.feature("recent")
def test_recent_files_are_forgotten_and_the_folder_is_shown(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch without a file has no folder; one that is saved has, and is in the list until that is cleared."""
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    person.window.session.patch.path = None  # type: ignore[union-attr]
    person.window.session.changed.emit()
    assert not person.window.actions_by_id["show_in_folder"].isEnabled()
    path = person.asked.path = tmp_path / "kept.loom"
    person.press(Qt.Key.Key_S, CONTROL | SHIFT)
    person.command("show in folder")
    assert opened == [QUrl.fromLocalFile(str(tmp_path))]
    assert path in person.window.state.existing_recent()
    person.command("clear this list")
    assert person.window.state.existing_recent() == []


@pytest.mark.feature("welcome", "bring_in")
def test_a_file_that_no_block_reads_begins_no_patch(person: Person, tmp_path: Path) -> None:
    """The first page stays, and the status bar has the reason; a picture begins a patch."""
    person.press(Qt.Key.Key_W, CONTROL)
    window = person.window
    for name in ("notes.md", "a.png"):
        assert window.welcome.isVisible()
        (tmp_path / name).write_bytes(b"")
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(tmp_path / name))])
        about = (data, LEFT, Qt.KeyboardModifier.NoModifier)
        window.welcome.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, *about))
        if name == "notes.md":
            assert window.statusBar().currentMessage() == "No block reads notes.md"
    person.until(lambda: [node.type for node in person.patch.nodes.values()] == ["io.load_image"])
