"""Copying, pasting and duplicating nodes."""

from PySide6.QtGui import QGuiApplication

from app.canvas.canvas import Canvas
from engine.patch.document import Patch


def test_copy_and_paste_select_the_copies(canvas: Canvas, patch: Patch) -> None:
    """Copied nodes are text on the system's clipboard, and their pasted copies are connected and selected."""
    canvas.select(["source", "scale"])
    canvas.edits.copy()
    assert '"schema": 1' in QGuiApplication.clipboard().text()
    canvas.edits.paste()
    assert set(canvas.selected()) == {"source_2", "scale_2"}
    assert len(patch.connections) == 2


def test_cut_removes_and_duplicate_adds(canvas: Canvas, patch: Patch) -> None:
    """Cut removes the selection, and Duplicate adds a selected copy in one undo step."""
    canvas.select(["count"])
    canvas.edits.cut()
    assert "count" not in patch.nodes
    canvas.select(["scale"])
    canvas.edits.duplicate()
    assert canvas.selected() == ["scale_2"]
    assert patch.undo() == "Duplicate"


def test_pasting_prose_says_why_nothing_happens(canvas: Canvas) -> None:
    """Pasting prose is refused with a reason that names the clipboard."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    QGuiApplication.clipboard().setText("a shopping list")
    canvas.edits.paste()
    assert len(said) == 1
    assert said[0].startswith("clipboard")
