"""Hot parameters: values that take the short way and values that take the long one come in the order of the edits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from engine import Engine, Patch


@pytest.mark.parametrize("seed", range(8))
def test_the_last_edit_counts_however_many_a_frame_has(seed: int) -> None:
    """Setting, resetting, undoing and redoing in one frame leave the graph with what the patch says."""
    chance = random.Random(seed)
    patch = Patch()
    x = patch.add("io.array", data=np.ones(3, np.float32))
    scaled = patch.add("math.scale_offset")
    patch.connect(x["out"], scaled["x"])
    for scale in range(10):
        patch.set(scaled, scale=scale)

    def put() -> None:
        patch.set(scaled, scale=chance.randint(-9, 9))

    def undo() -> None:
        if len(patch.history.names) > 4:  # the block stays
            patch.undo()

    def reset() -> None:
        patch.reset(scaled, "scale")

    with Engine(patch, device="host") as engine:
        for _ in range(60):
            for _ in range(chance.randint(0, 4)):
                chance.choice((put, put, undo, undo, patch.redo, reset))()
            engine.step()
            assert engine.read(scaled["out"])[0] == np.float32(patch.value(scaled, "scale"))
