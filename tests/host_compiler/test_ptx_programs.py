"""Random PTX programs have the results of a reference that runs all threads in lockstep."""

import random

import numpy as np
import pytest

from tests.fuzzing import FACTOR, seeds
from tests.host_compiler.ptx_programs import Program, module
from tests.host_compiler.ptx_statements import Launch
from warploom.engine.device.host.device import HostDevice

#: Programs in one kernel, and kernels in one module.
PROGRAMS, KERNELS = 8, 8


@pytest.fixture
def quick():
    """A device that runs quickly compiled code."""
    device = HostDevice(cores=1)
    yield device
    device.close()


def check(device, seed, count=KERNELS):
    """Run the programs of one seed, in `count` kernels of one module, with one launch each."""
    rng = random.Random(seed)
    launch = Launch(rng.choice((1, 2, 3)), rng.choice((32, 34, 48, 64)), rng.randint(-3, 40), rng.randint(-5, 9))
    kernels = [
        [Program((seed * KERNELS + kernel) * PROGRAMS + place, f"{place}") for place in range(PROGRAMS)]
        for kernel in range(count)
    ]
    expected = [np.stack([program.settle(launch) for program in programs]) for programs in kernels]
    loaded = device.load_module(module(kernels, launch, rng.choice(("b32", "s32", "u32"))))
    x = device.upload(launch.x)
    for number, (programs, wanted) in enumerate(zip(kernels, expected, strict=True)):
        out = device.upload(np.zeros_like(wanted))
        arguments = [x, out, launch.p, launch.q, launch.size]
        device.launch(loaded.kernel(f"k{number}"), (launch.blocks,), (launch.threads,), arguments)
        found = out.download().reshape(wanted.shape)
        for program, given, right in zip(programs, found, wanted, strict=True):
            assert np.array_equal(given, right), "\n".join([str(launch), *program.lines()])
        out.free()
    x.free()
    loaded.unload()


@pytest.mark.parametrize("group", range(2))
def test_random_ptx_computes_what_a_reference_does(quick, group):
    """Loops with starts, bounds and steps of every kind, with loads, barriers and exchanges, match the reference."""
    for seed in seeds(6 if FACTOR == 1 else 160)[group::2]:
        check(quick, seed)


def test_optimised_code_of_random_ptx_computes_the_same(host):
    """Random PTX matches the reference in optimised code, which relies on assumptions about threads in lockstep."""
    for seed in seeds(1):
        check(host, seed, 3 if FACTOR == 1 else KERNELS)
