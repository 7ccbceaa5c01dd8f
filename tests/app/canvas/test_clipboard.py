"""Copying, pasting and duplicating."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.canvas.canvas import Canvas
from engine.patch.document import Patch
from tests.app.canvas.canvas_support import Hand


def test_copy_and_paste_by_keyboard_select_the_copies(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Ctrl+C and Ctrl+V work through the system's clipboard, as text."""
    canvas.select(["source", "scale"])
    hand.press(Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert '"schema": 1' in QGuiApplication.clipboard().text()
    hand.press(Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert set(canvas.selected()) == {"source_2", "scale_2"}
    assert len(patch.connections) == 2


def test_cut_removes_and_duplicate_adds(canvas: Canvas, hand: Hand, patch: Patch) -> None:
    """Ctrl+X removes the selection; Ctrl+D adds a copy beside it."""
    canvas.select(["count"])
    hand.press(Qt.Key.Key_X, Qt.KeyboardModifier.ControlModifier)
    assert "count" not in patch.nodes
    canvas.select(["scale"])
    hand.press(Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert canvas.selected() == ["scale_2"]
    assert patch.undo() == "Duplicate"


def test_pasting_prose_says_why_nothing_happens(canvas: Canvas) -> None:
    """The canvas shows why, and the patch does not change."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    QGuiApplication.clipboard().setText("a shopping list")
    canvas.edits.paste()
    assert len(said) == 1
    assert said[0].startswith("clipboard")
