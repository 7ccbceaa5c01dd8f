"""A replay, one operation after the other, computes what the graph computes, so it meets the same faults."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fuzzing import seeds
from tests.protocol.faulty_patches import LINES, faulty_blocks
from tests.random_patches.comparing import KeptKernels, Side, differences, errors, filled
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.random_patches.test_reading_law import TYPES
from tests.runtime.update.update_support import outputs
from warploom.engine.device.device import Device
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import DeviceError
from warploom.engine.patch.regions import TOP
from warploom.engine.protocol.questions import Doing

#: Blocks whose kernels compile quickly.
QUICK = tuple(name for name in TYPES if name.startswith(("math.", "reduce.", "buffer.")))
FRAMES = 3


@pytest.fixture(scope="module")
def blocks() -> Iterator[None]:
    """The block that fails."""
    with faulty_blocks():
        yield


@pytest.fixture
def closing(materials: Materials, kernels: KeptKernels) -> Iterator[ExitStack]:
    """Closes what a test makes."""
    with ExitStack() as stack:
        stack.callback(kernels.shrink)
        stack.callback(materials.take_back)
        yield stack


def a_patch(seed: int, materials: Materials, closing: ExitStack) -> RandomPatch:
    """Return a random patch with regions."""
    made = RandomPatch(seed, materials, wanted=[REGIONS[seed % 4], REGIONS[(seed + 1) % 4]], types=QUICK)
    closing.callback(made.close)
    return made


def a_side(made: RandomPatch, device: Device, closing: ExitStack) -> Side:
    """Return an engine that runs the patch."""
    side = Side(made.patch, device)
    closing.callback(side.engine.close)
    return side


@pytest.mark.parametrize("seed", seeds(1))
def test_a_replay_computes_what_frames_do(device: Device, materials: Materials, closing: ExitStack, seed: int) -> None:
    """Each port has the same contents after some frames, whether none, some or all were replayed by operations."""
    made = a_patch(seed, materials, closing)
    plain, replayed = (a_side(made, device, closing) for _ in range(2))
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
    found = [filled(made.patch, side.read(ports)) for side in (plain, replayed)]
    assert not (wrong := differences(*found)), "\n".join([f"seed {seed}", *wrong])


@pytest.mark.parametrize("seed", seeds(2))
def test_a_replay_fails_where_frames_fail(tmp_path: Path, closing: ExitStack, blocks: None, seed: int) -> None:
    """A block anywhere in a patch, that fails in some launch, fails in the same frame of a replay, which names it.

    Only on the host: a fault on a GPU would end all work of this process there.
    """
    device = HostDevice()
    closing.callback(device.close)
    materials = Materials(tmp_path, device)
    closing.callback(materials.take_back)
    made = a_patch(seed, materials, closing)
    regions = [node.id for node in made.patch.nodes.values() if node.type in REGIONS]
    kinds = [entry for entry in LINES if entry != "endless"]
    region, entry, at = made.any_of((TOP, *regions)), made.any_of(kinds), made.any_of((0.0, 1.0, 2.0, 7.0))
    made.patch.add("test_faults.fault", node_id="bad", region=region, entry=entry, at=at)
    plain, replayed = (a_side(made, device, closing) for _ in range(2))
    frame, where = 0, f"seed {seed}: {entry} in {region or 'no region'}, launch {at}"
    try:
        while frame < FRAMES:
            plain.step(materials.lent)
            frame += 1
    except DeviceError:
        pass
    with replayed.lent(materials.lent):
        before = step = replayed.engine.replay()
        while step.fault is None and step.frame < FRAMES:
            before, step = step, replayed.engine.replay()
    assert step.frame == frame, where
    if frame < FRAMES and plain.engine.core.updates.compiled is not None:
        assert step.fault is not None, where
        assert (step.fault.node, before.nodes, before.kernel) == ("bad", ("bad",), entry), where
        around = [node for node in made.patch.scopes.chain(region) if node in regions]
        loops = [node for node in around if made.patch.nodes[node].type in ("control.for", "control.while")]
        assert [loop for loop, _ in before.loops] == loops, where
