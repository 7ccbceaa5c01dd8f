"""A vector is one row of the inspector, with an editor for each component."""

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from warploom.api import Block, BlockBuilder, Out, f32, float3, param, port
from warploom.app.inspector.inspector import Inspector
from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.engine.patch.document import Patch


class Lit(Block, id="test_vector_row.lit", version=1):
    """Has a vector between two numbers."""

    out: Out[f32] = port(shape="[1]", doc="A number.")
    gain: float = param(1.0, min=0, max=2, doc="A factor.")
    light: float3 = param((0.0, 0.5, 1.0), min=-1, max=1, doc="Where the light is.")  # type: ignore[assignment]
    more: float = param(1.0, doc="Another number.")

    def describe(self, build: BlockBuilder) -> None:
        build.fill(self.out)


def test_components_stand_side_by_side(qtbot: QtBot) -> None:
    """Typing sets one component, a value drives another in the same row, and a button resets all in one undo step."""
    patch, inspector = Patch(), Inspector()
    qtbot.addWidget(inspector)
    inspector.resize(420, 500)
    inspector.show()
    node, value = patch.add(Lit.id), patch.add("value.slider")
    inspector.set_patch(patch)
    inspector.show_nodes([node.id])
    (vector,) = inspector.page.vectors
    assert (vector.label.toolTip(), [row.label.text() for row in vector.rows]) == ("Where the light is.", [*"xyz"])
    assert list(inspector.rows) == ["gain", "light_x", "light_y", "light_z", "more"]
    heights = {inspector.rows[f"light_{letter}"].mapTo(inspector, inspector.rect().topLeft()).y() for letter in "xyz"}
    assert len(heights) == 1 and not vector.reset.isVisible()
    assert not any(button.isVisible() for row in vector.rows for button in (row.reset, row.drive, row.constant))
    for letter, text in (("x", "0.25"), ("z", "-5")):
        editor = inspector.editor(f"light_{letter}")
        assert isinstance(editor, NumberEditor) and editor.slider is None
        editor.box.selectAll()
        qtbot.keyClicks(editor.box, text)
        qtbot.keyClick(editor.box, Qt.Key.Key_Return)
    patch.connect(value["value"], node["light_y"])
    assert inspector.rows["light_y"].is_driven and not inspector.rows["light_x"].is_driven
    assert [patch.value(node, f"light_{letter}") for letter in "xyz"] == [0.25, 0.5, -1]
    steps = len(patch.history.names)
    vector.reset.click()
    assert patch.nodes[node.id].parameters == {} and not vector.reset.isVisible()
    assert patch.history.names[steps:] == ["Reset light of Lit"]
    patch.undo()
    assert patch.value(node, "light_z") == -1 and vector.reset.isVisible()
