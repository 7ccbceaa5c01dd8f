"""Video instructions against Python's integers: parts of registers, saturation, secondary operations and merges."""

import itertools

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate
from warploom.engine.diagnostics import KernelError

WORD = (1 << 32) - 1


def sources():
    """Return three arrays of words whose bytes and half words are edge values and random values."""
    rng = np.random.default_rng(23)
    edges = np.array(
        [0, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x80808080, 0x7F7F7F7F, 0x80007FFF, 0x0000FFFF, 0x00FF8001]
    )
    table = np.array(list(itertools.product(edges, repeat=2)))
    a, b = np.concatenate([table, rng.integers(0, 1 << 32, (120, 2))]).T
    return [np.ascontiguousarray(x, np.uint32) for x in (a, b, rng.integers(0, 1 << 32, len(a)))]


def part(value, selector, kind):
    """Return the byte, half word or word that a selector names, signed or not."""
    size = {"b": 8, "h": 16}.get(selector[:1], 32)
    raw = int(value) >> (int(selector[1:] or 0) * size) & ((1 << size) - 1)
    return raw - (1 << size) if kind == "s32" and raw >> (size - 1) else raw


def clamp(value, size, kind):
    """Return a value clamped to the range of `size` bits of a type."""
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if kind == "s32" else (0, (1 << size) - 1)
    return min(max(value, low), high)


def average(x, y):
    """Return half the sum, with ties rounded away from zero."""
    total = x + y
    return (total + 1 if total >= 0 else total) >> 1


RULES = {
    "vadd": lambda x, y: x + y, "vsub": lambda x, y: x - y, "vabsdiff": lambda x, y: abs(x - y),
    "vmin": min, "vmax": max, "vavrg": average,
}  # fmt: skip
TYPES = list(itertools.product(("s32", "u32"), repeat=3))


def some_types(name):
    """Return three of the eight combinations of types, which differ between instructions."""
    start = 3 * list(RULES).index(name)
    return [TYPES[(start + step) % 8] for step in range(3)]


def merged(value, selector, c):
    """Return c with one part replaced."""
    size = {"b": 8, "h": 16}[selector[0]]
    start = int(selector[1:]) * size
    mask = ((1 << size) - 1) << start
    return value << start & mask | c & ~mask


def check(host, rules, *arrays):
    """Assert that every form has its rule's results."""
    found = evaluate(host, list(rules), "b32", ("b32",) * len(arrays), *arrays)
    for form, rule in rules.items():
        expected = [rule(*map(int, row)) & WORD for row in zip(*arrays, strict=True)]
        wrong = [
            (tuple(hex(int(x)) for x in row), hex(int(value)), hex(want))
            for value, want, *row in zip(found[form], expected, *arrays, strict=True)
            if int(value) != want
        ]
        assert not wrong, (form, wrong[:3])


@pytest.mark.parametrize("name", ["vadd", "vsub", "vabsdiff", "vmin", "vmax"])
def test_scalar_arithmetic(host, name):
    """Parts of two registers are combined, saturated to the written part, and combined with the third operand."""
    rules = {}
    parts = [[("", ""), ("b0", "h1"), ("b3", "b1")], [("h0", ""), ("h1", "b2"), ("", "")]][len(name) % 2]
    for (d, a, b), (x, y) in zip(some_types(name), parts, strict=False):

        def value(p, q, d=d, a=a, b=b, x=x, y=y, size=0):
            result = RULES[name](part(p, x, a), part(q, y, b))
            return clamp(result, size, d) if size else result

        first, second = ("%a" + (f".{x}" if x else "")), ("%b" + (f".{y}" if y else ""))
        stem = f"{name}.{d}.{a}.{b}"
        rules[f"{stem} %d, {first}, {second};"] = lambda p, q, r, v=value: v(p, q)
        rules[f"{stem}.sat %d, {first}, {second};"] = lambda p, q, r, v=value: v(p, q, size=32)
        rules[f"{stem}.sat.add %d, {first}, {second}, %c;"] = lambda p, q, r, v=value: v(p, q, size=32) + r
        rules[f"{stem}.sat.min %d, {first}, {second}, %c;"] = lambda p, q, r, v=value, d=d: min(
            v(p, q, size=32), part(r, "", d)
        )
        rules[f"{stem}.sat.max %d, {first}, {second}, %c;"] = lambda p, q, r, v=value, d=d: max(
            v(p, q, size=32), part(r, "", d)
        )
        rules[f"{stem}.sat %d.b2, {first}, {second}, %c;"] = lambda p, q, r, v=value: merged(v(p, q, size=8), "b2", r)
        rules[f"{stem} %d.h1, {first}, {second}, %c;"] = lambda p, q, r, v=value: merged(v(p, q), "h1", r)
    check(host, rules, *sources())


