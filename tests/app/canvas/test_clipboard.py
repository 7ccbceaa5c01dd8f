"""Copying, pasting and duplicating nodes."""

from PySide6.QtGui import QGuiApplication

from app.canvas.canvas import Canvas
from engine.patch.document import Patch


def test_copy_and_paste_select_the_copies(canvas: Canvas, patch: Patch) -> None:
    """Copied nodes go through the system's clipboard as text, and their pasted copies are selected."""
    canvas.select(["source", "scale"])
    canvas.edits.copy()
    assert '"schema": 1' in QGuiApplication.clipboard().text()
    canvas.edits.paste()
    assert set(canvas.selected()) == {"source_2", "scale_2"}
    assert len(patch.connections) == 2


def test_cut_removes_and_duplicate_adds(canvas: Canvas, patch: Patch) -> None:
    """Cut removes the selection, and duplicate adds a copy beside it."""
    canvas.select(["count"])
    canvas.edits.cut()
    assert "count" not in patch.nodes
    canvas.select(["scale"])
    canvas.edits.duplicate()
    assert canvas.selected() == ["scale_2"]
    assert patch.undo() == "Duplicate"


def test_pasting_prose_says_why_nothing_happens(canvas: Canvas) -> None:
    """Pasting prose shows a reason on the canvas and leaves the patch unchanged."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    QGuiApplication.clipboard().setText("a shopping list")
    canvas.edits.paste()
    assert len(said) == 1
    assert said[0].startswith("clipboard")
