"""A large patch stays usable."""

import time

import pytest
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.app.sample_blocks import make_report
from warploom.app.canvas.canvas import Canvas
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch


@pytest.mark.feature("large")
def test_a_thousand_nodes_load_and_paint_in_time(canvas: Canvas) -> None:
    """A patch of a thousand nodes loads in less than 3 s of this thread's time, and repaints in less than 1 s."""
    patch = Patch(Catalogue())
    with patch.edit("Build"):
        last = patch.add("test_canvas.source")
        for index in range(999):
            node = patch.add("test_canvas.scale", node_id=f"n{index}", position=(index % 40 * 240, index // 40 * 96))
            if index % 10:
                patch.connect(last["out"], node["x"])
            last = node
    start = time.thread_time()
    canvas.set_patch(patch)
    canvas.fit()
    canvas.grab()
    loaded = time.thread_time()
    canvas.grab()
    painted = time.thread_time()
    assert loaded - start < 3
    assert painted - loaded < 1


def test_values_in_a_large_patch_are_offered_and_shown_in_time(hand: Hand, qtbot: QtBot) -> None:
    """Drop targets among 4000 parameters are found within 1 s, and showing 1000 values costs less than 4 paintings."""
    patch = Patch(Catalogue())
    with patch.edit("Build"):
        for index in range(500):
            wave = patch.add("test_canvas.wave", node_id=f"w{index}", position=(index % 25 * 240, index // 25 * 96))
            blend = patch.add(
                "test_canvas.blend", node_id=f"b{index}", position=(index % 25 * 240, index // 25 * 96 + 48)
            )
            patch.connect(wave["value"], blend["amount"])
    hand.canvas.set_patch(patch)
    start = time.thread_time()
    found = patch.fitting_ends(PortRef("w0", "value"))
    assert time.thread_time() - start < 1  # processor time; checking each pair of ends would take far longer
    assert len(found) == 499 * 2 + 500 * 3
    hand.canvas.view.set_zoom(1.0)
    hand.canvas.grab()
    start = time.thread_time()
    for _ in range(10):
        hand.canvas.grab()
    painting = (time.thread_time() - start) / 10
    start = time.thread_time()
    for step in range(40):
        values = {ref: step + number for number in range(500) for ref in (f"w{number}.value", f"b{number}.amount")}
        hand.canvas.show_report(make_report(values=values))
        qtbot.wait(16)
    assert (time.thread_time() - start) / 40 < 4 * painting  # each frame is painted as well
