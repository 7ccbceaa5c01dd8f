"""A person finds blocks, jumps through bookmarks and the history, and keeps presets."""

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QMenu
from pytestqt.qtbot import QtBot

from warploom.app.commands.menus import organise
from warploom.app.docks.organise.history import EditList
from warploom.app.docks.organise.overview import Overview
from warploom.app.view_models.lists.find import find
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch
from warploom.engine.patch.organise.annotations import Bookmark, Frame, Preset


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def press(window: Any, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key over the canvas."""
    window.canvas.setFocus()
    QTest.keyClick(window.canvas.view, key, modifiers)


def test_find_goes_through_what_matches(opened: Any) -> None:
    """Ctrl+F finds by title, type, value and frame; Enter stays at the block."""
    patch: Patch = opened.session.patch
    patch.set("every", label="velvet")
    patch.annotate(Frame(id="f", title="Sky", comment="velvet too"))
    assert [hit.id for hit in find(patch, "velvet")] == ["every", "f"]
    assert [hit.id for hit in find(patch, "test_app.scr")] == ["screen"]
    assert not find(patch, "nothing like that")
    opened.actions_by_id["find"].trigger()
    field = opened.canvas.finding.field
    QTest.keyClicks(field, "velvet")
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert opened.canvas.selected() == ["every"]
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert opened.canvas.scene.frames.selected() == ["f"]
    canvas, bar = opened.canvas, opened.canvas.finding
    below = canvas.view.mapToScene(canvas.view.viewport().mapFrom(canvas, bar.geometry().center()))
    patch.move("every", below.toTuple())
    QTest.keyClick(field, Qt.Key.Key_Up)
    seen = canvas.view.mapFromScene(canvas.scene.nodes["every"].place).boundingRect()
    assert not seen.translated(canvas.view.viewport().mapTo(canvas, QPoint())).intersects(bar.geometry())
    assert seen.intersects(canvas.view.viewport().rect())
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert not opened.canvas.finding.isVisible()
    assert opened.canvas.selected() == ["every"]


def test_bookmarks_are_set_and_return_to_their_part_and_group(opened: Any) -> None:
    """They are in the patch, one undo step each; a bookmark that is not set says how to set it."""
    patch: Patch = opened.session.patch
    before, view = dump_patch(patch), opened.canvas.view
    view.set_zoom(0.5)
    view.centerOn(QPointF(100, 50))
    opened.actions_by_id["set_bookmark_2"].trigger()
    (mark,) = patch.annotations_of(Bookmark)
    assert (mark.number, mark.zoom) == (2, 0.5)
    view.set_zoom(1.0)
    view.centerOn(QPointF(2000, 2000))
    opened.actions_by_id["bookmark_2"].trigger()
    middle = view.mapToScene(view.viewport().rect().center())
    assert view.zoom == 0.5
    assert (middle - QPointF(*mark.centre)).manhattanLength() < 8
    notes: list[str] = []
    opened.kernel.refused.connect(notes.append)
    opened.actions_by_id["bookmark_3"].trigger()
    assert notes == ["Bookmark 3 is not set; Ctrl+3 sets it"]
    group = patch.group(["picture"])
    opened.kernel.show_level(group.id)
    opened.kernel.set_bookmark(4)
    opened.kernel.show_level("")
    opened.kernel.go_to_bookmark(4)
    assert opened.kernel.level == group.id
    while dump_patch(patch) != before:
        assert patch.undo()


@pytest.mark.feature("map")
def test_the_overview_lists_and_renames_bookmarks_and_moves_the_view(opened: Any, qtbot: QtBot) -> None:
    """A click on the map brings that part into view."""
    overview = opened.reveal(Overview)
    opened.kernel.set_bookmark(1)
    qtbot.waitUntil(lambda: overview.list.count() == 1)
    overview.list.item(0).setText("Start")
    assert opened.session.patch.annotations_of(Bookmark)[0].title == "Start"
    opened.canvas.view.centerOn(QPointF(5000, 5000))
    QTest.mouseClick(overview.map, Qt.MouseButton.LeftButton, pos=overview.map.rect().center())
    middle = opened.canvas.view.mapToScene(opened.canvas.view.viewport().rect().center())
    assert middle.manhattanLength() < 4000


def test_the_history_lists_edits_and_jumps(opened: Any, qtbot: QtBot) -> None:
    """A click on a row undoes or redoes up to it; redone edits come back."""
    patch: Patch = opened.session.patch
    first = dump_patch(patch)
    history = opened.reveal(EditList)
    for gain in (2.0, 3.0, 4.0):
        patch.set("every", gain=gain)
        patch.rename("every", f"Gain {gain}")
    last = dump_patch(patch)
    qtbot.waitUntil(lambda: history.list.count() == 7)
    history.list.itemClicked.emit(history.list.item(0))
    assert dump_patch(patch) == first
    qtbot.waitUntil(lambda: history.list.currentRow() == 0)
    assert history.list.count() == 7
    history.list.itemClicked.emit(history.list.item(6))
    assert dump_patch(patch) == last


def named(menu: QMenu, title: str) -> Any:
    """Return an action of a menu by its title."""
    return next(action for action in menu.actions() if action.text().replace("&", "") == title)


def answer(window: Any, text: str) -> None:
    """Answer the question for a name."""
    dialog = window.canvas.findChild(QInputDialog)
    dialog.setTextValue(text)
    dialog.accept()
    dialog.deleteLater()


def test_presets_are_saved_applied_renamed_and_deleted(opened: Any, qtbot: QtBot) -> None:
    """A preset sets all parameters of blocks of its type, in one undo step, and is in the file."""
    patch: Patch = opened.session.patch
    patch.set("every", gain=4.0, label="loud")
    opened.canvas.select(["every"])
    menu: QMenu = opened.menu("presets")
    menu.aboutToShow.emit()
    named(menu, "Save as preset …").trigger()
    answer(opened, "Loud")
    (preset,) = patch.annotations_of(Preset)
    assert preset.parameters == {"gain": 4.0, "label": "loud"}
    patch.reset("every", "gain")
    patch.set("every", label="soft", count=9)
    steps = len(patch.history.names)
    menu.aboutToShow.emit()
    named(menu, "Loud").trigger()
    assert patch.nodes["every"].parameters == {"gain": 4.0, "label": "loud"}
    assert len(patch.history.names) == steps + 1
    opened.canvas.organise.rename_preset(preset, "Very loud")
    assert [each.name for each in patch.annotations_of(Preset)] == ["Very loud"]
    menu.aboutToShow.emit()
    inner = [each for each in menu.findChildren(QMenu) if each.title() == "&Delete"][-1]
    named(inner, "Very loud").trigger()
    assert not patch.annotations_of(Preset)


def test_saving_a_preset_again_says_that_the_old_one_is_replaced(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person learns of it, and undo brings the old values back."""
    patch, notes = opened.canvas.patch, list[str]()
    monkeypatch.setattr(opened, "note", notes.append)
    for gain, said in ((2.0, "is kept for blocks"), (3.0, "Undo brings the old one back")):
        patch.set("every", gain=gain)
        organise._save(opened, "every", " Loud ")
        assert said in notes[-1]
    assert [preset.parameters["gain"] for preset in patch.annotations_of(Preset)] == [3.0]
    patch.undo()
    assert [preset.parameters["gain"] for preset in patch.annotations_of(Preset)] == [2.0]


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_a_wrong_name_of_a_preset_is_refused(opened: Any, name: str) -> None:
    """The message states the rule."""
    refused: list[str] = []
    opened.canvas.organise.refused.connect(refused.append)
    opened.canvas.organise.save_preset("every", name)
    assert "name of a preset must be a text of 1 to 200 characters" in refused[0]
