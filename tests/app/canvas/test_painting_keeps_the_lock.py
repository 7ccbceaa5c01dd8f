"""Painting the canvas does not wait for the engine."""

import inspect
from pathlib import Path

import pytest

from warploom.app import canvas

FILES = sorted(Path(inspect.getfile(canvas)).parent.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_painter_of_the_canvas_gives_pythons_lock_away(file: Path) -> None:
    """No painter calls `drawPath`, in which PySide releases Python's lock.

    With a busy worker, each such call takes 40 times as long.
    """
    assert ".drawPath(" not in file.read_text(), "use strokePath or fillPath, which draw the same and keep the lock"
