"""A patch file, and a window that has it open."""

from pathlib import Path

import pytest

from app.window.main_window import MainWindow
from engine.patch.document import Patch
from engine.patch.files import save_patch


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A patch file: a picture on a screen, and a block with parameters."""
    patch = Patch()
    picture = patch.add("test_app.picture", node_id="picture")
    screen = patch.add("test_app.screen", node_id="screen", position=(260, 0))
    patch.add("test_app.every_parameter", node_id="every", position=(0, 200))
    patch.connect(picture["out"], screen["image"])
    save_patch(patch, tmp_path / "demo.loom")
    return tmp_path / "demo.loom"


@pytest.fixture
def opened(window: MainWindow, file: Path) -> MainWindow:
    """A window with that file open."""
    assert window.files.open_path(file)
    return window
