"""Arrangements of the docks fit windows of other sizes, can be named, and reset."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QInputDialog
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from tests.app.conftest import Asked
from warploom.app.docks.code.code_text import CodeText
from warploom.app.documents.editor_state import load_state
from warploom.app.theme.fonts import SMALL, widget_font
from warploom.app.window.main_window import MainWindow


def share(window: MainWindow) -> float:
    """Return the width of the inspector as a share of the window's."""
    return window.docks["inspector"].width() / window.width()


def at(path: Path, file: Path, width: int, height: int, qtbot: QtBot) -> MainWindow:
    """Return a window of a size, with the state at `path`, in which a patch is open."""
    window = MainWindow(FakeEngine, path)  # type: ignore[arg-type]  # replaces Engine
    window.resize(width, height)
    window.show()
    assert window.files.open_path(file)
    qtbot.wait(50)
    return window


@pytest.mark.parametrize(("before", "after"), [((720, 450), (1440, 900)), ((1440, 900), (720, 450))])
def test_an_arrangement_fits_a_window_of_another_size(
    before: tuple[int, int], after: tuple[int, int], tmp_path: Path, file: Path, qtbot: QtBot, asked: Asked
) -> None:
    """Docks have the same share of a window of another size, as on a screen of another scale."""
    first = at(tmp_path, file, *before, qtbot)
    first.docks.reveal("problems")
    first.docks["help"].show()
    qtbot.wait(20)
    shown = share(first), first.docks["problems"].isVisible()
    first.close()
    second = MainWindow(FakeEngine, tmp_path)  # type: ignore[arg-type]  # replaces Engine
    second.resize(*after)
    second.show()
    second.files.open_path(file)
    qtbot.waitUntil(lambda: abs(share(second) - shown[0]) < 0.06)
    assert second.docks["problems"].isVisible() is shown[1]
    assert second.docks["help"].isVisible()
    second.close()


def test_a_layout_is_kept_under_a_name_and_reset(opened: MainWindow, qtbot: QtBot) -> None:
    """A named layout comes back after others, also in the next window; the first layout is always there."""
    opened.resize(1200, 800)
    opened.docks.reveal("log")
    opened.docks["inspector"].close()
    qtbot.wait(20)
    opened.save_layout()
    dialog = opened.findChild(QInputDialog)
    assert dialog is not None
    dialog.setTextValue("Lists")
    dialog.accept()
    assert opened.layout_names() == ["Lists"]
    opened.use_layout("")
    qtbot.wait(20)
    assert opened.docks["inspector"].isVisible() and not opened.docks["log"].isVisible()
    viewer: Any = opened.viewers.docks["screen"]
    assert viewer.isVisible() and viewer.y() < opened.docks["inspector"].y()
    history, inspector = opened.docks["history"], opened.docks["inspector"]

    def is_behind() -> bool:
        opened.docks.reveal("history")
        return history in opened.tabifiedDockWidgets(inspector)

    qtbot.waitUntil(is_behind)
    opened.docks.reveal("inspector")
    opened.docks["history"].close()
    opened.use_layout("Lists")
    qtbot.wait(20)
    assert not opened.docks["inspector"].isVisible() and opened.docks["log"].isVisible()
    assert list(load_state(opened.folder).arrangements) == ["Lists"]
    opened.delete_layout("Lists")
    assert opened.layout_names() == []


def test_the_canvas_has_most_of_the_window(tmp_path: Path, file: Path, qtbot: QtBot) -> None:
    """With docks at their first places, it has 60 % of the width and 70 % of the height, also on a fine screen."""
    window = at(tmp_path, file, 1280, 720, qtbot)
    for scale in (1, 2):  # a fine screen of the same size has room for half as many units
        for width, height in ((1280, 720), (1440, 900), (1920, 1080)):
            window.resize(width // scale, height // scale)
            window.use_layout("")
            expected = 0.32 if width // scale >= 800 else 0.385  # a small window needs more for names of parameters
            qtbot.waitUntil(lambda expected=expected: abs(share(window) - expected) < 0.02)
            assert (window.width(), window.height()) == (width // scale, height // scale)
            assert window.canvas.width() >= 0.6 * window.width()
            assert window.canvas.height() >= 0.7 * window.height()
    window.close()


def test_another_size_is_shown_at_once(opened: MainWindow, qtbot: QtBot) -> None:
    """Texts, code, drawings and the canvas grow, docks keep their shares, and nothing remains after the way back."""
    opened.resize(1440, 900)
    qtbot.wait(20)

    def seen() -> list[float]:
        qtbot.wait(20)
        menus, buttons = opened.menuBar().font().pixelSize(), opened.docks["inspector"].font().pixelSize()
        code = opened.code.findChildren(CodeText)[0].font().pixelSize()
        return [menus, buttons, code, widget_font(SMALL).pixelSize(), opened.canvas.view.zoom]

    before, place = seen(), share(opened)
    opened.actions_by_id["scale_150"].trigger()
    assert seen() == pytest.approx([1.5 * size for size in before], rel=0.05)
    assert share(opened) == pytest.approx(place, abs=0.02)
    assert load_state(opened.folder).scale == 1.5
    opened.canvas.fit()
    assert opened.canvas.view.zoom <= 1.5
    opened.actions_by_id["scale_100"].trigger()
    assert seen()[:-1] == before[:-1]
    assert share(opened) == pytest.approx(place, abs=0.02)


def test_a_key_opens_and_closes_the_lists(opened: MainWindow) -> None:
    """The command opens the lists, and closes all of them."""
    opened.actions_by_id["lists"].trigger()
    QApplication.processEvents()
    assert opened.docks["problems"].isVisible()
    opened.actions_by_id["lists"].trigger()
    assert not opened.docks["problems"].isVisible()


def test_recent_files_are_kept_at_once(opened: MainWindow, file: Path) -> None:
    """A file is among the recent ones before the window is closed, since the editor may be killed."""
    assert load_state(opened.folder).existing_recent() == [file]
