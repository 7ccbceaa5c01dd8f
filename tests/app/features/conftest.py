"""One window for all tests of a file; each test ends with the patch as it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from tests.app.conftest import Asked, answer_dialogs
from tests.app.features.person import Person
from warploom.app.qt.safe_overrides import protect_overrides
from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, save_patch


@pytest.fixture(autouse=True)
def deletes_widgets() -> None:
    """Keep the window between tests, instead of the fixture of the other tests that deletes it."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A patch: numbers that change are scaled, and a still picture is blurred and shown."""
    patch = Patch()
    numbers = patch.add("random.uniform", node_id="numbers", position=(-400, -160), shape="256")
    scale = patch.add("math.scale_offset", node_id="scale", position=(-160, -160))
    noise = patch.add("image.noise", node_id="noise", position=(-400, 40), width=48, height=32, speed=0.0)
    blur = patch.add("image.gaussian_blur", node_id="blur", position=(-160, 40), sigma=1.0)
    viewer = patch.add("io.viewer", node_id="viewer", position=(80, 40))
    patch.connect(numbers["out"], scale["x"])
    patch.connect(noise["out"], blur["image"])
    patch.connect(blur["out"], viewer["image"])
    path = tmp_path_factory.mktemp("features") / "demo.loom"
    save_patch(patch, path)
    return path


@pytest.fixture(scope="module")
def shared(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MainWindow, Asked]]:
    """The window, and the answers to its dialogs."""
    protect_overrides()
    with pytest.MonkeyPatch.context() as patched:
        asked = answer_dialogs(patched)
        window = MainWindow(FakeEngine, tmp_path_factory.mktemp("state"))  # type: ignore[arg-type]  # replaces Engine
        window.resize(1280, 800)
        window.show()
        window.activateWindow()
        yield window, asked
        window.close()
        window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@pytest.fixture
def person(shared: tuple[MainWindow, Asked], file: Path, qtbot: QtBot) -> Iterator[Person]:
    """A person in front of the patch; afterwards, undo leads back to its first state."""
    window, asked = shared
    if window.session.path != file:
        assert window.files.open_path(file)
        qtbot.wait(1)  # the canvas fits the patch
    patch = window.session.patch
    assert patch is not None
    person, first = Person(window, asked, qtbot), dump_patch(patch)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.canvas.fit()
    window.canvas.select([])
    window.canvas.setFocus()
    yield person
    for popup in (QApplication.activePopupWidget(), QApplication.activeModalWidget()):
        if popup is not None:
            popup.close()
    if window.session.patch is patch:
        while patch.undo():
            pass
        assert dump_patch(patch) == first
