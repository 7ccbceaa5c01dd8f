"""Make resources/readme/editor.png: the window on the particle patch, with Forces selected.

QT_QPA_PLATFORM=offscreen .venv/bin/python tools/make_readme_picture.py
"""

import tempfile
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from warploom import Engine
from warploom.app.window.main_window import MainWindow

ROOT = Path(__file__).parents[1]
FRAMES = 260  # by which the fountain is full
LIMIT_MS = 60_000


def main() -> None:
    """Run the patch until the fountain is full and save the window's picture."""
    app = QApplication(["warploom"])
    app.setApplicationName("Warploom")
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(lambda patch, profiling: Engine(patch, "auto", profiling=profiling), Path(folder))
        window.resize(1440, 860)
        window.show()
        window.session.open(ROOT / "resources" / "examples" / "particles.loom")
        window.canvas.select(["forces"])
        loop = QEventLoop()  # the application's own closes the window when it quits
        QTimer.singleShot(LIMIT_MS, loop.quit)
        window.bridge.report.connect(lambda report: loop.quit() if report.frame >= FRAMES else None)
        loop.exec()
        target = ROOT / "resources" / "readme" / "editor.png"
        target.parent.mkdir(exist_ok=True)
        window.grab().save(str(target))
        window.session.close()
        window.close()


if __name__ == "__main__":
    main()
