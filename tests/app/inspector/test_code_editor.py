"""Code in the inspector is entered by Ctrl+Enter or by leaving the field."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from warploom.app.inspector.code_editor import CodeEditor
from warploom.app.inspector.inspector import Inspector
from warploom.app.theme.apply import apply_theme
from warploom.engine.patch.document import Patch


@pytest.fixture
def patch() -> Patch:
    """A patch with an expression block."""
    patch = Patch()
    patch.add("kernel.expression", node_id="formula", expression="x * gain")
    return patch


@pytest.fixture
def inspector(qtbot: QtBot, qapp: QApplication, patch: Patch) -> Iterator[Inspector]:
    """An inspector that shows the expression."""
    apply_theme(qapp, "dark")
    inspector = Inspector()
    qtbot.addWidget(inspector)
    inspector.set_patch(patch)
    inspector.show_nodes(["formula"])
    inspector.resize(400, 600)
    inspector.show()
    yield inspector
    inspector.set_patch(None)


def _field(inspector: Inspector) -> CodeEditor:
    editor = inspector.rows["expression"].editor
    assert isinstance(editor, CodeEditor)
    return editor


def test_control_and_enter_runs_what_was_typed(inspector: Inspector, patch: Patch) -> None:
    """Ctrl+Enter enters the code and updates its sliders in one undo step; Enter alone starts a new line."""
    assert "gain" in inspector.rows
    field = _field(inspector).text
    field.selectAll()
    QTest.keyClicks(field, "y = x + 1")
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClicks(field, "y * amp")
    assert patch.value("formula", "expression") == "x * gain"
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert patch.value("formula", "expression") == "y = x + 1\ny * amp"
    assert "amp" in inspector.rows and "gain" not in inspector.rows
    patch.undo()
    assert _field(inspector).text.toPlainText() == "x * gain"
    assert "gain" in inspector.rows


def test_leaving_the_field_enters_what_was_typed(inspector: Inspector, patch: Patch) -> None:
    """Leaving the field, for example by selecting another block, enters the code."""
    field = _field(inspector).text
    field.setFocus()
    QTest.keyClicks(field, "2 * ")
    inspector.show_nodes([])
    assert patch.value("formula", "expression") == "2 * x * gain"


def test_escape_forgets_what_was_typed(inspector: Inspector, patch: Patch) -> None:
    """Escape restores the patch's formula and releases the focus, so nothing is entered."""
    field, edits = _field(inspector).text, len(patch.history.names)
    field.setFocus()
    QTest.keyClicks(field, "2 * ")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.toPlainText() == "x * gain"
    assert not field.hasFocus()
    inspector.show_nodes([])
    assert len(patch.history.names) == edits


def test_a_wrong_formula_stays_in_the_field(inspector: Inspector, patch: Patch) -> None:
    """A wrong formula stays in the field, with the sliders of the last valid one."""
    field = _field(inspector).text
    field.selectAll()
    QTest.keyClicks(field, "x * (gain")
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert _field(inspector).text.toPlainText() == "x * (gain"
    assert "gain" in inspector.rows


def test_the_field_grows_with_its_text(inspector: Inspector) -> None:
    """The field grows to show ten lines of code."""
    field = _field(inspector).text
    before = field.height()
    field.setPlainText("\n".join("x" * 10))
    assert field.height() > 3 * before
