"""A visible canvas with a small patch: source -> scale, and an unconnected count."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.app.sample_blocks import make_patch
from warploom.app.canvas.canvas import Canvas
from warploom.app.theme.apply import apply_theme
from warploom.engine.patch.document import Patch


@pytest.fixture
def patch() -> Patch:
    """A patch with two connected nodes and an unconnected one."""
    return make_patch()


@pytest.fixture
def canvas(qtbot: QtBot, qapp: QApplication, patch: Patch) -> Iterator[Canvas]:
    """A canvas that shows the patch at 100 %."""
    apply_theme(qapp, "dark")
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.resize(1000, 700)
    canvas.set_patch(patch)
    canvas.show()
    qtbot.waitExposed(canvas)
    qapp.processEvents()  # so that the view has its size before a test measures it
    yield canvas
    canvas.set_patch(None)


@pytest.fixture
def hand(canvas: Canvas) -> Hand:
    """A person's mouse and keys over the canvas."""
    canvas.setFocus()
    return Hand(canvas)
