"""The canvas is painted in slices, and looks as if it was painted at once."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRect
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication

from tests.app.sample_blocks import make_node_report, make_report
from warploom.app.canvas import sliced_painting
from warploom.app.canvas.canvas import Canvas
from warploom.app.edits.organise.dots import set_dots
from warploom.app.edits.organise.frames import add_frame, change_frames
from warploom.app.theme import colours
from warploom.app.theme.apply import apply_theme
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import NodeState

ROOT = Path(__file__).parents[3]
#: From single rectangles to more than 100 %; odd ones, where blocks begin between pixels.
ZOOMS = (0.07, 0.2, 0.31, 0.47, 1.0, 1.53)


def _make_patch() -> Patch:
    """Return 60 connected blocks with numbers, a region, a frame, a sentinel and a dot."""
    patch = Patch(Catalogue())
    source = last = patch.add("test_canvas.source", position=(-40.0, 11.0))
    for index in range(58):
        node, place = f"n{index}", (index % 8 * 203.3, index // 8 * 91.7 + 60)
        last = patch.add("test_canvas.scale", node_id=node, position=place)
        patch.connect((source if index % 5 == 0 else patch[f"n{index - 1}"])["out"], last["x"])
    patch.add("control.while", node_id="loop", position=(300.0, -300.0))
    patch.add("test_canvas.wave", node_id="inner", position=(350.0, -200.0), region=patch["loop"])
    blend = patch.add("test_canvas.blend", node_id="blend", position=(700.0, -250.0))
    patch.connect(patch["inner"]["value"], blend["amount"])
    patch.set_sentinel(PortRef("n3", "out"))
    set_dots(patch, patch.connections[7], [(420.0, 240.0)], "Add dot")
    frame = add_frame(patch, Rect(180.0, 130.0, 700.0, 320.0), "")
    change_frames(patch, [frame], title="Quokkas", comment="They are painted over and over again")
    return patch


def _pixels(image: QImage) -> NDArray[np.uint8]:
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 4 * image.width()].reshape(image.height(), image.width(), 4)[..., :3].copy()


def _shown(canvas: Canvas) -> NDArray[np.uint8]:
    """Return the pixels of the patch on the screen."""
    viewport = canvas.view.viewport()
    store = viewport.window().backingStore().paintDevice()
    assert isinstance(store, QImage)
    ratio, corner = store.devicePixelRatio(), viewport.mapTo(viewport.window(), QPoint())
    return _pixels(store.copy(QRect(corner * ratio, viewport.size() * ratio)))


def _painted_at_once(canvas: Canvas) -> NDArray[np.uint8]:
    viewport = canvas.view.viewport()
    ratio = viewport.devicePixelRatioF()
    image = QImage(viewport.size() * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    viewport.render(image)
    return _pixels(image)


def _finish(canvas: Canvas) -> int:
    """Let the canvas paint what is left. Return how many more turns of the event loop that took."""
    turns = 0
    while not canvas.view.painting.rest.isEmpty():
        QApplication.processEvents()
        turns += 1
    return turns


def _open(canvas: Canvas) -> None:
    canvas.resize(700, 500)
    canvas.set_patch(_make_patch())
    canvas.show()
    reports = {f"n{index}": make_node_report(time_ns=10**index) for index in range(8)}
    reports["n9"] = make_node_report(NodeState.ERROR)
    canvas.show_report(make_report(reports, values={"inner.value": 0.25, "blend.amount": 0.25}))
    canvas.select(["n2", "n17"])
    QApplication.processEvents()
    _finish(canvas)


def _compare(canvas: Canvas, where: str) -> None:
    """Check that the screen shows what is painted at once."""
    shown, expected = _shown(canvas), _painted_at_once(canvas)
    apart = np.abs(shown.astype(int) - expected)
    # Qt draws the edges of a slope by a shade otherwise, and thin lines by a few, where a slice cuts them.
    assert apart.max() <= 32 and (apart > 0).mean() < 1e-2, where


def check_pictures(canvas: Canvas, zooms: Sequence[float]) -> None:
    """Check the pictures of both themes at these zooms."""
    view, most = canvas.view, 0
    for theme in ("dark", "light"):
        apply_theme(QApplication.instance(), theme)
        view.viewport().update()
        for zoom in zooms:
            view.set_zoom(zoom)
            view.centerOn(500, 150)
            QApplication.processEvents()
            most = max(most, _finish(canvas))
            _compare(canvas, f"{theme}, {zoom}")
    assert most > 3, "no picture was painted in slices"


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch, canvas: Canvas) -> Canvas:
    """A canvas that paints the least in each turn of the event loop, as if other work took the rest of the turn."""
    _slice_finely(monkeypatch)
    _open(canvas)
    return canvas


def _slice_finely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliced_painting, "left_s", lambda: 0.0)
    monkeypatch.setattr(sliced_painting, "_LEAST_S", 5e-4)
    monkeypatch.setattr(sliced_painting, "_LOWEST", 64)


def test_slices_show_what_is_painted_at_once(sliced: Canvas) -> None:
    """In both themes and at every zoom, the slices together are the picture that is painted at once."""
    check_pictures(sliced, ZOOMS)


@pytest.mark.parametrize("scale", ["1.5", "2"])
def test_slices_are_whole_on_finer_screens(scale: str) -> None:
    """The same holds for screens with more pixels."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale}
    subprocess.run([sys.executable, "-m", __spec__.name], env=environment, cwd=ROOT, check=True, timeout=300)


