"""A kernel that reads a number in the same frame computes what it computes when a person types that number.

The number of a frame is what the CPU has one frame later, rounded and clamped for the parameter.
"""

from contextlib import ExitStack

import pytest

from engine import Engine
from engine.device.device import Device
from engine.diagnostics import PatchError
from engine.patch.changes import PortRef
from engine.patch.rules import is_drivable
from tests.fuzzing import seeds
from tests.random_patches.comparing import KeptKernels
from tests.random_patches.materials import Materials
from tests.random_patches.patches import REGIONS, RandomPatch
from tests.random_patches.test_reading_law import TYPES
from tests.runtime.update.update_support import contents, outputs

FRAMES = 4


def drive(made: RandomPatch, *, connect: bool) -> list[PortRef]:
    """Add numbers of ports, and return parameters that they drive; without `connect`, they don't drive them."""
    patch, found = made.patch, []
    for number in range(8):
        source, which = made.any_of(sorted(made.layouts, key=str)), made.any_of(("element", "mean", "largest"))
        node = made.any_of(sorted(patch.nodes))
        block_type = patch.block_type(node)
        assert block_type is not None
        live = [name for name, spec in block_type.parameters.items() if is_drivable(spec) and not block_type.is_value]
        target = PortRef(node, made.any_of(live or [""]))
        if not live or patch.source_of(target) is not None:
            continue
        try:
            with patch.edit("drive"):
                value = patch.add("value.from_buffer", node_id=f"number{number}", number=which)
                patch.connect(source, value["x"])
                if connect:
                    patch.connect(value["value"], target)
        except PatchError:  # the port has no numbers
            continue
        found.append(target)
    return found


@pytest.mark.parametrize("seed", seeds(4))
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
