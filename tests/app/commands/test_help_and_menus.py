"""The window's block help, renaming, and canvas menus."""

from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from tests.app.app_support import EveryParameter, make_report
from warploom.api import Block, BlockBuilder, Out, f32, port
from warploom.app.commands.commands import CONTEXT_MENUS
from warploom.app.docks.help import Help
from warploom.app.view_models.block_help import help_html
from warploom.app.window.main_window import MainWindow


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


def test_help_names_every_port_and_parameter(qapp: QApplication) -> None:
    """Help is made from the declarations and names every port and parameter."""
    html = help_html(EveryParameter)
    assert "<h3>Every Parameter</h3>" in html
    assert "Has a parameter of every kind." in html
    for name in (*EveryParameter.ports, *EveryParameter.parameters):
        assert f"<b>{name}</b>" in html
    assert "0 to 10 dB. Default: 1 dB" in html
    assert "One of soft, hard" in html


def test_help_is_text_not_markup(qapp: QApplication) -> None:
    """An author's help is shown literally, and names in backticks are shown as code."""

    class Odd(Block, id="test_app.odd_help", category="Test"):
        """Is a<b & `c<d`."""

        out: Out[f32] = port(shape="[1]", doc="A number.")

        def describe(self, build: BlockBuilder) -> None:
            """Clear the output."""
            build.fill(self.out)

    assert "Is a&lt;b &amp; <code>c&lt;d</code>." in help_html(Odd)


def test_help_follows_the_ports_of_a_formula(opened: MainWindow, qtbot: QtBot) -> None:
    """When a formula reads other elements, the help of the selected block has its new ports."""
    patch = opened.session.patch
    assert patch is not None
    formula = patch.add("kernel.expression")
    opened.canvas.select([formula.id])
    page = opened.docks.widget(Help).page
    assert "float4" not in page.toPlainText().partition("Parameters")[0]
    patch.set(formula, reads="x: float4")
    qtbot.waitUntil(lambda: "float4, input" in page.toPlainText())


def test_f1_shows_the_help_of_the_selected_block(opened: MainWindow) -> None:
    """F1 opens the help dock, which is closed at first and then follows the selection."""
    assert opened.docks["help"].isHidden()
    opened.canvas.select(["screen"])
    opened.actions_by_id["block_help"].trigger()
    assert opened.docks["help"].isVisible()
    assert "Shows an image." in opened.docks.widget(Help).page.toPlainText()
    opened.canvas.select(["every"])
    assert "Has a parameter of every kind." in opened.docks.widget(Help).page.toPlainText()
    opened.canvas.select([])
    assert opened.docks.widget(Help).currentIndex() == 0


def test_rename_focuses_the_title_and_returns(opened: MainWindow, qtbot: QtBot) -> None:
    """F2 focuses the title, even if the inspector was closed, and Enter returns to the canvas."""
    opened.docks["inspector"].close()
    opened.canvas.select(["screen"])
    opened.actions_by_id["rename"].trigger()
    header = opened.inspector.header
    assert header is not None
    assert opened.focusWidget() is header.title
    assert header.title.selectedText() == "Screen"
    qtbot.keyClicks(header.title, "Big picture")
    qtbot.keyClick(header.title, Qt.Key.Key_Return)
    assert opened.session.patch is not None
    assert opened.session.patch.title("screen") == "Big picture"
    assert opened.focusWidget() is opened.canvas.focusProxy()


@pytest.mark.parametrize("kind", CONTEXT_MENUS)
def test_every_menu_of_the_canvas_opens_with_its_commands(opened: MainWindow, qtbot: QtBot, kind: str) -> None:
    """Each canvas menu lists the commands of its entry in CONTEXT_MENUS, in that order."""
    opened.canvas.menu_requested.emit(kind, opened.mapToGlobal(QPoint(50, 50)))
    menu = next(menu for menu in opened.findChildren(QMenu) if menu.isVisible() and menu.parent() is opened)
    names = [action.objectName() for action in menu.actions() if not action.isSeparator()]
    assert names == [name for name in CONTEXT_MENUS[kind] if name]
    menu.close()


def test_a_selected_connection_can_be_deleted_from_the_menu(opened: MainWindow) -> None:
    """A selected connection can be deleted from the menu."""
    patch = opened.session.patch
    assert patch is not None
    assert not opened.actions_by_id["delete"].isEnabled()
    (connection,) = patch.connections
    opened.canvas.scene.select_connection(connection)
    assert opened.actions_by_id["delete"].isEnabled()
    assert opened.actions_by_id["insert_block"].isEnabled()
    assert not opened.actions_by_id["rename"].isEnabled()
    opened.actions_by_id["delete"].trigger()
    assert not list(patch.connections)
    assert not opened.actions_by_id["delete"].isEnabled()


def test_compiling_can_be_cancelled_only_while_something_compiles(opened: MainWindow) -> None:
    """The command is there from a report that the engine compiles to one that it doesn't, or to another engine."""
    cancel = opened.actions_by_id["cancel_compiles"]
    assert not cancel.isEnabled()
    for _ in range(2):
        opened.bridge.report.emit(make_report(preparing=True))
        assert cancel.isEnabled()
        opened.bridge.report.emit(make_report(preparing=False))
        assert not cancel.isEnabled()
    opened.bridge.report.emit(make_report(preparing=True))
    opened.bridge.set_engine(None)
    assert not cancel.isEnabled()


def test_help_opens_a_runnable_example(opened: MainWindow, qtbot: QtBot) -> None:
    """The help of a block opens a shipped example with the block selected, or a patch that is made for the block."""
    patch = opened.session.patch
    patch.add("particles.forces", node_id="forces")
    patch.add("image.gradient", node_id="gradient")
    for node, name in (("forces", "particles.forces"), ("gradient", "image.gradient")):
        opened.session.replace(patch)
        opened.canvas.select([node])
        opened.actions_by_id["block_help"].trigger()
        qtbot.mouseClick(opened.docks.widget(Help).example, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: opened.session.patch is not patch)
        shown = opened.session.patch
        qtbot.waitUntil(
            lambda shown=shown, name=name: [shown.nodes[n].type for n in opened.canvas.selected()] == [name]
        )
        assert any(found.type == "io.viewer" for found in shown.nodes.values())
    assert not opened.session.is_modified


def test_no_two_entries_of_a_menu_have_the_same_letter(window: MainWindow) -> None:
    """An entry above keeps its letter; the others get another one, or none."""
    menus = window.actions_by_id.bar()
    while menus:
        actions = menus.pop().actions()
        letters = [text[text.index("&") + 1].lower() for action in actions if "&" in (text := action.text())]
        assert sorted(letters) == sorted(set(letters))
        menus += [menu for action in actions if isinstance(menu := action.menu(), QMenu)]
