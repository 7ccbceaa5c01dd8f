"""Random patches of all block types hold the same in every engine, whatever was fused, shared and edited."""

from collections.abc import Iterator

import pytest

from engine.blocktypes.value_blocks import ValueBlock
from engine.catalogue.catalogue import default_catalogue
from engine.device.device import Device
from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels, run_patch
from tests.random_patches.materials import Materials
from tests.random_patches.patches import TYPES
from tests.random_patches.recipes import LEFT_OUT

LIBRARY = {block.id for block in default_catalogue().all() if block.__module__.startswith("blocks.")}
#: What a patch must have at least one of, in turn.
WANTED = sorted(TYPES)


def test_every_block_type_takes_part() -> None:
    """Except those with a reason, which are no others than those that listen to a device or a port."""
    assert LIBRARY - TYPES.keys() == LEFT_OUT.keys()
    listening = {b.id for b in default_catalogue().all() if issubclass(b, ValueBlock) and b("node").source()}
    assert listening & LIBRARY == LEFT_OUT.keys()


@pytest.fixture(scope="module")
def kernels(device: Device) -> Iterator[KeptKernels]:
    """What the patches of this file compiled."""
    kept = KeptKernels(device)
    with kept.used():
        yield kept


@pytest.fixture(scope="module")
def materials(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Materials:
    """The files that patches read."""
    return Materials(tmp_path_factory.mktemp("materials"), device)


@pytest.mark.parametrize("seed", seeds(40))
def test_random_patches_hold_the_same_in_every_engine(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """Fused and sharing memory, with neither, and begun anew after the last edit; the patch is in the message."""
    outcome = run_patch(seed, materials, device, wanted=[WANTED[seed % len(WANTED)]])
    kernels.shrink()
    assert not outcome.differences, "\n".join([f"seed {seed}", *outcome.differences, outcome.patch])
