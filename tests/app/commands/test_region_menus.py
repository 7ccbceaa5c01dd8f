"""The window's menus that move blocks into regions and out of them."""

from pathlib import Path

from PySide6.QtGui import QAction

from tests.app.app_support import EveryParameter
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch


def test_the_menus_offer_what_can_be_done(window: MainWindow, tmp_path: Path) -> None:
    """Wrap needs a selected block; the list of regions is filled when it opens, and a choice moves the blocks."""
    made_of = Patch()
    nodes = [made_of.add(EveryParameter.id).id for _ in range(2)]
    save_patch(made_of, tmp_path / "demo.loom")
    window.files.open_path(tmp_path / "demo.loom")
    patch, actions = window.session.patch, window.actions_by_id
    assert patch is not None
    assert not actions["wrap_in"].isEnabled()
    window.canvas.select(nodes[:1])
    assert actions["wrap_in"].isEnabled()
    assert not actions["take_out"].isEnabled()
    assert [action.text() for action in _listed(window)] == ["No other region or group here"]
    actions["wrap_if_else"].trigger()
    (made,) = window.canvas.selected()
    assert patch.members(made) == nodes[:1]
    window.canvas.select(nodes[1:2])
    entry = next(action for action in _listed(window) if action.text() == "If Else, else")
    entry.trigger()
    assert patch.nodes[nodes[1]].region == f"{made}.else"
    actions.menus["edit"].aboutToShow.emit()
    assert actions["take_out"].isEnabled()
    actions["take_out"].trigger()
    assert patch.nodes[nodes[1]].region == ""


def _listed(window: MainWindow) -> list[QAction]:
    """Return the entries of the regions menu."""
    menu = window.actions_by_id.menus["move_into"]
    menu.aboutToShow.emit()
    return menu.actions()
