"""Bounds of the numbers from which range checks are computed."""

import random

import pytest

from tests.fuzzing import seeds
from warploom.engine.host_compiler.analysis.range_arithmetic import Range, RangeArithmetic

INPUTS = {"%x0": 1024, "%x1": 1024, "%ny": 1024, "%ctaid.y": 65534, "%ctaid.x": 2**31 - 2, "%other": 2**32 - 1}
EDGES = 0, 1, -1, 15, 1023, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**63), 2**63 - 1
OPERATIONS = {
    "add i64 {}, {}": lambda a, b: a + b,
    "sub i64 {}, {}": lambda a, b: a - b,
    "mul i64 {}, {}": lambda a, b: a * b,
    "and i64 {}, {}": lambda a, b: a & b,
    "or i64 {}, {}": lambda a, b: a | b,
    "call i64 @llvm.smin.i64(i64 {}, i64 {})": min,
    "call i64 @llvm.smax.i64(i64 {}, i64 {})": max,
    "call i64 @llvm.usub.sat.i64(i64 {}, i64 {})": lambda a, b: max(a % 2**64 - b % 2**64, 0),
}


@pytest.mark.parametrize("seed", seeds(20))
def test_a_condition_is_left_out_only_where_no_launch_breaks_it(seed):
    """Of random numbers, one that is negative for some inputs stays a condition."""
    numbers, arithmetic = random.Random(seed), RangeArithmetic(row=False, width=0, prefix="n")
    launches = [{name: numbers.choice((0, 1, most, numbers.randint(0, most))) for name, most in INPUTS.items()}
                for _ in range(50)]  # fmt: skip
    known = {arithmetic.value(f"zext i32 {name} to i64"): [each[name] for each in launches] for name in INPUTS}
    known |= {str(edge): [edge] * len(launches) for edge in EDGES}
    for _ in range(200):
        text, apply = numbers.choice([*OPERATIONS.items()])
        sources = numbers.choices([*known], k=2)
        text = text.format(*sources)
        values = [(apply(a, b) + 2**63) % 2**64 - 2**63 for a, b in zip(*map(known.get, sources), strict=True)]
        before = len(arithmetic.conditions)
        arithmetic.require(text)
        name = arithmetic.value(text)
        assert name in arithmetic.conditions or min(values) >= 0, text
        assert len(arithmetic.conditions) <= before + 1
        known[name] = values


def test_places_of_a_tile_need_no_condition():
    """A place in a tile of shared memory, which the largest thread block doesn't overflow, is left out."""
    arithmetic = RangeArithmetic(row=False, width=0, prefix="n")
    row = arithmetic.value(f"mul i64 {arithmetic.value('zext i32 %y1 to i64')}, 72")
    arithmetic.require(f"sub i64 {(1 << 31) - 1}, {row}")
    arithmetic.require(f"add i64 {arithmetic.value('zext i32 %ctaid.x to i64')}, {1 << 31}")
    assert not arithmetic.conditions
    arithmetic.require(f"sub i64 {1 << 16}, {row}")
    assert len(arithmetic.conditions) == 1


@pytest.mark.parametrize("factor", [0x5555555555555556, -0x5555555555555555, 1 << 61, (1 << 32) + 1])
def test_a_product_that_may_overflow_has_no_range(factor):
    """The numbers between the first and the last product could lie anywhere: 3 * 0x5555555555555556 is 2."""
    arithmetic = RangeArithmetic(row=False, width=0, prefix="n")
    last = arithmetic.value("zext i32 %x1 to i64")
    for slope in (0, 1, None):
        assert arithmetic.apply("mul", [Range("0", last, 1, slope), arithmetic.constant(factor)]) is None
        assert arithmetic.apply("mul", [Range("0", last, 1, slope), arithmetic.constant(-72)]) is not None
    assert not arithmetic.conditions
