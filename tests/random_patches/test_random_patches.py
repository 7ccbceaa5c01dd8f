"""Random patches of all block types have the same contents in every engine, with any fusion, sharing and edits."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels, run_patch
from tests.random_patches.devices import EXACT, JUMPS, across
from tests.random_patches.materials import Materials
from tests.random_patches.patches import TYPES
from tests.random_patches.recipes import LEFT_OUT
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.value_blocks import ValueBlock
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device


def _meets_the_world(block: type[Block]) -> bool:
    """True for a live block of a file or device, which no random patch has."""
    return block.is_live and block.id not in TYPES


#: Sample blocks are left out, which readers of `blocks/README.md` write.
LIBRARY = {
    block.id
    for block in default_catalogue().all()
    if block.__module__.startswith("warploom.blocks.")
    and not block.id.startswith("sample.")
    and not _meets_the_world(block)
}
#: Each patch has at least one block of each of these sets, in turn.
WANTED = sorted(TYPES)


def test_every_block_type_takes_part() -> None:
    """Every block type of the library takes part, except those of files, devices and ports."""
    assert LIBRARY - TYPES.keys() == LEFT_OUT.keys()
    listening = {b.id for b in default_catalogue().all() if issubclass(b, ValueBlock) and b("node").source()}
    assert listening & LIBRARY <= LEFT_OUT.keys()


@pytest.mark.parametrize("seed", seeds(8))
def test_random_patches_hold_the_same_in_every_engine(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """Engines with fusion and sharing, without either, and reset after the last edit have the same contents."""
    outcome = run_patch(seed, materials, device, wanted=[WANTED[seed % len(WANTED)]])
    kernels.shrink()
    assert not outcome.differences, "\n".join([f"seed {seed}", *outcome.differences, outcome.patch])


def test_exact_and_jumping_types_are_apart() -> None:
    """Exact and jumping block types are disjoint, and all of them are in random patches."""
    assert not EXACT & JUMPS.keys()
    assert EXACT | JUMPS.keys() <= TYPES.keys()


@pytest.mark.gpu
def test_a_gpu_holds_what_the_host_holds(tmp_path: Path) -> None:
    """The same patches with the same edits are equal on a GPU and the host, or near if a block rounds differently."""
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
