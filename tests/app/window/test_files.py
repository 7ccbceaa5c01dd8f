"""Opening, saving and closing files, and recovery after a crash."""

import json
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.app.conftest import Asked
from tests.app.window.window_support import engine_of, patch_of
from warploom.app.documents.recovery import RecoverySlot
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch


def test_opening_a_file_starts_its_engine(opened: MainWindow, file: Path) -> None:
    """Opening a file shows its patch on the canvas, starts its engine, and lists the file as recent."""
    assert engine_of(opened).patch is opened.session.patch
    assert opened.canvas.patch is opened.session.patch
    assert opened.canvas.isVisible()
    assert opened.inspector.isVisible()
    assert opened.state.existing_recent() == [file]


def test_the_title_names_the_file_and_marks_changes(qtbot: QtBot, opened: MainWindow) -> None:
    """The title marks unsaved changes, and undo removes the mark."""
    qtbot.waitUntil(lambda: opened.windowTitle() == "demo[*] – Warploom")
    assert not opened.isWindowModified()
    patch_of(opened).set("every", gain=2.0)
    qtbot.waitUntil(opened.isWindowModified)
    opened.actions_by_id["undo"].trigger()
    qtbot.waitUntil(lambda: not opened.isWindowModified())


def test_saving_and_reopening_gives_the_same_patch(opened: MainWindow, file: Path) -> None:
    """A saved and reopened patch is the same."""
    patch_of(opened).set("every", gain=2.5, mode="hard")
    opened.actions_by_id["save"].trigger()
    assert not opened.session.is_modified
    assert load_patch(file).value("every", "gain") == 2.5
    opened.files.open_path(file)
    assert patch_of(opened).value("every", "mode") == "hard"


def test_save_as_goes_on_with_the_new_file(opened: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """After Save As, the new file is the open one; the old one is unchanged, and relative paths are still found."""
    (tmp_path / "photo.png").write_bytes(b"")
    patch_of(opened).set("every", source="photo.png", gain=4.0)
    asked.path = tmp_path / "elsewhere" / "other.loom"
    asked.path.parent.mkdir()
    opened.actions_by_id["save_as"].trigger()
    assert opened.session.path == asked.path
    assert load_patch(file).value("every", "gain") == 1.0
    saved = load_patch(asked.path)
    assert saved.value("every", "gain") == 4.0
    assert saved.value("every", "source") == "../photo.png"


def test_collect_files_copies_them_beside_the_patch(opened: MainWindow, file: Path, tmp_path: Path) -> None:
    """File > Collect files copies what lies elsewhere, and saves the patch with paths to the copies."""
    elsewhere = tmp_path.parent / f"{tmp_path.name}_elsewhere" / "photo.png"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(b"photo")
    patch_of(opened).set("every", source=str(elsewhere))
    opened.actions_by_id["collect"].trigger()
    assert load_patch(file).value("every", "source") == "photo.png"
    assert file.with_name("photo.png").read_bytes() == b"photo"
    assert not opened.session.is_modified


def test_the_first_save_names_files_relative_to_the_patch(window: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """The first save makes paths of files in the patch's folder relative; other files keep their full path."""
    window.actions_by_id["new"].trigger()
    patch = patch_of(window)
    folder, outside = tmp_path / "project", tmp_path / "out.png"
    (folder / "media").mkdir(parents=True)
    inside = folder / "media" / "in.png"
    for node, file in (("a", inside), ("b", outside)):
        file.write_bytes(b"")
        patch.add("test_app.every_parameter", node_id=node, source=str(file))
    asked.path = folder / "missing" / "p.loom"
    window.actions_by_id["save"].trigger()
    assert patch.path is None
    assert patch.value("a", "source") == str(inside)
    asked.path = folder / "p.loom"
    window.actions_by_id["save"].trigger()
    saved = load_patch(asked.path)
    assert [saved.value(node, "source") for node in ("a", "b")] == ["media/in.png", str(outside)]
    assert patch.value("a", "source") == "media/in.png"
    assert not window.session.is_modified


def test_saving_an_example_asks_for_a_place(window: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """Saving an example asks for a place, since examples stay unchanged."""
    before = file.read_text()
    window.files.open_example(file)
    patch_of(window).set("every", gain=4.0)
    asked.path = tmp_path / "mine.loom"
    window.actions_by_id["save"].trigger()
    assert file.read_text() == before
    assert load_patch(asked.path).value("every", "gain") == 4.0
    asked.path = None
    patch_of(window).set("every", gain=5.0)
    window.actions_by_id["save"].trigger()
    assert load_patch(tmp_path / "mine.loom").value("every", "gain") == 5.0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "bad.loom can't be opened: "),
        (b"\xff\xfe\x00", "bad.loom can't be opened: "),
        (b'{"schema": 99}', "schema must be from 1 to 5, got 99"),
    ],
)
def test_a_bad_file_gives_one_message_and_the_patch_stays(
    opened: MainWindow, asked: Asked, tmp_path: Path, content: bytes, text: str
) -> None:
    """A bad file shows one message, and the open patch keeps running."""
    patch, engine = opened.session.patch, opened.session.engine
    bad = tmp_path / "bad.loom"
    bad.write_bytes(content)
    assert not opened.files.open_path(bad)
    assert len(asked.shown) == 1
    assert text in asked.shown[0]
    assert opened.session.patch is patch
    assert opened.session.engine is engine
    assert bad not in opened.state.existing_recent()


