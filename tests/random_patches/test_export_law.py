"""A patch that was exported computes what the patch computes."""

import pytest

from tests.export.replaying import Replay
from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.random_patches.test_replay_law import QUICK
from warploom import Engine
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.standalone import exported_graph
from warploom.engine.patch.changes import PortRef

FRAMES = 3


@pytest.mark.parametrize("seed", seeds(2))
def test_exported_data_computes_what_an_engine_does(
    device: Device, materials: Materials, kernels: KeptKernels, seed: int
) -> None:
    """Each output of a random patch with regions has the same bits after some frames of its exported data."""
    seed += 2  # the first two patches use memory of another program
    made = RandomPatch(seed, materials, wanted=[REGIONS[seed % 5], REGIONS[(seed + 1) % 5]], types=QUICK)
    made.close()
    try:
        graph = exported_graph(made.patch)
    except PatchError as problem:
        assert not made.is_sound or "must run without Warploom" in str(problem), f"seed {seed}: {problem}"
        return
    replay = Replay(graph, device)
    with Engine(made.patch, device) as engine:
        for _ in range(FRAMES):
            engine.step()
            replay.step()
        for output in graph.outputs:
            expected = engine.read(PortRef(output.node, output.port))
            assert replay.read(output) == expected.tobytes(), f"seed {seed}: {output}"
    replay.close()
    kernels.shrink()
