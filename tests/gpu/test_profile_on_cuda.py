"""Reported times of kernels that run for a known time by the GPU's own clock."""

import math
from pathlib import Path

import numpy as np
import pytest

from warploom import Engine, Patch, ProfilingLevel
from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port
from warploom.engine.device.device import Device

pytestmark = pytest.mark.gpu
SPIN = """extern "C" __global__ void spin(float* out, int microseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begin < 1000ull * microseconds);
    out[0] = microseconds;
}
"""
TIMES_US = (2, 20, 100, 1000)
TURNS = 5


@pytest.fixture
def spin(tmp_path: Path) -> str:
    """Define a block that runs for a given time, and return its type."""
    path = tmp_path / "spin.cu"
    path.write_text(SPIN)

    class Spin(Block, id="test_profile.spin"):
        """A block that runs for a given time."""

        x: In[f32] = port(doc="What it waits for.", optional=True, advised=False)
        out: Out[f32] = port(shape="[1]", doc="How long.")
        microseconds: int = param(10, min=0, doc="How long.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(Kernel(str(path), "spin"), num_threads=1, args=(self.out, self.microseconds))

    return Spin.id


@pytest.mark.parametrize("level", [ProfilingLevel.PER_BLOCK, ProfilingLevel.PER_KERNEL])
def test_known_times_are_told_within_5_percent_or_2_us(cuda: Device, spin: str, level: ProfilingLevel) -> None:
    """Reported times are within 5 % or 2 µs of the true times; in regions they are the sum of the turns.

    The shortest time of several frames counts, since other processes may use the GPU during a frame, and no kernel ends
    early. If a time is still wrong after 40 frames, more frames run.
    """
    patch = Patch()
    loop = patch.add("control.for", count=TURNS)
    yes = patch.add("io.array", data=np.ones(1, np.uint32))
    branch = patch.add("control.if")
    patch.connect(yes["out"], branch["condition"])
    wanted_us = {}
    for region, turns in (("", 1), (loop.id, TURNS), (branch.id, 1)):
        for time_us in TIMES_US:
            node = patch.add(spin, region=region, microseconds=time_us)
            wanted_us[node.id] = turns * time_us, turns
    with Engine(patch, cuda, profiling=level) as engine:
        engine.core.profiler.sampler.share = 1e9  # sample every frame
        least_ns = dict.fromkeys(wanted_us, math.inf)
        wrong: dict[str, tuple[int, float]] = {}
        for frame in range(1000):
            engine.step()
            # A node in a region has several spans; this dict keeps the last one, which is its kernel's.
            busy_ns = {span.node: span.busy_ns for span in engine.core.profiler.profile().spans}
            wrong.clear()
            for node, (time_us, turns) in wanted_us.items():
                least_ns[node] = min(least_ns[node], busy_ns[node])
                off_us = least_ns[node] / 1e3 - time_us
                if abs(off_us) > max(0.05 * time_us, 2.0 * turns):
                    wrong[node] = time_us, round(off_us, 2)
            if frame > 40 and not wrong:
                break
    assert not wrong, "microseconds asked for, and how far off"
