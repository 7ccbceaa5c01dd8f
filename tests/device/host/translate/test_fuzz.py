"""Broken PTX is a KernelError: a small part of what `tests/benchmarks/fuzz_ptx.py` does by the thousand."""

import random

import pytest

from engine.device.host import HostDevice
from engine.diagnostics import KernelError
from tests.benchmarks import fuzz_ptx
from tests.fuzzing import seeds


@pytest.mark.parametrize("seed", seeds(4))
def test_mutated_ptx_loads_or_is_refused(seed):
    """Whatever tokens are deleted, doubled, swapped or changed; every refusal names a line."""
    rng = random.Random(seed)
    outcomes = {fuzz_ptx.attempt(fuzz_ptx.mutate(fuzz_ptx.HAND_WRITTEN, rng), is_whole=False) for _ in range(60)}
    assert outcomes <= {"fine", "refused"}
    assert "refused" in outcomes


def test_the_text_that_is_mutated_is_sound():
    """Otherwise every mutant would be refused for the same reason."""
    assert fuzz_ptx.attempt(fuzz_ptx.HAND_WRITTEN) == "fine"


HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".version x.y\n",
        HEAD + ".visible .entry k() { .reg .b64 %x<18446744073709551615>; ret; }",
        HEAD + ".global .b8 x[99999999999999999999]; .visible .entry k() { ret; }",
        HEAD + ".global .b8 x[1000000000000]; .visible .entry k() { ret; }",
        HEAD + ".global .b8 x[2] = {1, 2, 3}; .visible .entry k() { ret; }",
        HEAD + ".visible .entry k() { bra; }",
        HEAD + ".visible .entry k() { ld.global.u32; }",
        HEAD + ".visible .entry k() { add.s32 1, 2, 3; }",
        HEAD + ".visible .entry k() { bar.sync; brx.idx 1; }",
        HEAD + ".visible .entry k() { .reg .b32 %r; st.global.u32 [%r+9999999999999999999999], %r; }",
        HEAD + ".visible .entry k() { call nobody; }",
        "\0" * 100,
        "{" * 5000,
    ],
)
def test_known_breakages_are_refused_or_load(text):
    """Texts that once raised something else, ran out of memory or never ended."""
    device = HostDevice(cores=1)
    try:
        device.load_module(text)
    except KernelError as problem:
        assert str(problem)
    device.close()
