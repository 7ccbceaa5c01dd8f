"""Save a picture of every dock and dialog of the editor, to be looked at, and report what is clipped or too small.

tools/look.py [FOLDER] [--quick]

Each combination of window size, scale and theme is a process of its own, since Qt reads `QT_SCALE_FACTOR` only at its
start. With --quick, only 1440 x 900 at scale 1.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
SIZES = (1280, 720), (1440, 900), (1920, 1080)
SCALES, THEMES = (1, 2), ("dark", "light")
#: The share of the window that the canvas has at least, with docks at their first places.
LEAST_WIDTH, LEAST_HEIGHT = 0.6, 0.7
EXAMPLE = ROOT / "resources" / "examples" / "particles.loom"
FRAMES = 40


def main(arguments: list[str]) -> int:
    """Take the pictures of all combinations, or of the one that the arguments after "--one" name."""
    if arguments[:1] == ["--one"]:
        width, height, theme, folder = arguments[1:]
        return look((int(width), int(height)), theme, Path(folder))
    quick = "--quick" in arguments
    folder = Path(next((text for text in arguments if not text.startswith("--")), "/tmp/look"))
    bad = 0
    for size in SIZES[1:2] if quick else SIZES:
        for scale in SCALES[:1] if quick else SCALES:
            for theme in THEMES:
                place = folder / f"{size[0]}x{size[1]}@{scale}-{theme}"
                place.mkdir(parents=True, exist_ok=True)
                # The size is that of the screen: at scale 2, the window has half as many logical pixels.
                logical = (str(side // scale) for side in size)
                command = [sys.executable, __file__, "--one", *logical, theme, str(place)]
                environment = {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT), "QT_SCALE_FACTOR": str(scale)}
                bad += subprocess.run(command, env={**os.environ, **environment}).returncode != 0
    return int(bad > 0)


def look(size: tuple[int, int], theme: str, folder: Path) -> int:
    """Take all pictures at one size, and return 1 if something is clipped or too small."""
    from PySide6.QtCore import QEventLoop, QTimer, qInstallMessageHandler
    from PySide6.QtWidgets import QApplication, QWidget

    from app.qt.safe_overrides import protect_overrides
    from app.window.main_window import MainWindow
    from engine import Engine

    qInstallMessageHandler(lambda kind, context, text: None)  # the offscreen platform repeats a meaningless one
    app = QApplication(["warploom"])
    app.setApplicationName("Warploom")
    protect_overrides()
    findings: list[str] = []

    def wait(ms: int) -> None:
        loop = QEventLoop()
        QTimer.singleShot(ms, loop.quit)
        loop.exec()

    def save(widget: QWidget, name: str) -> None:
        wait(60)
        widget.grab().save(str(folder / f"{name}.png"))
        findings.extend(f"{name}: {text}" for text in clipped(widget))

    with tempfile.TemporaryDirectory() as state:
        window = MainWindow(lambda patch, profiling: Engine(patch, "auto", profiling=profiling), Path(state))
        window.resize(*size)
        window.set_theme(theme)
        window.show()
        save(window, "welcome")
        window.session.open(EXAMPLE)
        loop = QEventLoop()
        QTimer.singleShot(20_000, loop.quit)
        window.bridge.report.connect(lambda report: loop.quit() if report.frame >= FRAMES else None)
        loop.exec()
        window.canvas.fit()
        save(window, "first")
        share = window.canvas.width() / window.width(), window.canvas.height() / window.height()
        print(f"{folder.name}: the canvas has {share[0]:.0%} of the width and {share[1]:.0%} of the height")
        if share[0] < LEAST_WIDTH or share[1] < LEAST_HEIGHT:
            findings.append("the canvas is too small")
        window.canvas.select(["forces"])
        for dock in window.docks.names():
            window.docks.reveal(dock)
            wait(200)
            save(window, f"dock-{dock}")
        window.looking.look()
        wait(300)
        save(window, "dock-selection")
        window.show_palette()
        save(window, "palette")
        window.canvas.setFocus()
        window.canvas.keyboard.connect()
        save(window, "connect")
        window.canvas.setFocus()
        window.canvas.open_search()
        save(window, "search")
        window.canvas.setFocus()
        window.use_layout("")
        wait(300)
        save(window, "reset")
        for name, show in dialogs(window):
            with modal(partial(save, name=f"dialog-{name}")):
                shown = show()
            if isinstance(shown, QWidget):
                shown.show()
                save(shown, f"dialog-{name}")
                shown.close()
        window.session.close()
        window.session.replace(None)
        window.close()
    for finding in findings:
        print(f"  {finding}")
    return int(bool(findings))


@contextmanager
def modal(save: Callable[..., object]) -> Iterator[None]:
    """Let modal dialogs be saved, instead of waiting for an answer."""
    from PySide6.QtWidgets import QDialog, QMessageBox

    def save_shown(box: QDialog) -> int:
        box.show()
        save(box)
        box.close()
        return 0

    before = QMessageBox.exec, QDialog.exec
    QMessageBox.exec = QDialog.exec = save_shown  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        QMessageBox.exec, QDialog.exec = before  # type: ignore[method-assign]


def dialogs(window) -> Iterator[tuple[str, Callable[[], object]]]:  # type: ignore[no-untyped-def]
    """Return every dialog with a name, as a function that makes or shows it."""
    from app.canvas.sentinel_form import SentinelForm
    from app.commands.help_dialogs import show_about
    from app.commands.shortcut_dialog import ShortcutDialog
    from app.documents import dialogs as questions
    from app.documents.trust.contents import FileChange
    from engine.patch.changes import PortRef

    yield "shortcuts", partial(ShortcutDialog, window.keys, window)
    yield "about", partial(show_about, window, "host, a CPU")
    yield "check-values", partial(SentinelForm, window.session.patch, PortRef("forces", "out"), window)
    lines = ["Forces: gravity 9.8 -> 4", "Render Points: new"]
    yield "unsaved", partial(questions.ask_about_changes, window, "particles")
    text = "particles.loom was changed by another program."
    yield "overwrite", partial(questions.ask_to_overwrite, window, text, lines)
    yield "recover", partial(questions.ask_to_recover, window, "particles.loom", lines)
    yield "trust", partial(questions.ask_to_trust, window, Path("/home/ada/work/blocks"), ["wind.py", "rain.py"])
    yield "error", partial(questions.show_error, window, "wind.loom can't be opened", "wind.loom must be JSON, got XML")
    changed = [FileChange("wind.py", "changed", "a = 1\nb = 2\n", "a = 1\nb = 3\n")]
    yield "changes", partial(questions.show_changes, window, changed)


def clipped(root) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """Return a line for each visible label or button whose text has less room than it needs."""
    from PySide6.QtWidgets import QAbstractButton, QLabel, QToolButton

    for widget in root.findChildren(QLabel) + root.findChildren(QAbstractButton):
        text = widget.text()
        if not widget.isVisible() or widget.visibleRegion().isEmpty() or not text or isinstance(widget, QToolButton):
            continue
        if isinstance(widget, QLabel) and (widget.wordWrap() or type(widget).__name__ == "ElidedLabel"):
            needed = widget.heightForWidth(widget.width())
            if needed > widget.height() + 1:
                yield f"{text[:40]!r} is {widget.height()} px high, and needs {needed}"
        elif (needed := widget.minimumSizeHint().width()) > widget.width() + 1:
            yield f"{text[:40]!r} is {widget.width()} px wide, and needs {needed}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
