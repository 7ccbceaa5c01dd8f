"""How long one gesture takes in a large patch: the edit, and everything until the canvas is painted.

The patch is opened from a file. Zooming and panning are measured from the whole patch in view to single blocks.

Each gesture is made with mouse and keys. "handled" is the time until the event's handler returned, "shown" the time
until the canvas was painted too; both are the median of a gesture's moves, and the slowest one. No engine runs: the
figures are those of the editor alone. They are processor times of the UI's thread, since a gesture waits for nothing
else, and other programs on the machine would count otherwise.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from warploom.app.window.main_window import MainWindow
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import save_patch

_COLUMNS, _STEP_X, _STEP_Y = 80, 200.0, 140.0
_MOVES = 24
_OPENINGS = 3
_ZOOMS = (0.2, 0.45, 1.0)
_PAN = QPoint(24, 16)
_REST_S = 0.05
_LEFT, _NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def make_alike(count: int) -> Patch:
    """Return rows of blocks of one type, each fed by the previous one, to fill an inspector that shows all of them."""
    patch = Patch()
    last = None
    for index in range(count):
        block = patch.add("math.saxpy", position=(index % _COLUMNS * _STEP_X, index // _COLUMNS * _STEP_Y))
        if last is not None:
            patch.connect(last["out"], block["x"])
        last = block
    return patch.excerpt(patch.nodes)  # the copy has an empty undo history


def tell_gestures(window: MainWindow, count: int) -> None:
    """Make each gesture in a window that shows `count` blocks, and print how many milliseconds it takes."""
    view = window.canvas.view
    viewport = view.viewport()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.loom"
        save_patch(make_alike(count), path)
        print(f"{f'{count} blocks; ms':30}  handled   slowest     shown   slowest")
        times = []
        for _ in range(_OPENINGS):
            window.session.replace(None)
            _rest()
            times.append(_timed(window, lambda: window.session.open(path)))
        _tell("open", times)
    window.canvas.fit()
    _rest()
    corner, opposite = QPoint(4, 4), QPoint(viewport.width() - 5, viewport.height() - 5)
    way = [corner + (opposite - corner) * step / _MOVES for step in range(1, _MOVES + 1)]
    QTest.mousePress(viewport, _LEFT, _NONE, corner)
    _tell("box select", [_timed(window, lambda at=at: _move(window, at)) for at in way])
    _tell("box select, released", [_timed(window, lambda: QTest.mouseRelease(viewport, _LEFT, _NONE, opposite))])
    assert len(window.canvas.selected()) == count
    QTest.mouseClick(viewport, _LEFT, _NONE, corner)
    _key(window, "select all", Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    _tell("zoom", [_timed(window, lambda turn=turn: _wheel(window, turn)) for turn in [120] * 8 + [-120] * 8])
    for zoom in (view.zoom, *_ZOOMS):
        view.set_zoom(zoom)
        _rest()
        name = f" at {zoom:.0%}"
        _tell("zoom" + name, [_timed(window, lambda turn=turn: _wheel(window, turn)) for turn in [15, -15] * 4])
        _tell("pan" + name, [_timed(window, lambda step=step: view.scroll_by(step)) for step in [_PAN, -_PAN] * 4])
    window.canvas.fit()
    _rest()
    _key(window, "delete", Qt.Key.Key_Delete)
    assert not window.session.patch.nodes
    _key(window, "undo", Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert len(window.session.patch.nodes) == count
    window.canvas.select_all()
    _rest()  # undo leads the connections in later turns
    _key(window, "nudge", Qt.Key.Key_Right)
    _tell("set a parameter of all", [_timed(window, lambda: window.inspector.editor("a").edited.emit(3.0))])
    assert all(node.parameters["a"] == 3.0 for node in window.session.patch.nodes.values())


def _rest() -> None:
    """Let the editor finish what it does later, such as collecting garbage every half second."""
    for _ in range(30):
        QApplication.processEvents()
        time.sleep(0.02)


def _key(window: MainWindow, name: str, key: Qt.Key, modifiers: Qt.KeyboardModifier = _NONE) -> None:
    _tell(name, [_timed(window, lambda: QTest.keyClick(window.canvas.view, key, modifiers))])


def _timed(window: MainWindow, act: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds until `act` returned, and until everything that it requested was done.

    It pauses before: Linux stops a thread with a real-time priority that is busy for 0.95 s of a second.
    """
    time.sleep(_REST_S)
    start_s = time.thread_time()
    act()
    handled_s = time.thread_time()
    QApplication.processEvents()
    QApplication.processEvents()  # the requests of the first turn
    QApplication.sendPostedEvents()  # begins a painting that is still due
    while not window.canvas.view.painting.rest.isEmpty():
        QApplication.processEvents()
    return (handled_s - start_s) * 1e3, (time.thread_time() - start_s) * 1e3


def _tell(name: str, times: list[tuple[float, float]]) -> None:
    print(f"{name:30}" + " ".join(f"{median(column):9.1f} {max(column):9.1f}" for column in zip(*times, strict=True)))


def _move(window: MainWindow, position: QPoint) -> None:
    viewport = window.canvas.view.viewport()
    place, there = QPointF(position), QPointF(viewport.mapToGlobal(position))
    event = QMouseEvent(QEvent.Type.MouseMove, place, there, Qt.MouseButton.NoButton, _LEFT, _NONE)
    QApplication.sendEvent(viewport, event)


def _wheel(window: MainWindow, angle: int) -> None:
    viewport = window.canvas.view.viewport()
    middle = viewport.rect().center()
    place, there = QPointF(middle), QPointF(viewport.mapToGlobal(middle))
    turn, none = QPoint(0, angle), Qt.MouseButton.NoButton
    phase = Qt.ScrollPhase.NoScrollPhase
    QApplication.sendEvent(viewport, QWheelEvent(place, there, QPoint(), turn, none, _NONE, phase, False))
