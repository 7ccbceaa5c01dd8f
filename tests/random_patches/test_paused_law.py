"""Edits that are made and undone while an engine is paused leave no trace.

State does not advance however often a frame is shown again: that of delays, of blocks that keep it themselves, and of
buffers that are changed in place, inside regions too. Memory that a user lends is the user's to restore.
"""

from contextlib import ExitStack, suppress
from typing import Any

import pytest

from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels, Side, differences, filled
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.runtime.update.update_support import outputs
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import SetRunning

#: Blocks that keep something from frame to frame.
KEEPERS = ("tensor.train", "tensor.batches", "field.drop", "control.every", "buffer.state", "buffer.frame_delay")


def numbers(patch: Patch) -> list[tuple[str, str, float]]:
    """Return numeric parameters that can be changed a little.

    Value blocks are left out, since they move by themselves.
    """
    nodes = [node for node in patch.nodes.values() if not node.type.startswith("value.")]
    return [(node.id, name, value) for node in nodes for name, value in node.parameters.items() if type(value) is float]


@pytest.mark.parametrize("seed", seeds(2))
def test_what_is_taken_back_while_paused_leaves_no_trace(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """After edits are undone during a pause, each port has the contents of an engine that was never paused."""
    made = RandomPatch(seed, materials, wanted=[REGIONS[seed % 4], KEEPERS[seed % 6], KEEPERS[seed // 6 % 6]])
    patch = made.patch
    try:
        with ExitStack() as closing:
            closing.callback(made.close)
            sides = [Side(patch, device) for _ in range(2)]
            for side in sides:
                closing.callback(side.engine.close)
            for _ in range(3):
                for side in sides:
                    side.step(materials.lent)
            edited, launches = sides[0], sides[0].engine.core.launcher.launches
            edited.engine.post(SetRunning(False))
            for node, name, value in numbers(patch)[:4]:
                with edited.lent(materials.lent, keep=False):
                    edits: list[dict[str, Any]] = [{name: value + 1}, {name: value}]
                    for edit in edits:
                        with suppress(PatchError):  # the value may exceed its bounds
                            patch.set(node, **edit)
                        edited.show()
            edited.engine.post(SetRunning(True))
            where = f"seed {seed}, shown {edited.engine.core.launcher.launches - launches} times"
            for _ in range(2):
                for side in sides:
                    side.step(materials.lent)
                ports = sorted(outputs(patch), key=str)
                found = [filled(patch, side.read(ports)) for side in sides]
                assert not (wrong := differences(*found)), "\n".join([where, *wrong])
    finally:
        materials.take_back()
        kernels.shrink()
