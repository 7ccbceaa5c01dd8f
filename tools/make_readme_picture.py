"""Make resources/readme/editor.gif: the window on the particle patch, while *wind x* of Forces is dragged.

QT_QPA_PLATFORM=offscreen PYTHONPATH=. .venv/bin/python tools/make_readme_picture.py

Needs Pillow.
"""

import math
import tempfile
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from warploom import Engine
from warploom.app.edits.nodes import set_parameter
from warploom.app.window.main_window import MainWindow
from warploom.engine.protocol.messages import FrameReport

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "resources" / "readme" / "editor.gif"
FRAMES = 240  # by which the fountain is full
PICTURES, STEP, PICTURE_MS = 40, 6, 100
STRENGTH = 14.0
SIZE, COLOURS = (960, 560), 128
LIMIT_MS = 60_000


def main() -> None:
    """Run the patch until the fountain is full, drag the slider to and fro, and save the pictures of the window."""
    app = QApplication(["warploom"])
    app.setApplicationName("Warploom")
    with tempfile.TemporaryDirectory() as folder:
        window = MainWindow(lambda patch, profiling: Engine(patch, "auto", profiling=profiling), Path(folder))
        window.resize(1320, 770)
        window.show()
        window.session.open(ROOT / "resources" / "examples" / "particles.loom")
        patch = window.session.patch
        assert patch is not None
        set_parameter(patch, ["render"], "width", 640)  # more than the film shows, and quick without a GPU
        set_parameter(patch, ["render"], "height", 360)
        window.canvas.select(["forces"])
        wait_for(window, FRAMES)
        window.canvas.fit()
        pictures = []
        for turn in range(PICTURES):
            value = STRENGTH * math.sin(2 * math.pi * turn / PICTURES)
            set_parameter(patch, ["forces"], "wind_x", round(value, 1), gesture="drag")
            wait_for(window, FRAMES + (turn + 1) * STEP)
            pictures.append(picture(window))
        window.session.close()
        window.close()
    # The same colours for all pictures, so that what stands still costs nothing.
    palette = pictures[0].quantize(COLOURS)
    first, *others = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    first.save(TARGET, save_all=True, append_images=others, duration=PICTURE_MS, loop=0, optimize=True)
    print(f"{TARGET.stat().st_size / 1024:.0f} KB")


def wait_for(window: MainWindow, frame: int) -> None:
    """Let the window run until a frame is reported."""
    loop = QEventLoop()  # the application's own closes the window when it quits
    QTimer.singleShot(LIMIT_MS, loop.quit)

    def check(report: FrameReport) -> None:
        if report.frame >= frame:
            loop.quit()

    window.bridge.report.connect(check)
    loop.exec()
    window.bridge.report.disconnect(check)


def picture(window: MainWindow) -> Image.Image:
    """Return what the window shows, in the size of the film."""
    grabbed = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
    width, height = grabbed.width(), grabbed.height()
    pixels = Image.frombuffer("RGB", (width, height), bytes(grabbed.constBits()), "raw", "RGB", grabbed.bytesPerLine())
    return pixels.resize(SIZE, Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
