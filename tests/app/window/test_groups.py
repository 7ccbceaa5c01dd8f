"""Groups by mouse and keys: made, opened, left, wired, dissolved; ports and parameters of the group."""

from collections.abc import Sequence
from typing import Any

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.app.app_support import make_report
from tests.app.canvas.canvas_support import Hand
from tests.app.window.window_support import engine_of, patch_of
from warploom.app.docks.problems import Problems
from warploom.app.edits.nodes import function_types
from warploom.app.inspector.group_ports import GroupPorts
from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.view_models.lists.problems import place_title
from warploom.app.view_models.looking.fitting import ports_of
from warploom.app.window.main_window import MainWindow
from warploom.engine.diagnostics import error
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import dump_patch
from warploom.engine.protocol.messages import BufferReport, NodeReport, NodeState

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(shared_window: Any) -> Any:
    """One window for all tests of this file."""
    return shared_window


@pytest.fixture
def editor(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """A window with a picture, scaled twice and shown; every step to the right of the one before."""
    window.resize(1200, 800)
    window.files.new()
    patch = patch_of(window)
    source = patch.add("buffer.constant", node_id="source")
    for number, node in enumerate(("first", "second", "third"), 1):
        made = patch.add("math.scale_offset", node_id=node, position=(number * 240, 0))
        patch.connect(source["out"], made["x"])
        source = made
    patch.history.mark_saved()
    window.canvas.fit()
    qtbot.wait(1)
    return window


def press(window: MainWindow, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key over the canvas."""
    QTest.keyClick(window.canvas.view, key, modifiers)


def grouped(window: MainWindow, qtbot: QtBot, nodes: Sequence[str] = ("first", "second")) -> str:
    """Group nodes by the keys, and return the group."""
    window.canvas.select(nodes)
    press(window, Qt.Key.Key_G, CONTROL)
    qtbot.wait(1)
    (group,) = window.canvas.selected()
    return group


@pytest.mark.feature("groups")
def test_grouped_and_back_by_keys(editor: MainWindow, qtbot: QtBot) -> None:
    """Ctrl+G puts the selection behind one block, Ctrl+Shift+G takes it out, and undo gives the first file."""
    first = dump_patch(patch_of(editor))
    assert grouped(editor, qtbot) == "group"
    assert set(editor.canvas.scene.nodes) == {"source", "group", "third"}
    assert {str(c) for c in editor.canvas.scene.connections} == {"source.out -> group.x", "group.out -> third.x"}
    press(editor, Qt.Key.Key_G, CONTROL | SHIFT)
    assert editor.canvas.selected() == ["first", "second"]
    assert dump_patch(patch_of(editor)) == first
    press(editor, Qt.Key.Key_Z, CONTROL)
    assert set(editor.canvas.scene.nodes) == {"source", "group", "third"}
    press(editor, Qt.Key.Key_Z, CONTROL)
    assert dump_patch(patch_of(editor)) == first


def test_a_group_covers_no_other_block(editor: MainWindow, qtbot: QtBot) -> None:
    """The group of blocks on both sides of another one stands beside that one, and undo is one step.

    Nor does it touch another one, or what is shown below one.
    """
    editor.canvas.edits.room_below = lambda _: 60.0
    first = dump_patch(patch_of(editor))
    group = grouped(editor, qtbot, ["first", "third"])
    places = {node: view.place for node, view in editor.canvas.scene.nodes.items()}
    whole = {node: place.adjusted(-4, -4, 4, 64) for node, place in places.items()}
    assert not any(whole[group].intersects(place) for node, place in whole.items() if node != group)
    press(editor, Qt.Key.Key_Z, CONTROL)
    assert dump_patch(patch_of(editor)) == first


@pytest.mark.feature("groups", "breadcrumbs")
def test_opened_by_a_double_click_and_left_by_escape(editor: MainWindow, qtbot: QtBot) -> None:
    """Inside, the canvas shows the blocks between the group's ends; the breadcrumb names the way and leads back."""
    grouped(editor, qtbot)
    inner = grouped(editor, qtbot, ["group", "third"])
    patch_of(editor).rename(inner, "Outer")
    hand, crumb = Hand(editor.canvas), editor.kernel.breadcrumb
    assert not crumb.isVisible()
    hand.double_click(hand.title(inner))
    qtbot.wait(1)
    assert set(editor.canvas.scene.nodes) == {"group", "third", "inputs_2", "outputs_2"}
    hand.double_click(hand.title("group"))
    qtbot.wait(1)
    assert set(editor.canvas.scene.nodes) == {"first", "second", "inputs", "outputs"}
    assert ([place.text() for place in crumb.places], crumb.kernel.text()) == (["Untitled", "Outer"], "Group")
    press(editor, Qt.Key.Key_Escape)
    assert (editor.kernel.level, editor.canvas.selected()) == (inner, ["group"])
    press(editor, Qt.Key.Key_Return)
    assert editor.kernel.level == "group"
    crumb.places[0].click()
    assert (editor.kernel.level, editor.canvas.selected()) == ("", [inner])
    assert not crumb.isVisible()


def test_blocks_are_wired_added_and_pasted_inside(editor: MainWindow, qtbot: QtBot) -> None:
    """What is added to an open group is in it; the port + of an end makes a port of the group."""
    group, patch = grouped(editor, qtbot), patch_of(editor)
    press(editor, Qt.Key.Key_Return)
    qtbot.wait(1)
    hand = Hand(editor.canvas)
    hand.drag(hand.port("first", "out", is_input=False), hand.port("outputs", "+", is_input=True))
    assert [str(c) for c in patch.connections if c.target.node == "outputs"] == [
        "second.out -> outputs.out",
        "first.out -> outputs.out_2",
    ]
    press(editor, Qt.Key.Key_Tab)
    QTest.keyClicks(editor.canvas.search.popup.field, "scale offset")
    QTest.keyClick(editor.canvas.search.popup.field, Qt.Key.Key_Return)
    (added,) = editor.canvas.selected()
    assert patch.group_of(added) == group
    press(editor, Qt.Key.Key_C, CONTROL)
    press(editor, Qt.Key.Key_V, CONTROL)
    (pasted,) = editor.canvas.selected()
    assert pasted != added and patch.group_of(pasted) == group
    press(editor, Qt.Key.Key_A, CONTROL)
    press(editor, Qt.Key.Key_Delete)
    assert set(editor.canvas.scene.nodes) == {"inputs", "outputs"}
    press(editor, Qt.Key.Key_Escape)
    assert [str(c) for c in patch.connections_of(group)] == ["source.out -> group.x", "group.out -> third.x"]


def test_undo_leaves_a_group_that_is_gone(editor: MainWindow, qtbot: QtBot) -> None:
    grouped(editor, qtbot)
    press(editor, Qt.Key.Key_Return)
    press(editor, Qt.Key.Key_Z, CONTROL)
    assert editor.kernel.level == ""
    assert set(editor.canvas.scene.nodes) == {"source", "first", "second", "third"}
    assert not editor.kernel.breadcrumb.isVisible()


def test_a_parameter_is_promoted_from_its_menu(editor: MainWindow, qtbot: QtBot) -> None:
    """It gets a row of the group, which sets the block inside, where it can be set too."""
    group, patch = grouped(editor, qtbot), patch_of(editor)
    press(editor, Qt.Key.Key_Return)
    editor.canvas.select(["first"])
    inspector = editor.docks.widget(Inspector)
    row = inspector.rows["scale"]
    row.menu.aboutToShow.emit()
    next(action for action in row.menu.actions() if action.text() == "Promote to Group").trigger()
    assert not inspector.rows["scale"].is_driven
    assert "scale" in editor.canvas.scene.nodes["first"].model.inputs[1].name
    press(editor, Qt.Key.Key_Escape)
    assert editor.canvas.selected() == [group]
    inspector.rows["scale"].editor.edited.emit(3.0)
    assert patch.value("first", "scale") == 3.0
    patch.set("first", scale=4.0)
    shown = inspector.rows["scale"].editor
    assert isinstance(shown, NumberEditor) and shown.box.value() == 4.0
    names = inspector.page.findChild(GroupPorts)
    assert names is not None and list(names.names) == ["x", "scale", "out"]
    names.names["scale"].selectAll()
    QTest.keyClicks(names.names["scale"], "how much")
    QTest.keyClick(names.names["scale"], Qt.Key.Key_Return)
    assert "how_much" in inspector.rows


def test_errors_inside_show_outside(editor: MainWindow, qtbot: QtBot) -> None:
    """A group has the worst state and the summed time of its blocks; a problem in the list leads inside."""
    group, patch = grouped(editor, qtbot), patch_of(editor)
    nodes = {
        "first": NodeReport("math.scale_offset", NodeState.ERROR, "must not", 1_000_000),
        "second": NodeReport("math.scale_offset", NodeState.OK, "", 2_000_000),
    }
    buffers = {"second.out": BufferReport("f32", (4,), 16, 16)}
    found = (error("must not", node="first"),)
    engine_of(editor).reports.append(make_report(nodes=nodes, buffers=buffers, diagnostics=found))
    view = editor.canvas.scene.nodes[group]
    qtbot.waitUntil(lambda: view.appearance.state is NodeState.ERROR)
    qtbot.waitUntil(lambda: view.appearance.badge == "3.00 ms")
    assert ports_of(patch, [group], []) == [PortRef("second", "out")]  # a viewer looks at what the engine knows
    assert place_title(patch, "first") == "Group › Scale Offset"
    problems = editor.docks.widget(Problems)
    problems.node_activated.emit("first")
    assert (editor.kernel.level, editor.canvas.selected()) == (group, ["first"])
    assert editor.canvas.scene.nodes["first"].appearance.state is NodeState.ERROR


def test_a_value_drives_a_parameter_of_a_group(editor: MainWindow, qtbot: QtBot) -> None:
    """A value that is dragged over a group offers the group's parameters."""
    group, patch = grouped(editor, qtbot), patch_of(editor)
    patch.promote(PortRef("first", "scale"), "gain")
    patch.add("value.time", node_id="time", position=(0, 200))
    qtbot.wait(1)
    editor.canvas.fit()
    hand = Hand(editor.canvas)
    hand.drag(hand.port("time", "seconds", is_input=False), hand.title(group), release=False)
    tray = editor.canvas.view.tray_area()
    assert tray is not None
    QTest.mouseMove(editor.canvas.view.viewport(), tray.center())
    hand.release(editor.canvas.view.mapToScene(tray.center()))
    assert [str(c) for c in patch.connections_of("time")] == ["time.seconds -> group.gain"]
    assert ("gain", True) in editor.canvas.scene.nodes[group].ports
    assert patch.without_groups().source_of(PortRef("first", "scale")) == PortRef("time", "seconds")


def test_functions_by_keys_and_menus(editor: MainWindow, qtbot: QtBot) -> None:
    """A linked copy follows edits inside the other, until it is made unique; Add places another one."""
    group, patch, actions = grouped(editor, qtbot), patch_of(editor), editor.actions_by_id
    first = dump_patch(patch)
    press(editor, Qt.Key.Key_D, CONTROL | Qt.KeyboardModifier.AltModifier)
    (copy,) = editor.canvas.selected()
    assert copy != group and patch.title(copy) == patch.title(group) == "Group"
    press(editor, Qt.Key.Key_Return)
    twin = next(n for n in editor.canvas.scene.nodes if patch.nodes[n].key == "first")
    patch.set(twin, offset=3.0)
    assert patch.value("first", "offset") == 3.0
    press(editor, Qt.Key.Key_Escape)
    actions["make_unique"].trigger()
    patch.set("first", offset=4.0)
    assert patch.value(twin, "offset") == 3.0
    editor.canvas.edits.add_instance(editor.canvas.edits.functions()[0])
    (added,) = editor.canvas.selected()
    assert patch.value(added, "function") == "Group"
    while patch.history.undo_name != "Group 2 nodes":
        press(editor, Qt.Key.Key_Z, CONTROL)
    assert dump_patch(patch) == first


def test_a_function_is_placed_by_tab_and_found_by_ctrl_f(editor: MainWindow, qtbot: QtBot) -> None:
    """Tab offers the patch's functions, except inside themselves; Ctrl+F goes into groups and keeps the field."""
    group, patch, canvas = grouped(editor, qtbot), patch_of(editor), editor.canvas
    patch.rename(group, "Tone curve")
    editor.actions_by_id["make_function"].trigger()
    first = dump_patch(patch)
    canvas.select([])
    press(editor, Qt.Key.Key_Tab)
    QTest.keyClicks(canvas.search.popup.field, "tone c")
    QTest.keyClick(canvas.search.popup.field, Qt.Key.Key_Return)
    (added,) = canvas.selected()
    assert added != group and patch.value(added, "function") == "Tone curve"
    assert canvas.search.recent[-1:] != ["patch.group"]
    patch.set(next(n for n in patch.within(added) if patch.nodes[n].key == "first"), offset=5.0)
    assert patch.value("first", "offset") == 5.0
    press(editor, Qt.Key.Key_F, CONTROL)
    field = canvas.finding.field
    QTest.keyClicks(field, "offset 5")
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert editor.kernel.level in (group, added) and canvas.finding.isVisible() and canvas.selected()
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert not function_types(patch, editor.kernel.level)
    while dump_patch(patch) != first:
        assert patch.undo()


def test_find_goes_into_the_patch_inside_a_block(editor: MainWindow, qtbot: QtBot) -> None:
    """A part is found from outside by its name or value, and shown selected in its block."""
    patch, canvas = patch_of(editor), editor.canvas
    patch.add("kernel.graph", node_id="kernel")
    press(editor, Qt.Key.Key_F, CONTROL)
    field = canvas.finding.field
    QTest.keyClicks(field, "amount op.parameter")
    QTest.keyClick(field, Qt.Key.Key_Down)
    assert editor.kernel.node == "kernel" and canvas.selected() == ["amount"] and canvas.finding.isVisible()
    QTest.keyClick(field, Qt.Key.Key_Return)


def test_a_group_is_dragged_and_moved_into_by_the_menu(editor: MainWindow, qtbot: QtBot) -> None:
    """A drag of a group moves only its node; Move into offers the groups of the level."""
    group, patch = grouped(editor, qtbot), patch_of(editor)
    hand, before = Hand(editor.canvas), patch.nodes["first"].position
    start = patch.nodes[group].position
    hand.drag(hand.title(group), hand.title(group) + QPointF(0, 80))
    assert patch.nodes[group].position != start
    assert patch.nodes["first"].position == before
    editor.canvas.select(["third"])
    assert editor.canvas.edits.scopes_to_enter() == {group: "Group"}
    editor.canvas.edits.move_into(group)
    assert set(editor.canvas.scene.nodes) == {"source", "group"}
    press(editor, Qt.Key.Key_Z, CONTROL)
    assert set(editor.canvas.scene.nodes) == {"source", "group", "third"}
