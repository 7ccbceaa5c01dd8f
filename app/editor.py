"""`run_editor`: the application around the window."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.faults import install_fault_handler
from app.qt_check import has_display
from app.window import MainWindow
from engine import Engine, Patch, ProfilingLevel
from engine.diagnostics import WarploomError

_SCREENSHOT_FRAMES = 90
_SCREENSHOT_LIMIT_MS = 6000


def run_editor(patch_path: Path | None, device: str, screenshot: Path | None) -> int:
    """Show the editor until it is closed and return the exit status.

    Without a patch it begins with the gallery. With `screenshot` it runs the patch for a moment, saves the window's
    picture to that file, and ends; nothing of the person's state is read or written. WarploomError when there is no
    screen, or the patch of a screenshot cannot be opened.
    """
    if not has_display():
        if screenshot is None:
            raise WarploomError("the editor must have a display, got none; `warploom run` works without one")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    app = QApplication.instance() or QApplication(["warploom"])
    assert isinstance(app, QApplication)
    app.setApplicationName("Warploom")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C in the terminal; Qt's loop would not let Python see it
    app.setDesktopFileName("warploom")
    with ExitStack() as stack:
        folder = state_folder() if screenshot is None else Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def make_engine(patch: Patch, profiling: ProfilingLevel) -> Engine:
            return Engine(patch, device, profiling=profiling)

        window = MainWindow(make_engine, folder)
        stack.callback(install_fault_handler(window.show_fault, folder))
        window.show()
        if screenshot is not None:
            return take_screenshot(app, window, patch_path, screenshot)
        window.offer_recovery()
        if patch_path is not None:
            window.files.open_path(patch_path)
        return app.exec()


def state_folder() -> Path:
    """Return the folder of the person's state, such as recent files."""
    from platformdirs import user_state_path

    return user_state_path("warploom")


def take_screenshot(app: QApplication, window: MainWindow, patch_path: Path | None, target: Path) -> int:
    """Run the patch until pictures have come for a moment, save the window's picture and return 0."""
    if patch_path is not None:
        window.session.open(patch_path)
    reports = 0
    limit = QTimer(singleShot=True, interval=_SCREENSHOT_LIMIT_MS if patch_path else 300)
    limit.timeout.connect(app.quit)

    def count(_: object) -> None:
        nonlocal reports
        reports += 1
        if reports >= _SCREENSHOT_FRAMES:
            app.quit()

    window.bridge.report.connect(count)
    limit.start()
    app.exec()
    saved = window.grab().save(str(target))
    window.session.close()
    window.close()
    if not saved:
        raise WarploomError(f"screenshot must be writable as an image: {target}")
    return 0