def test_a_drag_of_the_view_keeps_up_with_slices(sliced: Canvas) -> None:
    """A view that is moved before it is painted shows its part of the patch, once all is painted."""
    view = sliced.view
    view.set_zoom(0.9)
    for step in [QPoint(31, 17), QPoint(-90, 55), QPoint(900, -3), QPoint(-2000, 0), QPoint(1100, 40)]:
        view.scroll_by(step)
        QApplication.processEvents()
    _finish(sliced)
    _compare(sliced, "after a drag of the view")


def test_an_edit_between_slices_is_seen(sliced: Canvas) -> None:
    """What changes before the last slice is painted, in a part that is painted or not, is shown."""
    sliced.view.set_zoom(0.8)
    QApplication.processEvents()
    assert not sliced.view.painting.rest.isEmpty()
    for number, node in enumerate(("n0", "n30", "n57")):
        sliced.patch.rename(node, f"Wombat {number}")
        sliced.patch.move(node, (number * 200.0 - 30.0, 20.0))
        sliced.select([node])
        QApplication.processEvents()
    _finish(sliced)
    _compare(sliced, "after edits")


def test_a_view_that_becomes_smaller_between_slices_is_painted(sliced: Canvas) -> None:
    """What is no longer in view does not wait to be painted."""
    sliced.view.set_zoom(0.8)
    QApplication.processEvents()
    assert not sliced.view.painting.rest.isEmpty()
    sliced.resize(500, 300)
    for _ in range(200):
        QApplication.processEvents()
    assert sliced.view.painting.rest.isEmpty()


def test_every_part_has_its_turn(sliced: Canvas) -> None:
    """Where all is to be painted again in each turn, each part of the view is still painted after some turns."""
    sliced.view.set_zoom(0.8)
    for _ in range(40):
        sliced.view.viewport().update()
        QApplication.processEvents()
    assert not sliced.view.painting.rest.isEmpty()
    _compare(sliced, "while all is requested")


def test_another_patch_has_no_stand_in(sliced: Canvas) -> None:
    """Where another patch is not painted yet, nothing of the patch before is shown."""
    sliced.set_patch(Patch(Catalogue()))
    QApplication.processEvents()
    canvas = QColor(colours.current().canvas)
    sliced.view.set_zoom(0.3)  # without the dots of the background
    QApplication.processEvents()
    assert (_shown(sliced) == (canvas.blue(), canvas.green(), canvas.red())).mean() > 0.9


def test_the_last_picture_stands_in_until_a_zoom_is_painted(sliced: Canvas) -> None:
    """Blocks that are not painted yet at a zoom are seen at once, where they will be."""
    view = sliced.view
    view.set_zoom(0.5)
    view.centerOn(500, 150)
    QApplication.processEvents()
    _finish(sliced)
    view.set_zoom(0.7)
    view.centerOn(500, 150)
    QApplication.processEvents()
    waiting = view.painting.rest.boundingRect()
    body = QColor(colours.current().node)
    shown = _shown(sliced)
    nodes = [node for node in sliced.scene.nodes.values() if not node.model.is_value]
    bodies = [view.mapFromScene(QPointF(n.place.center().x(), n.place.bottom() - 6)) for n in nodes]
    unpainted = [at for at in bodies if waiting.adjusted(9, 9, -9, -9).contains(at)]
    assert len(unpainted) > 9
    assert {tuple(shown[at.y(), at.x()]) for at in unpainted} == {(body.blue(), body.green(), body.red())}


if __name__ == "__main__":
    app = QApplication([])
    with pytest.MonkeyPatch.context() as patches:
        _slice_finely(patches)
        shown = Canvas()
        _open(shown)
        check_pictures(shown, (0.47, 1.0))
        shown.set_patch(None)
    del app
