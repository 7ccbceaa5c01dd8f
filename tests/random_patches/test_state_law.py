"""Frames are the same whether those before them were run, or their state was taken from another engine or kept."""

from contextlib import ExitStack

import pytest

from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels, Side, differences, filled
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.random_patches.test_paused_law import KEEPERS
from tests.random_patches.test_replay_law import QUICK
from tests.runtime.update.update_support import outputs
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.engine_state import EngineState
from warploom.engine.protocol.messages import Seek, SetRunning, StateCopy

VALUES = ("value.lfo", "value.counter", "value.smooth", "value.ramp", "value.random", "value.expression")
FRAMES = 6


@pytest.mark.parametrize("seed", seeds(1))
def test_a_frame_is_the_same_however_it_is_reached(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """A new engine that goes on from a state, and one that goes back and forth, have the frame of a run from 0."""
    wanted = [
        REGIONS[seed % 4],
        KEEPERS[-1 - seed % 6],
        KEEPERS[seed // 6 % 6 - 2],
        VALUES[seed % 6],
        VALUES[(seed + 1) % 6],
    ]
    made = RandomPatch(seed, materials, wanted=wanted, types=QUICK)
    if seed % 2:
        made.patch.set_timeline(length=100)  # a frame that is gone to is then shown as it will be
    with ExitStack() as closing:
        closing.callback(kernels.shrink)
        closing.callback(materials.take_back)
        closing.callback(made.close)
        sides = [Side(made.patch, device) for _ in range(3)]
        for side in sides:
            closing.callback(side.engine.close)
        plain, other, jumping = sides
        at, state = seed % FRAMES, None
        for frame in range(FRAMES):
            if frame == at:
                state = taken(plain)
            plain.step(materials.lent)
        if plain.engine.core.updates.compiled is None or state is None:
            return
        if seed % 2:  # the time of a timeline's frame is that of its number
            other.engine.post(StateCopy(state, 0.0))
        else:
            with other.lent(materials.lent):
                other.engine.put_state(state)
        for _ in range(FRAMES - at):
            other.step(materials.lent)
        for _ in range(FRAMES + seed % 3):
            jumping.step(materials.lent)
        jumping.engine.post(SetRunning(False))
        with jumping.lent(materials.lent):
            go_to(jumping, 2)
            jumping.engine.post(Seek(1, exact=False))
            jumping.engine.core.frame(free_running=True)
            go_to(jumping, FRAMES - 1)
        ports = sorted(outputs(made.patch), key=str)
        expected = filled(made.patch, plain.read(ports))

        def compare(name: str, side: Side) -> None:
            wrong = differences(expected, filled(made.patch, side.read(ports)))
            assert not wrong, "\n".join([f"seed {seed}, {name}", *wrong])

        compare("state", other)
        if seed % 2:
            compare("shown", jumping)
        jumping.step(materials.lent)
        compare("seek", jumping)


def taken(side: Side) -> EngineState | None:
    """Return the state of an engine, None if a block's can't be saved."""
    try:
        return side.engine.read_state()
    except PatchError:
        return None


def go_to(side: Side, frame: int) -> None:
    """Go to a frame exactly, as a paused engine does on its thread."""
    core = side.engine.core
    side.engine.post(Seek(frame, exact=True))
    report = core.frame(free_running=True)
    while report.replay_to is not None or core.player.running or core.player.shows_next:
        report = core.frame(free_running=True)
    assert core.clock.moment.frame == frame and report.exact
