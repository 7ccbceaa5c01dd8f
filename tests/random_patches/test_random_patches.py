"""Random patches of all block types have the same contents in every engine, with any fusion, sharing and edits."""

from contextlib import closing
from pathlib import Path

import pytest

from engine.blocktypes.value_blocks import ValueBlock
from engine.catalogue.catalogue import default_catalogue
from engine.device.device import Device
from engine.device.open import open_device
from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels, run_patch
from tests.random_patches.devices import EXACT, JUMPS, across
from tests.random_patches.materials import Materials
from tests.random_patches.patches import TYPES
from tests.random_patches.recipes import LEFT_OUT

#: Without samples, which someone who follows `blocks/README.md` writes.
LIBRARY = {
    block.id
    for block in default_catalogue().all()
    if block.__module__.startswith("blocks.") and not block.id.startswith("sample.")
}
#: What a patch must have at least one of, in turn.
WANTED = sorted(TYPES)


def test_every_block_type_takes_part() -> None:
    """Except those with a reason, which are no others than those that listen to a device or a port."""
    assert LIBRARY - TYPES.keys() == LEFT_OUT.keys()
    listening = {b.id for b in default_catalogue().all() if issubclass(b, ValueBlock) and b("node").source()}
    assert listening & LIBRARY == LEFT_OUT.keys()


@pytest.mark.parametrize("seed", seeds(40))
def test_random_patches_hold_the_same_in_every_engine(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """Fused and sharing memory, with neither, and begun again after the last edit; the patch is in the message."""
    outcome = run_patch(seed, materials, device, wanted=[WANTED[seed % len(WANTED)]])
    kernels.shrink()
    assert not outcome.differences, "\n".join([f"seed {seed}", *outcome.differences, outcome.patch])


def test_exact_and_jumping_types_are_apart() -> None:
    """Exact and jumping types are disjoint, and all of them take part."""
    assert not EXACT & JUMPS.keys()
    assert EXACT | JUMPS.keys() <= TYPES.keys()


@pytest.mark.gpu
def test_a_gpu_holds_what_the_host_holds(tmp_path: Path) -> None:
    """The same patches with the same edits on both: equal, or near where a block rounds otherwise."""
    host, cuda, kernels, found = open_device("host"), open_device("cuda:0"), KeptKernels(), []
    with closing(host), closing(cuda), kernels.used():
        for seed in seeds(48):
            outcomes = []
            for device in (host, cuda):
                folder = tmp_path / device.info.name.replace(":", "")
                folder.mkdir(exist_ok=True)
                wanted = [WANTED[seed % len(WANTED)]]
                outcomes.append(run_patch(seed, Materials(folder, device), device, wanted=wanted))
            found += [f"seed {seed}: {text}" for text in across(*outcomes)]
            kernels.shrink()
    assert not found, "\n".join(found)