def test_shifts(host):
    """vshl and vshr clamp or wrap their amount, and fill a signed source with its sign."""
    a, b, c = sources()
    b[::2] %= 40
    rules = {}
    for name, d, kind, mode in itertools.product(("vshl", "vshr"), ("u32", "s32"), ("u32", "s32"), ("clamp", "wrap")):

        def value(p, q, name=name, kind=kind, mode=mode, selector=""):
            amount = min(q, 32) if mode == "clamp" else q & 31
            source = part(p, selector, kind)
            return source << amount if name == "vshl" else source >> amount

        rules[f"{name}.{d}.{kind}.u32.{mode} %d, %a, %b;"] = lambda p, q, r, v=value: v(p, q)
        rules[f"{name}.{d}.{kind}.u32.sat.{mode} %d, %a, %b;"] = lambda p, q, r, v=value, d=d: clamp(v(p, q), 32, d)
        rules[f"{name}.{d}.{kind}.u32.{mode}.add %d, %a.h1, %b.b0, %c;"] = lambda p, q, r, v=value: (
            v(p, q & 255, selector="h1") + r
        )
    check(host, rules, a, b, c)


def test_comparison(host):
    """vset returns 1 or 0, which may be added or merged."""
    rules = {}
    for test, (a, b) in zip(
        ("eq", "ne", "lt", "le", "gt", "ge"), itertools.cycle(itertools.product(("s32", "u32"), repeat=2)), strict=False
    ):

        def value(p, q, test=test, a=a, b=b):
            return int(getattr(part(p, "b1", a), f"__{test}__")(part(q, "h0", b)))

        rules[f"vset.{a}.{b}.{test} %d, %a.b1, %b.h0;"] = lambda p, q, r, v=value: v(p, q)
        rules[f"vset.{a}.{b}.{test}.add %d, %a.b1, %b.h0, %c;"] = lambda p, q, r, v=value: v(p, q) + r
        rules[f"vset.{a}.{b}.{test} %d.b3, %a.b1, %b.h0, %c;"] = lambda p, q, r, v=value: merged(v(p, q), "b3", r)
    check(host, rules, *sources())


