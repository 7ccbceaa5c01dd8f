"""Copying, pasting and duplicating nodes."""

import json
import random

import pytest
from PySide6.QtGui import QClipboard, QGuiApplication

from tests.fuzzing import seeds
from tests.patch.test_any_arguments import mutated
from warploom.app.canvas.canvas import Canvas
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, dump_patch


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


def test_pasting_without_anything_says_so(canvas: Canvas, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clipboard that nothing was copied to, for which Qt returns no data, is refused as empty text is."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    QGuiApplication.clipboard().clear()
    canvas.paste()
    monkeypatch.setattr(QClipboard, "mimeData", lambda _: None)
    canvas.paste()
    assert len(said) == 2
    assert said[0] == said[1]


@pytest.mark.parametrize("seed", seeds(2))
def test_any_text_is_pasted_in_one_step_or_refused_in_one_message(canvas: Canvas, patch: Patch, seed: int) -> None:
    """A mutated patch on the clipboard is pasted and drawn, and undone in one step, or refused in one message."""
    chance, said = random.Random(seed), list[str]()
    canvas.refused.connect(said.append)
    examples = [path.read_text() for path in sorted(EXAMPLES_FOLDER.glob("*.loom"))]
    examples = [text for text in examples if "kernel.cuda" not in text]  # whose ports a compile of seconds finds
    for text in chance.choices(examples, k=6):
        document = json.loads(text)
        for part in chance.choices([document["nodes"], document["connections"]], k=2):
            at = chance.randrange(len(part))
            part[at] = mutated(chance, part[at])
        text = json.dumps(mutated(chance, document) if chance.random() < 0.2 else document)
        if chance.random() < 0.2:
            at = chance.randrange(len(text))
            text = text[:at] + chance.choice(["", '"', "[" * 3000, "\0", "\u202e"]) + text[at + 1 :]
        QGuiApplication.clipboard().setText(text)
        before, names = dump_patch(patch), patch.history.names
        said.clear()
        canvas.edits.paste()
        if said:
            assert len(said) == 1 and said[0].startswith(("clipboard", "patch", "node", "region"))
        else:
            canvas.grab()
            assert patch.undo() == "Paste"
        assert dump_patch(patch) == before and patch.history.names == names
