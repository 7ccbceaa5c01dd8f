"""A kernel that reads a number in the same frame computes what it computes when a person types that number.

The number of a frame is what the CPU has one frame later, rounded and clamped for the parameter.
"""

from contextlib import ExitStack

import pytest

from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.runtime.update.update_support import contents, outputs
from warploom import Engine
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.rules import is_drivable

FRAMES, DRIVES = 3, 6
#: Blocks with live parameters, fused and not, whose patches compile quickly.
TYPES = (
    *("math.scale_offset", "math.scale_offset", "math.saxpy", "math.add", "kernel.expression", "reduce.sum"),
    *("buffer.copy", "buffer.assign", "buffer.constant", "buffer.frame_delay", "buffer.state", "random.uniform"),
)


def drive(made: RandomPatch, *, connect: bool) -> list[PortRef]:
    """Add numbers of ports, and return parameters that they drive; without `connect`, they don't drive them."""
    patch, found = made.patch, []
    types = [(node, block_type) for node in sorted(patch.nodes) if (block_type := patch.block_type(node)) is not None]
    free = [
        PortRef(node, name)
        for node, block_type in types
        for name, spec in block_type.parameters.items()
        if is_drivable(spec) and not block_type.is_value and patch.source_of(PortRef(node, name)) is None
    ]
    sources = [port for port, layout in made.layouts.items() if layout.dtype.kind in ("float", "integer", "boolean")]
    made.chance.shuffle(free)
    for index, target in enumerate(free[:DRIVES]):
        try:
            with patch.edit("drive"):
                kind = made.any_of(("element", "mean", "largest"))
                value = patch.add("value.from_buffer", node_id=f"number{index}", number=kind)
                patch.connect(made.any_of(sorted(sources, key=str)), value["x"])
                if connect:
                    patch.connect(value["value"], target)
        except PatchError:  # the number lies in another branch, or depends on what it would drive
            continue
        found.append(target)
    return found


@pytest.mark.parametrize("seed", seeds(3))
def test_a_number_of_this_frame_counts_as_if_it_were_typed(
    device: Device, kernels: KeptKernels, materials: Materials, seed: int
) -> None:
    """All ports of all frames have the same bits in both patches, with regions, state and blocks in other orders."""
    frames = []
    values: list[dict[str, float]] = []
    followed: set[PortRef] = set()
    try:
        with ExitStack() as closing:
            driven, typed = (RandomPatch(seed, materials, wanted=[REGIONS[seed % 4]], types=TYPES) for _ in range(2))
            for made in (driven, typed):
                closing.callback(made.close)
            targets = drive(driven, connect=True)
            assert targets == drive(typed, connect=False)
            ports = sorted(outputs(driven.patch), key=str)
            with Engine(driven.patch, device) as engine:
                for _ in range(FRAMES + 1):
                    report = engine.step()
                    frames.append(contents(engine, ports))
                    values.append(dict(report.values))
                    followed |= {PortRef(n, name) for n, each in report.nodes.items() for name in each.this_frame}
            with Engine(typed.patch, device) as engine:
                for frame in range(FRAMES):
                    for target in targets:
                        known = values[frame + (target in followed)].get(str(target))
                        if known is not None:
                            typed.patch.set(target.node, **{target.port: known})
                    engine.step()
                    found = contents(engine, ports)
                    wrong = [port for port, held in frames[frame].items() if found.get(port) != held]
                    assert not wrong, f"seed {seed}, frame {frame}: {wrong} with {followed}"
    finally:
        materials.take_back()
        kernels.shrink()
