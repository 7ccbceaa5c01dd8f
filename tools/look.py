"""Save a picture of every state, dock, menu and dialog of the editor, and report what is clipped or too small.

tools/look.py [FOLDER] [--quick]

Each combination of window size, scale and theme is a process of its own, since Qt reads `QT_SCALE_FACTOR` only at its
start. With --quick, only 1440 x 900 at scale 1. `sheet-*.png` show several pictures each.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QEvent, QEventLoop, QPoint, QRect, QTimer, qInstallMessageHandler
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QStyle,
    QStyleOptionComboBox,
    QTabBar,
    QToolButton,
    QWidget,
)

ROOT = Path(__file__).parents[1]
SIZES = (1280, 720), (1440, 900), (1920, 1080)
SCALES, THEMES = (1, 2), ("dark", "light")
#: The share of the window that the canvas has at least, with docks at their first places.
LEAST_WIDTH, LEAST_HEIGHT = 0.6, 0.7
#: The least side of a button, in logical pixels.
LEAST_BUTTON = 20
SHEET_WIDTH, PICTURE_WIDTH, GAP = 1920, 640, 8


def main(arguments: list[str]) -> int:
    """Take the pictures of all combinations, or of the one that the arguments after "--one" name."""
    if arguments[:1] == ["--one"]:
        width, height, theme, into = arguments[1:]
        return look((int(width), int(height)), theme, Path(into))
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
                screen = place / "screen.json"
                screen.write_text(json.dumps({"screens": [_screen(*size)]}))
                platform = f"offscreen:configfile={screen}"
                environment = {"QT_QPA_PLATFORM": platform, "PYTHONPATH": str(ROOT), "QT_SCALE_FACTOR": str(scale)}
                bad += subprocess.run(command, env={**os.environ, **environment}).returncode != 0
    return int(bad > 0)


def _screen(width: int, height: int) -> dict[str, str | int]:
    """Return Qt's description of a screen, which limits the sizes of menus and dialogs."""
    return {"name": "look", "x": 0, "y": 0, "width": width, "height": height, "logicalDpi": 96, "dpr": 1}


def look(size: tuple[int, int], theme: str, folder: Path) -> int:
    """Take all pictures at one size, and return 1 if something is clipped or too small."""
    from look_scenes import scenes

    from warploom import Engine
    from warploom.app.qt.safe_overrides import protect_overrides
    from warploom.app.window.main_window import MainWindow

    qInstallMessageHandler(lambda kind, context, text: None)  # the offscreen platform repeats a meaningless one
    app = QApplication(["warploom"])
    app.setApplicationName("Warploom")
    protect_overrides()
    findings: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as state:
        window = MainWindow(lambda patch, profiling: Engine(patch, "auto", profiling=profiling), Path(state))
        window.resize(*size)
        window.set_theme(theme)
        window.show()
        saved: list[Path] = []
        for name, widget in scenes(window, wait):
            if not widget.isVisible() and not isinstance(widget, QMenu):
                widget.show()
            wait(60)
            saved.append(folder / f"{name}.png")
            QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)  # for texts that have just changed
            widget.grab().save(str(saved[-1]))
            for text in (*clipped(widget), *small(widget)):
                findings.setdefault(text, name)
            if name == "first":
                share = window.canvas.width() / window.width(), window.canvas.height() / window.height()
                print(f"{folder.name}: the canvas has {share[0]:.0%} of the width and {share[1]:.0%} of the height")
                if share[0] < LEAST_WIDTH or share[1] < LEAST_HEIGHT:
                    findings["the canvas is too small"] = name
            if widget is not window:
                widget.close()
        window.session.close()
        window.session.replace(None)
        window.close()
    sheets(saved, folder)
    for finding, name in findings.items():
        print(f"  {name}: {finding}")
    return int(bool(findings))


def wait(ms: int) -> None:
    """Let the editor run for a moment."""
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


def sheets(pictures: list[Path], folder: Path) -> None:
    """Put the pictures of menus and dialogs on sheets, at full size."""
    place, row, number = QPoint(), 0, 0
    sheet: QPixmap | None = None
    for path in pictures:
        picture = QPixmap(str(path))
        if picture.width() > SHEET_WIDTH // 2:
            continue
        if place.x() + picture.width() > SHEET_WIDTH:
            place, row = QPoint(0, place.y() + row + GAP), 0
        if sheet is None or place.y() + picture.height() > SHEET_WIDTH:
            if sheet is not None:
                sheet.save(str(folder / f"sheet-{number}.png"))
            sheet, place, row, number = QPixmap(SHEET_WIDTH, SHEET_WIDTH), QPoint(), 0, number + 1
            sheet.fill(QColor("#707070"))
        painter = QPainter(sheet)
        painter.drawPixmap(QRect(place, picture.size()), picture)
        painter.end()
        place, row = place + QPoint(picture.width() + GAP, 0), max(row, picture.height())
    if sheet is not None:
        sheet.save(str(folder / f"sheet-{number}.png"))


def clipped(root: QWidget) -> Iterator[str]:
    """Return a line for each visible label, button, choice or tab whose text has less room than it needs."""
    for widget in _visible(root):
        text = ""
        if isinstance(widget, QLabel | QAbstractButton) and not isinstance(widget, QToolButton):
            text = widget.text()
        if isinstance(widget, QComboBox):
            option = QStyleOptionComboBox()
            widget.initStyleOption(option)
            part = QStyle.SubControl.SC_ComboBoxEditField
            room = widget.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, widget).width()
            needed = widget.fontMetrics().horizontalAdvance(widget.currentText())
            if needed > room:
                yield f"{widget.currentText()[:40]!r} is {room} px wide, and needs {needed}"
        elif isinstance(widget, QTabBar) and widget.usesScrollButtons():
            if not widget.rect().contains(widget.tabRect(widget.currentIndex())):  # the others can be scrolled to
                yield f"tab {widget.tabText(widget.currentIndex())!r} has no room in {widget.width()} px"
        elif not text:
            continue
        elif isinstance(widget, QLabel) and (widget.wordWrap() or type(widget).__name__ == "ElidedLabel"):
            needed = widget.heightForWidth(widget.width())
            if needed > widget.height() + 1:
                yield f"{text[:40]!r} is {widget.height()} px high, and needs {needed}"
        elif (needed := widget.minimumSizeHint().width()) > widget.width() + 1:
            yield f"{text[:40]!r} is {widget.width()} px wide, and needs {needed}"


def small(root: QWidget) -> Iterator[str]:
    """Return a line for each visible button that is hard to hit."""
    for widget in _visible(root):
        is_qts = isinstance(widget.parentWidget(), QLineEdit)  # the button that clears a field
        if isinstance(widget, QAbstractButton) and not is_qts and min(widget.width(), widget.height()) < LEAST_BUTTON:
            name = widget.objectName() or widget.text() or widget.toolTip() or type(widget).__name__
            yield f"button {name[:40]!r} is {widget.width()} x {widget.height()} px"


def _visible(root: QWidget) -> Iterator[QWidget]:
    for widget in root.findChildren(QWidget):
        if widget.isVisible() and not widget.visibleRegion().isEmpty():
            yield widget


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
