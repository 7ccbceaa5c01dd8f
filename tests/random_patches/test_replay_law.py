"""A replay, one operation after the other, computes what the graph computes, so it meets the same faults."""

from contextlib import ExitStack

import pytest

from engine.device.device import Device
from engine.protocol.questions import Doing
from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels, Side, differences, errors, filled
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.random_patches.test_reading_law import TYPES
from tests.runtime.update.update_support import outputs

FRAMES = 3


@pytest.mark.parametrize("seed", seeds(3))
def test_a_replay_computes_what_frames_do(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """Each port has the same contents after some frames, whether none, some or all were replayed by operations."""
    made = RandomPatch(seed, materials, wanted=[REGIONS[seed % 4], REGIONS[(seed + 1) % 4]], types=TYPES)
    try:
        with ExitStack() as closing:
            closing.callback(made.close)
            sides = [Side(made.patch, device) for _ in range(2)]
            for side in sides:
                closing.callback(side.engine.close)
            plain, replayed = sides
            for _ in range(FRAMES):
                report = plain.step(materials.lent)
            if plain.engine.core.updates.compiled is None:
                return
            with replayed.lent(materials.lent):
                from_frame = seed % (FRAMES + 1)
                while (step := replayed.engine.replay(from_frame)).frame < FRAMES:
                    assert step.fault is None, step
                    assert step.doing is not Doing.FRAME or step.frame < from_frame
            assert errors(replayed.engine.core._reporter.last) == errors(report)
            ports = sorted(outputs(made.patch), key=str)
            found = [filled(made.patch, side.read(ports)) for side in sides]
            assert not (wrong := differences(*found)), "\n".join([f"seed {seed}", *wrong])
    finally:
        materials.take_back()
        kernels.shrink()