def test_multiply_and_add(host):
    """vmad can negate the product or the addend, add one, shift and clamp."""
    rules = {}
    for a, b, scale, sat in itertools.product(("s32", "u32"), ("s32", "u32"), (0, 15), ("", ".sat")):
        suffix = sat + (f".shr{scale}" if scale else "")
        for sign, (minus, minus_c) in (("", (1, 1)), ("product", (-1, 1)), ("addend", (1, -1))):
            is_signed = "s32" in (a, b) or sign
            final = "s32" if is_signed else "u32"

            def value(p, q, r, a=a, b=b, k=final, n=minus, m=minus_c, scale=scale, sat=sat, more=0):
                total = (n * part(p, "h1", a) * part(q, "", b) + m * part(r, "", k) + more) >> scale
                return clamp(total, 32, k) if sat else total

            left, right = ("-%a.h1" if sign == "product" else "%a.h1"), ("-%c" if sign == "addend" else "%c")
            rules[f"vmad.{final}.{a}.{b}{suffix} %d, {left}, %b, {right};"] = value
            if not sign:
                rules[f"vmad.{final}.{a}.{b}.po{suffix} %d, %a.h1, %b, %c;"] = lambda p, q, r, v=value: v(
                    p, q, r, more=1
                )
    check(host, rules, *sources())


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", list(RULES))
def test_several_elements_at_once(host, name, count):
    """Elements are selected from both sources, computed in parallel, and merged or added to the third operand."""
    size, letter = 32 // count, "h" if count == 2 else "b"
    whole = {2: ("10", "32"), 4: ("3210", "7654")}[count]
    chosen = {2: ("03", "21"), 4: ("0527", "7611")}[count]
    masks = {2: ("0", "1"), 4: ("1", "320")}[count]

    def lanes(p, q, selection, kind):
        words = p | q << 32
        return [
            part(words >> size * int(digit) & ((1 << size) - 1), f"{letter}0", kind) for digit in reversed(selection)
        ]

    rules = {}
    for d, a, b in some_types(name):

        def values(p, q, first, second, d=d, a=a, b=b, sat=False):
            pairs = zip(lanes(p, q, first, a), lanes(p, q, second, b), strict=True)
            found = [RULES[name](x, y) for x, y in pairs]
            return [clamp(item, size, d) for item in found] if sat else found

        def merge(found, c, written):
            for lane in written:
                c = merged(found[int(lane)], f"{letter}{lane}", c)
            return c

        stem = f"{name}{count}.{d}.{a}.{b}"
        everything = "".join(map(str, range(count)))
        rules[f"{stem} %d, %a, %b, %c;"] = lambda p, q, r, v=values, m=merge, e=everything: m(v(p, q, *whole), r, e)
        rules[f"{stem}.sat %d.{letter}{masks[1]}, %a.{letter}{chosen[0]}, %b.{letter}{chosen[1]}, %c;"] = (
            lambda p, q, r, v=values, m=merge: m(v(p, q, *chosen, sat=True), r, masks[1])
        )
        rules[f"{stem}.add %d.{letter}{masks[0]}, %a, %b.{letter}{chosen[1]}, %c;"] = lambda p, q, r, v=values: (
            r + v(p, q, whole[0], chosen[1])[int(masks[0])]
        )
        rules[f"{stem}.add %d, %a, %b, %c;"] = lambda p, q, r, v=values: r + sum(v(p, q, *whole))
    check(host, rules, *sources())


@pytest.mark.parametrize("count", [2, 4])
def test_comparisons_of_several_elements(host, count):
    """vset2 and vset4 return 1 or 0 for each element, or count the ones."""
    size, letter = 32 // count, "h" if count == 2 else "b"
    rules = {}
    for test, a, b in (("lt", "s32", "s32"), ("ge", "u32", "s32"), ("eq", "u32", "u32")):

        def ones(p, q, test=test, a=a, b=b):
            return [
                int(getattr(part(p, f"{letter}{lane}", a), f"__{test}__")(part(q, f"{letter}{lane}", b)))
                for lane in range(count)
            ]

        rules[f"vset{count}.{a}.{b}.{test} %d, %a, %b, %c;"] = lambda p, q, r, v=ones: sum(
            item << size * lane for lane, item in enumerate(v(p, q))
        )
        rules[f"vset{count}.{a}.{b}.{test}.add %d, %a, %b, %c;"] = lambda p, q, r, v=ones: r + sum(v(p, q))
    check(host, rules, *sources())


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ("vadd.s32.s32.s32 %d, %a.b31, %a;", "select one byte"),
        ("vadd.s32.s32.s32 %d.b0, %a, %a;", "give the register to merge with"),
        ("vadd2.s32.s32.s32 %d, %a.h0, %a, %a;", "select 2 elements of the 4"),
        ("vadd4.s32.s32.s32 %d.b4, %a, %a, %a;", "write elements 0 to 3"),
    ],
)
def test_wrong_selectors_are_refused(host, lines, rule):
    """A wrong selector is refused with an error that names the instruction and the allowed selectors."""
    with pytest.raises(KernelError, match=rule):
        evaluate(host, [lines], "b32", ("b32",), np.zeros(1, np.uint32))
