"""`run_editor`: the application around the window."""

import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

from PySide6.QtCore import QEventLoop, QMessageLogContext, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from warploom.app.console import print_diagnostics
from warploom.app.documents.editor_state import load_state
from warploom.app.documents.engines import Engines
from warploom.app.documents.gallery import find_patch
from warploom.app.exit_status import DEVICE_FAILED, PATCH_WRONG
from warploom.app.logs import details_place
from warploom.app.qt.faults import install_fault_handler
from warploom.app.qt.qt_check import has_display
from warploom.app.qt.safe_overrides import protect_overrides
from warploom.app.theme.icons import program_icon
from warploom.app.window.main_window import MainWindow
from warploom.engine.block_process.client import BlockProcess
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import configured_folder, default_catalogue, folder_beside
from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.messages import FrameReport
from warploom.engine.runtime.check.check_patch import has_errors

# The time limits of a screenshot: for the build, then for this many frames or this long.
_BUILD_LIMIT_MS = 60_000
_FRAMES = 90
_RUN_LIMIT_MS = 6_000
_STILL_MS = 300  # without an engine, nothing moves
#: So long after a start, the block types that the patch does not have are imported, for the first search.
_LIBRARY_MS = 1500
_qt_log = logging.getLogger("warploom.app.qt")
_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def run_editor(
    patch: Path | None,
    device: str,
    screenshot: Path | None,
    *,
    trust: bool = False,
    engine: str | None = None,
    in_process: bool = False,
) -> int:
    """Show the editor until it is closed, and return the exit status.

    Without a patch, it starts with the gallery. With `screenshot`, it runs the patch for a moment, saves a picture of
    the window to that file, and ends, without reading or writing the person's state. With `trust`, the patch and the
    blocks beside it are trusted without asking. The engine runs in another process, which the command `engine` starts
    or else one of our own; with `in_process`, and for a screenshot, it runs in this one. Raise WarploomError if there
    is no screen, or the patch of a screenshot can't be opened.
    """
    if not has_display():
        if screenshot is None:
            raise WarploomError("the editor must have a display, got none; `warploom run` works without one")
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    patch = find_patch(patch) if patch is not None else None
    if screenshot is None and (scale := load_state(state_folder()).scale) != 1.0:
        os.environ["QT_SCALE_FACTOR"] = str(scale * float(os.environ.get("QT_SCALE_FACTOR") or 1))
    app = QApplication.instance() or QApplication(["warploom"])
    assert isinstance(app, QApplication)
    app.setApplicationName("Warploom")
    # For Ctrl+C in the terminal; in Qt's event loop, Python would not handle it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    app.setDesktopFileName("warploom")
    app.setWindowIcon(program_icon())
    with ExitStack() as stack:
        stack.callback(qInstallMessageHandler, qInstallMessageHandler(_log_message))
        folder, lost = state_folder(), ""
        if screenshot is None:
            lost = _why_unusable(folder)
        if lost or screenshot is not None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        if not in_process and screenshot is None:
            stack.enter_context(blocks_apart(patch))
        engines = Engines(device, engine, in_process=in_process or screenshot is not None)
        stack.callback(engines.close)
        protect_overrides()
        window = MainWindow(engines.make, folder, engines.make_search)
        stack.callback(install_fault_handler(window.log.noted.emit, details_place))
        window.show()
        if screenshot is not None:
            return take_screenshot(window, patch, screenshot, trust=trust)
        if lost:
            window.log.add_error(f"{lost}; recent files and copies of unsaved work are lost when the editor ends")
        window.offer_recovery()
        if patch is not None:
            window.files.open_path(patch, trust=trust)
        library = Thread(target=lambda: default_catalogue().all(), name="block-library", daemon=True)
        QTimer.singleShot(_LIBRARY_MS, library.start)
        return app.exec()


@contextmanager
def blocks_apart(patch: Path | None) -> Iterator[None]:
    """Have block files run in a process of their own, which is started at once if there are some for a patch."""
    process = BlockProcess()
    if configured_folder().is_dir() or (patch is not None and folder_beside(patch.resolve().parent) is not None):
        process.warm_up()
    block_folders.apart = process
    try:
        yield
    finally:
        block_folders.apart = None
        process.close()


def state_folder() -> Path:
    """Return the folder of the person's state, such as recent files."""
    from platformdirs import user_state_path

    return user_state_path("warploom")


def _why_unusable(folder: Path) -> str:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        return f"state folder must be writable, got {problem}"
    return ""


def _log_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """Log a message of Qt, except a meaningless one that its offscreen platform repeats."""
    if "propagateSizeHints" not in text:
        _qt_log.log(_QT_LEVELS[kind], "%s", text)


def take_screenshot(window: MainWindow, patch_path: Path | None, target: Path, *, trust: bool = False) -> int:
    """Run the patch for some frames, save the window's picture and return the exit status, as `warploom run` does."""
    loop = QEventLoop()  # the application's own would close the window when it quits
    limit = QTimer(singleShot=True, interval=_BUILD_LIMIT_MS)
    limit.timeout.connect(loop.quit)
    if patch_path is not None:
        blocks = folder_beside(patch_path.resolve().parent) if trust else None
        window.session.open(patch_path, blocks=blocks, trust=trust)
    if window.session.engine is None:
        limit.setInterval(_STILL_MS)
    frames, last = 0, None

    def count(report: FrameReport) -> None:
        nonlocal frames, last
        last = report
        if report.failed:
            loop.quit()
        if report.preparing:
            return
        frames += 1
        if frames == 1:
            limit.start(_RUN_LIMIT_MS)
        if frames >= _FRAMES:
            loop.quit()

    window.bridge.report.connect(count)
    limit.start()
    loop.exec()
    saved = window.grab().save(str(target))
    has_device = patch_path is None or (window.session.engine is not None and not (last is not None and last.failed))
    window.close()
    if not saved:
        raise WarploomError(f"screenshot must be writable as an image: {target}")
    if not has_device:
        return DEVICE_FAILED
    diagnostics = last.diagnostics if last is not None else ()
    print_diagnostics(diagnostics)
    return PATCH_WRONG if has_errors(diagnostics) else 0
