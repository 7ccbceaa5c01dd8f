"""Parameters by mouse and keys: numbers, reset, drives and expressions, several blocks, presets, groups."""

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QInputDialog, QLineEdit, QPlainTextEdit, QWidget

from tests.app.features.person import CONTROL, LEFT, SHIFT, Person
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.groups.functions import function_of
from warploom.engine.patch.organise.annotations import Preset

ALT = Qt.KeyboardModifier.AltModifier


@pytest.mark.feature("inspector", "reset")
def test_a_number_is_typed_explained_and_reset(person: Person) -> None:
    """A field takes arithmetic; its label has range, unit and help; the arrow brings the default back."""
    person.select("blur")
    row = person.parameter("sigma")
    assert "0 to" in row.label.toolTip() and "Default" in row.label.toolTip()
    person.set("sigma", "3*1.5")
    assert person.patch.value("blur", "sigma") == 4.5
    person.click(row.reset)
    assert "sigma" not in person.patch.nodes["blur"].parameters and not row.reset.isVisible()


@pytest.mark.feature("drive")
def test_an_expression_drives_a_parameter(person: Person) -> None:
    """The menu beside a parameter adds an expression, whose formula is typed; Disconnect brings the number back."""
    person.select("blur")
    person.menu(person.parameter("sigma").drive, "Drive with a new", "Value Expression")
    source = person.patch.source_of(PortRef("blur", "sigma"))
    assert source is not None and person.patch.nodes[source.node].type == "value.expression"
    person.select(source.node)
    person.set("text", "2 + sin(t)")
    assert person.patch.value(source.node, "text") == "2 + sin(t)"
    person.select("blur")
    person.menu(person.parameter("sigma").drive, "Disconnect")
    assert person.patch.source_of(PortRef("blur", "sigma")) is None
    assert person.patch.value("blur", "sigma") == 1.0


@pytest.mark.feature("several")
def test_several_blocks_are_set_at_once(person: Person) -> None:
    """Two blocks of one type are selected: a typed number is one step for both."""
    person.select("blur")
    person.press(Qt.Key.Key_D, CONTROL)
    (copy,) = person.window.canvas.selected()
    person.select("blur", copy)
    steps = len(person.patch.history.names)
    person.set("sigma", "7")
    assert [person.patch.value(node, "sigma") for node in ("blur", copy)] == [7, 7]
    assert len(person.patch.history.names) == steps + 1


@pytest.mark.feature("presets")
def test_a_preset_is_saved_and_used(person: Person) -> None:
    """The palette's "Save as preset" asks for a name; the preset sets another block of the type in one step."""
    person.select("blur")
    person.set("sigma", "9")
    person.command("save as preset")
    person.until(lambda: person.window.findChild(QInputDialog) is not None)
    person.until(lambda: person.window.findChild(QInputDialog).isActiveWindow())  # type: ignore[union-attr]
    person.type("Foggy")
    (preset,) = person.patch.annotations_of(Preset)
    assert preset.name == "Foggy" and preset.parameters["sigma"] == 9
    person.set("sigma", "2")
    person.command("foggy presets")
    assert person.patch.value("blur", "sigma") == 9


@pytest.mark.feature("promote", "groups", "breadcrumbs", "functions")
def test_a_group_gets_a_parameter_and_becomes_a_function(person: Person) -> None:
    """Ctrl+G, Enter, Promote, Escape: the group's row sets the block inside; Ctrl+Alt+D adds a linked copy."""
    person.select("noise", "blur")
    person.press(Qt.Key.Key_G, CONTROL)
    (group,) = person.window.canvas.selected()
    person.press(Qt.Key.Key_Return)
    crumb = person.window.kernel.breadcrumb
    assert crumb.isVisible() and "noise" in person.hand.scene.nodes and "viewer" not in person.hand.scene.nodes
    person.select("blur")
    person.menu(person.parameter("sigma").drive, "Promote to Group")
    person.click(crumb.places[0])
    assert person.window.canvas.selected() == [group] and "viewer" in person.hand.scene.nodes
    person.set("sigma", "6")
    assert person.patch.value("blur", "sigma") == 6
    person.press(Qt.Key.Key_D, CONTROL | ALT)
    (copy,) = person.window.canvas.selected()
    views = person.hand.scene.nodes
    assert not views[copy].place.intersects(views[group].place)
    assert copy != group and function_of(person.patch.nodes[copy]) == function_of(person.patch.nodes[group])
    person.command("make unique")
    assert function_of(person.patch.nodes[copy]) == ""
    person.press(Qt.Key.Key_G, CONTROL | SHIFT)
    assert copy not in person.patch.nodes


@pytest.mark.feature("regions")
def test_a_block_is_wrapped_in_a_loop(person: Person) -> None:
    """The palette's For puts the selected block into a box, and Take out brings it out again."""
    person.select("scale")
    person.command("wrap in for")
    (loop,) = person.window.canvas.selected()
    assert person.patch.nodes["scale"].region == loop and person.hand.scene.regions.rect_of(loop).isValid()
    person.select("scale")
    person.command("take out")
    assert not person.patch.nodes["scale"].region


class _Windows(QObject):
    """Notes widgets that are shown as windows of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(repr(watched))
        return False


def _press_into(window: MainWindow, field: QWidget) -> None:
    """Click a field as the system does: through the window, which finds the widget under the pointer."""
    QTest.mouseClick(window.windowHandle(), LEFT, pos=field.mapTo(window, field.rect().center()))


@pytest.mark.parametrize("formula", ["x * a + b + c", "x"])
def test_a_click_that_enters_a_formula_keeps_the_focus(person: Person, formula: str, qapp: QApplication) -> None:
    """After a formula with other sliders, a click into another field and Ctrl+A, what is typed goes into that field."""
    window, windows = person.window, _Windows()
    person.patch.add("kernel.expression", node_id="formula", position=(0, 200))
    person.select("formula")
    field = person.parameter("expression").editor.findChild(QPlainTextEdit)
    reads = person.parameter("reads").editor.findChild(QLineEdit)
    assert field is not None and reads is not None
    window.activateWindow()
    person.until(window.isActiveWindow)
    qapp.installEventFilter(windows)
    _press_into(window, field)
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_A, CONTROL)
    QTest.keyClicks(qapp.focusWidget(), formula)
    _press_into(window, reads)
    person.until(lambda: "gain" not in window.inspector.rows)
    assert not windows.shown  # a window for a moment would take the focus
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_A, CONTROL)
    assert window.canvas.selected() == ["formula"]
    QTest.keyClicks(qapp.focusWidget(), "x, y")
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Return)
    assert person.patch.value("formula", "expression") == formula
    assert person.patch.value("formula", "reads") == "x, y"