def test_a_file_that_can_not_be_written_keeps_the_changes(opened: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """A failed save shows a message and leaves the patch modified."""
    patch_of(opened).set("every", gain=2.0)
    asked.path = tmp_path / "missing" / "x.loom"
    opened.actions_by_id["save_as"].trigger()
    assert asked.shown[0].startswith("x.loom can't be saved: ")
    assert opened.session.is_modified


@pytest.mark.parametrize("answer", ["save", "discard", "cancel"])
def test_closing_asks_about_unsaved_changes(opened: MainWindow, asked: Asked, file: Path, answer: str) -> None:
    """On closing with unsaved changes, Save writes them, Discard drops them, and Cancel keeps the window open."""
    from warploom.app.documents.dialogs import UnsavedChoice

    patch_of(opened).set("every", gain=2.0)
    asked.about_changes = UnsavedChoice(answer)
    closed = opened.close()
    assert asked.shown == ["demo"]
    assert closed is (answer != "cancel")
    assert load_patch(file).value("every", "gain") == (2.0 if answer == "save" else 1.0)


def test_new_patch_is_empty_and_untitled(qtbot: QtBot, opened: MainWindow) -> None:
    """A new patch replaces the open one, whose engine ends."""
    old = engine_of(opened)
    opened.actions_by_id["new"].trigger()
    assert patch_of(opened).nodes == {}
    qtbot.waitUntil(lambda: opened.windowTitle() == "Untitled[*] – Warploom")
    assert old.closed.wait()
    assert engine_of(opened) is not old


def test_unsaved_work_is_copied_and_forgotten_when_saved(
    opened: MainWindow, file: Path, qtbot: QtBot, tmp_path: Path
) -> None:
    """Unsaved work is copied soon after an edit, until it is saved or undone; the file itself is not touched."""
    folder = tmp_path / "state" / "recovery"
    before = file.read_bytes()
    opened.files.autosave()
    assert list(folder.glob("*.json")) == []
    for end in (opened.session.undo, opened.files.save):
        patch_of(opened).set("every", gain=2.0)
        qtbot.waitUntil(lambda: len(list(folder.glob("*.json"))) == 1)
        assert file.read_bytes() == before
        end()
        qtbot.waitUntil(lambda: list(folder.glob("*.json")) == [])


@pytest.mark.feature("recovery")
def test_work_of_a_crashed_editor_is_offered(window: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """Recovered work opens as unsaved changes of its file, and is copied again at once."""
    patch = load_patch(file)
    patch.set("every", gain=9.0)
    slot = RecoverySlot(tmp_path / "state" / "recovery")
    slot.write(patch).result()
    slot._lock.unlock()  # the system does this for a crashed editor
    window.offer_recovery()
    slot.close()
    assert asked.shown == ["demo.loom"]
    assert patch_of(window).value("every", "gain") == 9.0
    assert window.session.path == file
    assert window.session.is_modified
    assert len(list((tmp_path / "state" / "recovery").glob("*.json"))) == 1
    window.files.save()
    assert not window.session.is_modified
    assert load_patch(file).value("every", "gain") == 9.0


def test_work_that_cannot_be_opened_is_offered_again(window: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """Recovered work that is not a patch is reported, and kept for the next start."""
    slot = RecoverySlot(tmp_path / "state" / "recovery")
    slot.write(Patch()).result()
    (copy,) = (tmp_path / "state" / "recovery").glob("*.json")
    copy.write_text(json.dumps(json.loads(copy.read_text()) | {"patch": "{"}))
    slot._lock.unlock()
    for count in (1, 2):
        window.offer_recovery()
        assert len(asked.shown) == count
        assert asked.shown[-1].startswith("The unsaved work can't be opened: ")
    assert copy.exists()
    assert window.session.path is None
    slot.close()


@pytest.mark.parametrize("is_saved", [True, False])
def test_work_is_deleted_once_it_is_saved_or_unwanted(
    window: MainWindow, file: Path, asked: Asked, tmp_path: Path, is_saved: bool
) -> None:
    """A crashed editor's copy is deleted at once if the file equals it, and otherwise when the person says so."""
    patch = load_patch(file)
    if not is_saved:
        patch.set("every", gain=9.0)
    slot, asked.recover = RecoverySlot(tmp_path / "state" / "recovery"), False
    slot.write(patch).result()
    slot._lock.unlock()
    window.offer_recovery()
    assert asked.shown == ([] if is_saved else ["demo.loom"])
    assert not list((tmp_path / "state" / "recovery").glob("*.json"))
    assert window.session.path is None
    slot.close()


@pytest.mark.parametrize("action", ["save", "save_as", "close"])
def test_what_is_typed_is_saved(
    qtbot: QtBot, opened: MainWindow, file: Path, asked: Asked, tmp_path: Path, action: str
) -> None:
    """Text that was typed without Enter is saved, and its field keeps the focus."""
    from warploom.app.documents.dialogs import UnsavedChoice

    asked.path, asked.about_changes = tmp_path / "other.loom", UnsavedChoice.SAVE
    opened.canvas.select(["every"])
    qtbot.waitUntil(lambda: opened.inspector.editor("gain") is not None)
    box = opened.inspector.editor("gain").box
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "2.5")
    assert patch_of(opened).value("every", "gain") == 1.0
    if action == "close":
        assert opened.close()
        assert asked.shown == ["demo"]
    else:
        opened.actions_by_id[action].trigger()
        assert opened.focusWidget() is box
    assert load_patch(asked.path if action == "save_as" else file).value("every", "gain") == 2.5


def test_examples_stay_as_they_came(window: MainWindow, asked: Asked, tmp_path: Path) -> None:
    """A patch made from an example is saved elsewhere, and no dialog starts in the examples' folder."""
    example = EXAMPLES_FOLDER / "formula.loom"
    before = example.read_bytes()
    assert window.files.open_path(example)
    assert window.files._folder() == Path.home()
    asked.path = example
    window.actions_by_id["save"].trigger()
    assert "can't be saved: Examples can't be changed" in asked.shown[-1]
    assert example.read_bytes() == before
    asked.path = tmp_path / "mine.loom"
    window.actions_by_id["save"].trigger()
    assert load_patch(asked.path).nodes.keys() == load_patch(example).nodes.keys()
