"""set, setp, selp and slct: every test, combination and type of result."""

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate

WORDS = np.array([0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF], np.uint32)
A, B = (np.ascontiguousarray(x).ravel() for x in np.meshgrid(WORDS, WORDS))
FLOATS = np.array([0, -0.0, 1, -1, 1e-45, -1e-45, np.inf, -np.inf, np.nan], np.float32)
X, Y = (np.ascontiguousarray(x).ravel() for x in np.meshgrid(FLOATS, FLOATS))
TESTS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def test_results_of_set(host):
    """set returns all ones, or 1.0 as a float, where the test combined with a predicate is true, and 0 elsewhere."""
    odd = (A & 1) == 1
    combine = {"": lambda t: t, ".and": lambda t: t & odd, ".or": lambda t: t | odd, ".xor": lambda t: t ^ odd}
    forms = {}
    for test, rule in TESTS.items():
        for name, mix in combine.items():
            if name and test not in ("lt", "ne"):
                continue
            last = ", %p" if name else ""
            start = "and.b32 %t0, %a, 1; setp.eq.u32 %p, %t0, 1; " if name else ""
            forms[f"{start}set.{test}{name}.u32.s32 %d, %a, %b{last};"] = (
                mix(rule(A.view("i4"), B.view("i4"))) * 0xFFFFFFFF
            )
            forms[f"{start}set.{test}{name}.f32.u32 %d, %a, %b{last};"] = mix(rule(A, B)) * 0x3F800000
    for test, name in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        forms[f"set.{test}.s32.u32 %d, %a, %b;"] = TESTS[name](A, B) * 0xFFFFFFFF
    found = evaluate(host, list(forms), "b32", ("b32",) * 2, A, B)
    for form, expected in forms.items():
        assert found[form].tolist() == expected.tolist(), form


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_float_comparisons_and_both_predicates(host, ftz):
    """For NaN, ordered tests are false and unordered tests true; the second predicate combines the opposite result."""
    x, y = ((np.where(abs(v) < 2.0**-126, 0, v) if ftz else v) for v in (X, Y))
    unordered = np.isnan(x) | np.isnan(y)
    forms = {}
    for test, rule in TESTS.items():
        ordered = rule(x, y) & ~unordered
        for name, holds in ((test, ordered), (test + "u", ordered | unordered)):
            forms[f"setp.{name}{ftz}.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;"] = holds
            forms[f"setp.{name}{ftz}.f32 _|%p, %a, %b; selp.b32 %d, 1, 0, %p;"] = ~holds
            forms[f"set.{name}{ftz}.f32.f32 %d, %a, %b;"] = holds * 0x3F800000
    forms[f"setp.num{ftz}.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;"] = ~unordered
    forms[f"setp.nan{ftz}.f32 %p, %a, %b; selp.b32 %d, 1, 0, %p;"] = unordered
    forms[f"setp.nan.f32 %q, %a, %a; setp.lt.or{ftz}.f32 %p|%q, %a, %b, !%q; selp.b32 %d, 1, 0, %q;"] = ~(
        (x < y) & ~unordered
    ) | ~np.isnan(x)
    found = evaluate(host, list(forms), "b32", ("b32",) * 2, X, Y)
    for form, expected in forms.items():
        assert found[form].tolist() == expected.tolist(), form


def test_selection_by_sign(host):
    """slct selects the first source for 0, -0 or more, and the second for negative numbers and NaN."""
    first, second = np.arange(len(X), dtype=np.uint32), np.arange(len(X), dtype=np.uint32) + 1000
    forms = {
        "slct.b32.f32 %d, %a, %b, %c;": np.where(X >= 0, first, second),
        "slct.ftz.u32.f32 %d, %a, %b, %c;": np.where(X >= -1e-40, first, second),
        "slct.f32.s32 %d, %a, %b, %c;": np.where(X.view("i4") >= 0, first, second),
    }
    found = evaluate(host, list(forms), "b32", ("b32",) * 3, first, second, X)
    for form, expected in forms.items():
        assert found[form].tolist() == expected.tolist(), form


def test_predicates_carried_round_a_loop(host):
    """setp with two results reads its third source before it writes, in every turn of a loop."""
    lines = (
        "setp.ne.u32 %p, %a, %a; mov.u32 %t0, 3; mov.u32 %d, 0; again: "
        "setp.lt.or.s32 %p|%q, %a, %b, %p; selp.u32 %t1, 1, 0, %p; selp.u32 %t2, 2, 0, %q; or.b32 %t1, %t1, %t2; "
        "shl.b32 %d, %d, 2; or.b32 %d, %d, %t1; and.pred %p, %q, %q; sub.u32 %t0, %t0, 1; "
        "setp.ne.u32 %q, %t0, 0; @%q bra again;"
    )
    (found,) = evaluate(host, [lines], "b32", ("b32",) * 2, A, B).values()
    for a, b, value in zip(A.view("i4"), B.view("i4"), found, strict=True):
        carried, expected = False, 0
        for _ in range(3):
            first, second = a < b or carried, a >= b or carried
            expected, carried = expected << 2 | first | second << 1, second
        assert value == expected, (a, b)
