"""Changes of the open file by other programs are reported, and neither overwritten nor loaded without a question."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.app.conftest import Asked
from warploom.app.documents.dialogs import UnsavedChoice
from warploom.app.documents.outside_changes import look_outside
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, load_patch, save_patch


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A patch file with one block."""
    patch = Patch()
    patch.add("test_app.every_parameter", node_id="every")
    save_patch(patch, tmp_path / "demo.loom")
    return tmp_path / "demo.loom"


@pytest.fixture
def opened(window: MainWindow, file: Path) -> MainWindow:
    """A window in which that file is open."""
    assert window.files.open_path(file)
    look(window)
    return window


def look(window: MainWindow) -> None:
    """Check the file as the timer does, until it is no longer being written."""
    for _ in range(2):
        window.outside.look()


def edit_elsewhere(file: Path, gain: float = 7.0) -> None:
    patch = load_patch(file)
    patch.set("every", gain=gain)
    patch.add("test_app.picture", node_id="new")
    save_patch(patch, file)


def rewrite(file: Path) -> None:
    file.write_text(file.read_text() + "\n\n")


def delete(file: Path) -> None:
    file.unlink()


def damage(file: Path) -> None:
    file.write_text(file.read_text()[:-20])


def make_unreadable(file: Path) -> None:
    file.unlink()
    file.mkdir()


def press(window: MainWindow, text: str) -> None:
    next(button for button in window.file_banner.buttons if button.text() == text).click()
    look(window)


def text_of(window: MainWindow) -> str:
    assert window.session.patch is not None
    return dump_patch(window.session.patch)


def test_an_unchanged_file_makes_no_notice(file: Path) -> None:
    """Neither an unchanged file nor a patch without a file makes a notice.

    Files count as unchanged after they were read, written or accepted here.
    """
    patch = load_patch(file)
    assert look_outside(patch) is None
    patch.set("every", gain=3.0)
    save_patch(patch, file)
    assert look_outside(patch) is None
    assert look_outside(Patch()) is None
    for change in (edit_elsewhere, damage, delete):
        change(file)
        outside = look_outside(patch)
        assert outside is not None
        patch.file_digest = outside.digest
        assert look_outside(patch) is None


@pytest.mark.feature("outside")
def test_a_notice_says_what_differs_and_reload_can_be_undone(opened: MainWindow, qtbot: QtBot, file: Path) -> None:
    """The notice lists the differences; reloading is one edit, after which undo returns to the person's own edits."""
    opened.session.patch.set("every", label="mine")
    mine = text_of(opened)
    edit_elsewhere(file)
    qtbot.waitUntil(lambda: not opened.file_banner.isHidden())  # checked by the real timer
    assert opened.file_banner.notice.lines == (
        "added: new (Picture)",
        "changed: every (Every Parameter): gain default → 7, label mine → default",
    )
    press(opened, "Reload")
    assert opened.file_banner.isHidden()
    assert text_of(opened) == file.read_text()
    assert not opened.session.is_modified
    opened.session.undo()
    assert text_of(opened) == mine
    assert opened.session.is_modified


def test_own_saves_and_other_spacing_make_no_notice(opened: MainWindow, file: Path) -> None:
    """Own saves and changes of whitespace make no notice."""
    opened.session.patch.set("every", gain=2.0)
    opened.files.save()
    look(opened)
    assert opened.file_banner.isHidden()
    rewrite(file)
    look(opened)
    assert opened.file_banner.isHidden()
    assert not opened.session.is_modified


@pytest.mark.parametrize("change", [edit_elsewhere, damage, delete, make_unreadable])
def test_keeping_mine_keeps_it_as_unsaved_work(
    opened: MainWindow, file: Path, asked: Asked, change: Callable[[Path], Any]
) -> None:
    """Keeping the person's version leaves it unsaved, and saving it replaces the other program's version.

    A newer change makes another notice.
    """
    mine = text_of(opened)
    change(file)
    look(opened)
    assert not opened.file_banner.isHidden()
    assert opened.session.is_modified
    assert ("Reload" in [button.text() for button in opened.file_banner.buttons]) == (change is edit_elsewhere)
    press(opened, "Keep mine")
    assert opened.file_banner.isHidden()
    assert opened.session.is_modified
    assert text_of(opened) == mine
    if change is make_unreadable:
        return
    assert opened.files.save()
    assert asked.shown == []
    assert file.read_text() == mine
    edit_elsewhere(file, 8.0)
    look(opened)
    assert not opened.file_banner.isHidden()


def test_mine_can_be_saved_elsewhere(opened: MainWindow, file: Path, asked: Asked, tmp_path: Path) -> None:
    """The person's version can be saved to another file, and the other program's version stays."""
    edit_elsewhere(file)
    theirs, mine = file.read_text(), text_of(opened)
    look(opened)
    asked.path = tmp_path / "mine.loom"
    press(opened, "Save mine as …")
    assert opened.file_banner.isHidden()
    assert (file.read_text(), asked.path.read_text()) == (theirs, mine)


@pytest.mark.parametrize("answer", [UnsavedChoice.CANCEL, UnsavedChoice.SAVE, UnsavedChoice.SAVE_AS])
@pytest.mark.parametrize("change", [edit_elsewhere, damage])
def test_saving_over_another_programs_version_asks_first(
    opened: MainWindow, file: Path, asked: Asked, tmp_path: Path, answer: UnsavedChoice, change: Callable[[Path], Any]
) -> None:
    """Saving over another program's version asks first, even before the change was noticed."""
    change(file)
    theirs, mine = file.read_text(), text_of(opened)
    asked.overwrite, asked.path = answer, tmp_path / "mine.loom"
    assert opened.files.save() == (answer is not UnsavedChoice.CANCEL)
    assert len(asked.shown) == 1 and asked.shown[0].startswith("demo.loom was changed by another program")
    assert file.read_text() == (mine if answer is UnsavedChoice.SAVE else theirs)
    assert asked.path.exists() == (answer is UnsavedChoice.SAVE_AS)
