"""Broken PTX raises a KernelError; `tests/benchmarks/fuzz_ptx.py` tries thousands of cases, and this file a few."""

import random

import pytest

from tests.benchmarks import fuzz_ptx
from tests.fuzzing import seeds
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelError, TranslatorBug


@pytest.mark.parametrize("seed", seeds(4))
def test_mutated_ptx_loads_or_is_refused(seed):
    """PTX with deleted, doubled, swapped or changed tokens loads or is refused with a line."""
    rng = random.Random(seed)
    outcomes = {fuzz_ptx.attempt(fuzz_ptx.mutate(fuzz_ptx.HAND_WRITTEN, rng), is_whole=False) for _ in range(60)}
    assert outcomes <= {"fine", "refused"}
    assert "refused" in outcomes


def test_the_text_that_is_mutated_is_sound():
    """The text that is mutated loads without mutations, so mutants are not all refused for one reason."""
    assert fuzz_ptx.attempt(fuzz_ptx.HAND_WRITTEN) == "fine"


LOOP = """.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d<2>; ld.param.u64 %d1, [x]; mov.u32 %r1, 0;
A: bar.sync 0; LINE add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 9; @%p bra A; st.global.u32 [%d1], %r1; ret; """


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("add.u32 %r2, %other, 1;", "register %other must be declared"),
        ("add.u32 %other, %r2, 1;", "register %other must be declared"),
        ("add.u32 %ctaid.x, %r2, 1;", "register %ctaid.x must be declared to be written"),
        ("@%q add.u32 %r2, %r2, 1;", "register %q must be declared"),
        ("add.s649 %r2, %r2, 1;", "add.s649"),
        ("ld.global.u32 %r2, [%other+4];", "register %other must be declared"),
    ],
)
def test_wrong_names_are_errors_with_their_line(line, word):
    """A wrong name is an error with its line, whichever analysis reads it first, also in a loop with a barrier."""
    text = HEAD + ".visible .entry k(.param .u64 x) {" + LOOP.replace("LINE", line) + "}"
    device = HostDevice(cores=1)
    with pytest.raises(KernelError, match=word) as refused:
        device.load_module(text)
    assert refused.value.line == 5 and not isinstance(refused.value, TranslatorBug)
    device.close()


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
    """Texts that once crashed the translator, exhausted memory or never ended load, or are refused with a message."""
    device = HostDevice(cores=1)
    try:
        device.load_module(text)
    except KernelError as problem:
        assert str(problem)
    device.close()
