"""Editor tests run on Qt's offscreen platform with a fake engine."""

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.app.app_support import FakeEngine
from tests.waiting import PATIENCE_MS
from warploom.app.documents import dialogs
from warploom.app.documents.dialogs import UnsavedChoice
from warploom.app.documents.gallery import Example, find_examples
from warploom.app.documents.trust.trust import Trust
from warploom.app.qt.safe_overrides import protect_overrides
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch

for _wait in (QtBot.waitSignal, QtBot.waitUntil):
    _wait.__kwdefaults__["timeout"] = PATIENCE_MS


_SHARED = "sharedByTests"  # a property of a window


@lru_cache(maxsize=1)
def _protect(_modules: int) -> None:
    protect_overrides()


@pytest.fixture(autouse=True)
def protects_overrides() -> None:
    """Protect overrides of Qt methods, as in the editor. That takes 4 ms, so only after an import."""
    _protect(len(sys.modules))


@pytest.fixture(autouse=True)
def deletes_widgets() -> Iterator[None]:
    """Delete a test's windows and menus. Without an event loop they would stay, and each theme would restyle them.

    While there is a shared window, they stay: some are its own.
    """
    yield
    if not any(widget.property(_SHARED) for widget in QApplication.topLevelWidgets()):
        _delete_widgets()


def _delete_widgets() -> None:
    for widget in QApplication.topLevelWidgets():
        widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


@dataclass
class Asked:
    """Replaces the person at dialogs: answers to return, and the texts that were shown."""

    about_changes: UnsavedChoice = UnsavedChoice.DISCARD
    overwrite: UnsavedChoice = UnsavedChoice.CANCEL
    recover: bool = True
    trust: Trust = Trust.NO
    path: Path | None = None
    shown: list[str] = field(default_factory=list)


def answer_dialogs(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Answer dialogs in place of a person."""
    answers = Asked()

    def remember(text: str, answer: Any) -> Any:
        answers.shown.append(text)
        return answer

    monkeypatch.setattr(dialogs, "ask_about_changes", lambda _, name: remember(name, answers.about_changes))
    monkeypatch.setattr(dialogs, "ask_to_overwrite", lambda _, text, lines: remember(text, answers.overwrite))
    monkeypatch.setattr(dialogs, "ask_to_recover", lambda _, name, lines: remember(name, answers.recover))
    monkeypatch.setattr(dialogs, "ask_to_trust", lambda _, folder, names: remember(str(folder), answers.trust))
    monkeypatch.setattr(dialogs, "ask_open", lambda *_: answers.path)
    monkeypatch.setattr(dialogs, "ask_save", lambda *_: answers.path)
    monkeypatch.setattr(dialogs, "show_error", lambda _, title, text: remember(f"{title}: {text}", None))
    return answers


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Answers dialogs in place of a person."""
    return answer_dialogs(monkeypatch)


@pytest.fixture
def patch() -> Patch:
    """An empty patch."""
    return Patch()


@cache
def _first_examples() -> list[Example]:
    return find_examples()[:2]


@pytest.fixture(scope="module", autouse=True)
def few_examples() -> Iterator[None]:
    """Show two examples on the first page: to make and paint the cards of all takes a quarter of a window's time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("warploom.app.window.main_window.find_examples", _first_examples)
        yield


@pytest.fixture
def window(qtbot: QtBot, tmp_path: Path, asked: Asked) -> Iterator[Any]:
    """The editor's window with fake engines; it must not leave threads running."""
    from warploom.app.window.main_window import MainWindow

    threads = set(threading.enumerate())
    window = MainWindow(FakeEngine, tmp_path / "state")  # type: ignore[arg-type]  # replaces Engine
    window.show()
    yield window
    asked.about_changes = UnsavedChoice.DISCARD
    window.close()
    assert not window.bridge.is_polling, "the bridge's timer must end with the window"
    # The thread that starts compiler processes belongs to the program, whichever window needed it first.
    left = {t for t in set(threading.enumerate()) - threads if not t.name.startswith(("warploom-workers", "ctrl-c"))}
    assert not left, f"threads must end with the window, got {left}"
    window.deleteLater()
    qtbot.wait(1)


@pytest.fixture(scope="module")
def window_of_file(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A window that `shared_window` clears between the tests of a file."""
    from warploom.app.window.main_window import MainWindow

    protect_overrides()
    window = MainWindow(FakeEngine, tmp_path_factory.mktemp("state"))  # type: ignore[arg-type]  # replaces Engine
    window.setProperty(_SHARED, True)
    window.show()
    yield window
    window.close()
    assert not window.bridge.is_polling, "the bridge's timer must end with the window"
    _delete_widgets()


@pytest.fixture
def shared_window(window_of_file: Any, asked: Asked, qtbot: QtBot) -> Iterator[Any]:
    """The window of all tests of a file, with the gallery. It is 0.3 s faster than `window`.

    A file whose tests need no new window takes it by a fixture `window` of its own. Only patches are closed between
    tests: docks, sizes and settings stay as a test leaves them.
    """
    yield window_of_file
    for popup in (QApplication.activePopupWidget(), QApplication.activeModalWidget()):
        if popup is not None:
            popup.close()
    window_of_file.session.replace(None)
    qtbot.wait(1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A patch file with a picture on a screen, and a block with parameters."""
    patch = Patch()
    picture = patch.add("test_app.picture", node_id="picture")
    screen = patch.add("test_app.screen", node_id="screen", position=(260, 0))
    patch.add("test_app.every_parameter", node_id="every", position=(0, 200))
    patch.connect(picture["out"], screen["image"])
    save_patch(patch, tmp_path / "demo.loom")
    return tmp_path / "demo.loom"


@pytest.fixture
def opened(window: Any, file: Path) -> Any:
    """A window in which that file is open."""
    assert window.files.open_path(file)
    return window


@pytest.fixture
def real_window(qtbot: QtBot, tmp_path: Path, asked: Asked) -> Iterator[Any]:
    """The editor's window with engines on the host."""
    from warploom import Engine, ProfilingLevel
    from warploom.app.window.main_window import MainWindow

    def make_engine(patch: Patch, profiling: ProfilingLevel) -> Engine:
        return Engine(patch, "host", profiling=profiling)

    window = MainWindow(make_engine, tmp_path / "state")
    window.show()
    yield window
    window.close()
