"""A large patch stays usable."""

from __future__ import annotations

import time

from app.canvas import Canvas
from engine.blocktypes.catalogue import Catalogue
from engine.patch.document import Patch


def test_a_thousand_nodes_load_and_paint_in_time(canvas: Canvas) -> None:
    """Loading takes less than 3 s of this thread and a repaint of all of them less than 1 s."""
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
