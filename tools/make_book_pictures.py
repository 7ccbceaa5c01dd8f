"""Make book/pictures/*.png: the screen at the `picture` lines of a task's gestures, such as those of the first hour.

xvfb-run -a -s "-screen 0 1280x800x24" sh -c \\
    'openbox & QT_QPA_PLATFORM=xcb PYTHONPATH=. .venv/bin/python tools/make_book_pictures.py [TASK ...]; kill $!'

Needs Pillow, Xvfb, xdotool and openbox. The patches run on the host.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from tests.tasks.hands import XHand
from tests.tasks.places import Screen
from tests.tasks.player import Player
from warploom.app.documents.engines import Engines
from warploom.app.window.main_window import MainWindow

ROOT = Path(__file__).parents[1]
PICTURES, SCRIPTS = ROOT / "book" / "pictures", ROOT / "tests" / "tasks" / "scripts"
START_MS = 1500
#: 256 colours make a picture of the editor a third as large, and look the same.
COLOURS = 256


def main(names: list[str]) -> None:
    """Play the tasks, each in a window of its own, and save their pictures."""
    app = QApplication(["warploom"])
    app.setApplicationName("Warploom")
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in names or ["first_hour"]:
        with tempfile.TemporaryDirectory() as folder:
            play(name, Path(folder), taken := Path(folder, "pictures"))
            for path in sorted(taken.iterdir()):
                small = Image.open(path).convert("RGB").quantize(COLOURS, Image.Quantize.MEDIANCUT, kmeans=1)
                small.save(target := PICTURES / path.name, optimize=True)
                print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1024:.0f} KB", flush=True)


def play(name: str, folder: Path, taken: Path) -> None:
    """Play a task in a new window; {folder} has the media of a checkout."""
    taken.mkdir()
    shutil.copytree(ROOT / "resources" / "media", folder / "resources" / "media")
    engines = Engines("host", None, in_process=False)
    window = MainWindow(engines.make, folder / "state")
    window.showMaximized()
    loop = QEventLoop()
    QTimer.singleShot(START_MS, loop.quit)  # until the window manager has given the window the keyboard
    loop.exec()
    Player(Screen(window), XHand(), folder, taken).play(name, (SCRIPTS / f"{name}.txt").read_text())
    window.session.close()
    window.close()
    engines.close()


if __name__ == "__main__":
    main(sys.argv[1:])
