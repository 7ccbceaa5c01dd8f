"""Logic, shifts, fields, counts and permutations against Python's integers."""

import itertools

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate

WORD = (1 << 32) - 1
EDGES = [0, 1, 2, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x80FF7F01, 0xAAAAAAAA, 0x55555555, 0x12345678, 0xFEDCBA98]


def words(count):
    """Return combinations of edge words and random ones."""
    rng = np.random.default_rng(29)
    rows = list(itertools.product(EDGES, repeat=count))
    rows = [rows[index] for index in rng.permutation(len(rows))[:200]]
    table = np.concatenate([np.array(rows), rng.integers(0, 1 << 32, (60, count))])
    return [np.ascontiguousarray(column) for column in table.astype(np.uint32).T]


def check(host, rules, kind, *arrays):
    """Assert that every form has its rule's results."""
    mask = (1 << int(kind[1:])) - 1
    found = evaluate(host, list(rules), kind, tuple(f"b{8 * array.itemsize}" for array in arrays), *arrays)
    for form, rule in rules.items():
        expected = [rule(*map(int, row)) & mask for row in zip(*arrays, strict=True)]
        assert found[form].tolist() == expected, form


def test_tables_of_lop3(host):
    """lop3's table has a result for each of eight combinations; its optional predicate is true if any bit is set."""
    a, b, c = words(3)
    rules = {}
    for table in range(5, 256, 15):

        def rule(x, y, z, table=table):
            total = 0
            for index in range(8):
                if table >> index & 1:
                    total |= (x if index & 4 else ~x) & (y if index & 2 else ~y) & (z if index & 1 else ~z)
            return total & WORD

        rules[f"lop3.b32 %d, %a, %b, %c, {table};"] = rule
    and_rule, nothing = rules["lop3.b32 %d, %a, %b, %c, 125;"], "setp.eq.u32 %q, %a, 1;"
    rules[f"{nothing} lop3.or.b32 %t0|%p, %a, %b, %c, 125, %q; selp.b32 %d, 1, 0, %p;"] = lambda x, y, z: (
        and_rule(x, y, z) != 0 or x == 1
    )
    rules[f"{nothing} lop3.and.b32 _|%p, %a, %b, %c, 125, !%q; selp.b32 %d, 1, 0, %p;"] = lambda x, y, z: (
        and_rule(x, y, z) != 0 and x != 1
    )
    check(host, rules, "b32", a, b, c)


def test_modes_of_prmt(host):
    """Each mode of prmt selects its byte pattern by the selector's two lower bits."""
    a, b, c = words(3)

    def rule(pattern):
        def permuted(x, y, z):
            data = (y << 32 | x).to_bytes(8, "little")
            return int.from_bytes(bytes(data[index] for index in pattern(z & 3)), "little")

        return permuted

    patterns = {
        "f4e": lambda n: [n, n + 1, n + 2, n + 3], "b4e": lambda n: [(n - k) % 8 for k in range(4)],
        "rc8": lambda n: [n] * 4, "ecl": lambda n: [max(n, k) for k in range(4)],
        "ecr": lambda n: [min(n, k) for k in range(4)], "rc16": lambda n: [2 * (n & 1), 2 * (n & 1) + 1] * 2,
    }  # fmt: skip
    rules = {f"prmt.b32.{mode} %d, %a, %b, %c;": rule(pattern) for mode, pattern in patterns.items()}

    def generic(x, y, z):
        data = (y << 32 | x).to_bytes(8, "little")
        found = []
        for nibble in (z >> 4 * index & 15 for index in range(4)):
            byte = data[nibble & 7]
            found.append((255 if byte & 128 else 0) if nibble & 8 else byte)
        return int.from_bytes(bytes(found), "little")

    check(host, rules | {"prmt.b32 %d, %a, %b, %c;": generic}, "b32", a, b, c)


def nth_set(mask, base, offset):
    """Return the position that fns finds, by walking from bit to bit."""
    if offset == 0:
        return base if mask >> base & 1 else WORD
    position, left, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= position < 32:
        if mask >> position & 1:
            if left == 0:
                return position
            left -= 1
        position += step
    return WORD


def test_nth_set_bit(host):
    """fns walks up or down from a bit to the n-th set bit."""
    rng = np.random.default_rng(31)
    mask = np.concatenate([rng.integers(0, 1 << 32, 300), np.full(40, WORD), np.zeros(20)]).astype(np.uint32)
    base = rng.integers(0, 32, len(mask), dtype=np.uint32)
    offset = rng.integers(-36, 37, len(mask), dtype=np.int32)
    offset[:20] = 0
    found = evaluate(host, ["fns.b32 %d, %a, %b, %c;"], "b32", ("b32",) * 3, mask, base, offset.view(np.uint32))
    expected = [nth_set(int(m), int(b), int(o)) for m, b, o in zip(mask, base, offset, strict=True)]
    assert next(iter(found.values())).tolist() == expected


def test_masks_and_extensions(host):
    """bmsk makes fields of ones, and szext extends the lower bits, with sizes clamped or wrapped."""
    a, b, _ = words(3)
    b = b % np.uint32(70)
    c = np.roll(b, 7)

    def extend(value, size, mode, is_signed):
        if size >= 32 and mode == "clamp":
            return value
        size %= 32
        low = value & ((1 << size) - 1)
        return low - (1 << size) if is_signed and size and low >> (size - 1) else low

    rules = {
        "bmsk.clamp.b32 %d, %b, %c;": lambda x, y, z: ((1 << min(z, 32)) - 1) << min(y, 32),
        "bmsk.wrap.b32 %d, %b, %c;": lambda x, y, z: ((1 << z % 32) - 1) << y % 32,
    }
    for mode, kind in itertools.product(("clamp", "wrap"), ("s32", "u32")):
        rules[f"szext.{mode}.{kind} %d, %a, %b;"] = lambda x, y, z, m=mode, k=kind: extend(x, y, m, k == "s32")
    check(host, rules, "b32", a, b, c)


@pytest.mark.parametrize("bits", [32, 64])
def test_fields_counts_and_leading_bits(host, bits):
    """bfe, bfi, bfind, clz, popc and brev match Python in both widths, also for fields that reach past the register."""
    rng = np.random.default_rng(37)
    mask = (1 << bits) - 1
    edges = [0, 1, mask, 1 << (bits - 1), (1 << (bits - 1)) - 1, 0x55 << (bits - 10)]
    a = np.concatenate([np.array(edges * 40, np.uint64), rng.integers(0, 1 << 63, 200, dtype=np.uint64)]).astype(
        f"u{bits // 8}"
    )
    b = np.roll(a, 3)
    start = rng.choice(np.array([0, 1, 7, 31, 32, 33, 63, 64, 65, 255, 256], np.uint32), len(a))
    length = rng.choice(np.array([0, 1, 8, 31, 32, 33, 63, 64, 65, 255, 257], np.uint32), len(a))

    def field_numbers(position, count):
        # Numbers above 255 behave as on an H200, since the manual leaves them undefined.
        return (position & 255, count & 255) if bits == 32 else (position, count)

    def extract(value, position, count, is_signed):
        position, count = field_numbers(position, count)
        number = value - (1 << bits) if is_signed and value >> (bits - 1) else value
        if not count:
            return 0
        field = number >> position
        low = field & ((1 << count) - 1)
        # The sign of a signed field is its top bit, or the register's top bit if the field reaches past it.
        top = min(position + count - 1, bits - 1)
        return low - (1 << count) if is_signed and value >> top & 1 else low

    def insert(value, base, position, count):
        position, count = field_numbers(position, count)
        place = ((1 << count) - 1) << position & mask
        return base & ~place | (value << position) & place

    rules = {
        f"bfe.u{bits} %d, %a, %c, %e;": lambda x, y, p, n: extract(x, p, n, False),
        f"bfe.s{bits} %d, %a, %c, %e;": lambda x, y, p, n: extract(x, p, n, True),
        f"bfi.b{bits} %d, %a, %b, %c, %e;": insert,
        f"brev.b{bits} %d, %a;": lambda x, *_: int(f"{x:0{bits}b}"[::-1], 2),
        f"cnot.b{bits} %d, %a;": lambda x, *_: x == 0,
        f"not.b{bits} %d, %a;": lambda x, *_: ~x,
    }
    check(host, rules, f"b{bits}", a, b, start, length)

    def leading(value, is_signed):
        if is_signed and value >> (bits - 1):
            value = ~value & mask
        return value.bit_length() - 1

    counts = {
        f"popc.b{bits} %d, %a;": lambda x: x.bit_count(),
        f"clz.b{bits} %d, %a;": lambda x: bits - x.bit_length(),
        f"bfind.u{bits} %d, %a;": lambda x: leading(x, False),
        f"bfind.s{bits} %d, %a;": lambda x: leading(x, True),
        f"bfind.shiftamt.u{bits} %d, %a;": lambda x: bits - 1 - leading(x, False) if x else -1,
        f"bfind.shiftamt.s{bits} %d, %a;": lambda x: bits - 1 - leading(x, True) if leading(x, True) >= 0 else -1,
    }
    check(host, counts, "b32", a)


def test_funnel_shifts(host):
    """shf extracts a word from the middle of two words, with its amount clamped or wrapped."""
    a, b, c = words(3)
    c = c % np.uint32(70)
    rules = {}
    for mode in ("clamp", "wrap"):

        def step(n, mode=mode):
            return min(n, 32) if mode == "clamp" else n % 32

        rules[f"shf.l.{mode}.b32 %d, %a, %b, %c;"] = lambda x, y, z, s=step: (y << 32 | x) << s(z) >> 32
        rules[f"shf.r.{mode}.b32 %d, %a, %b, %c;"] = lambda x, y, z, s=step: (y << 32 | x) >> s(z)
    check(host, rules, "b32", a, b, c)


def test_logic_of_predicates(host):
    """and, or, xor, not and mov of predicates match Python's operators, also with negated operands."""
    a, b = (x % np.uint32(2) for x in words(2))
    start = "setp.ne.u32 %p, %a, 0; setp.ne.u32 %q, %b, 0;"
    end = "selp.u32 %d, 1, 0, %p;"
    rules = {
        f"{start} and.pred %p, %p, %q; {end}": lambda x, y: x & y,
        f"{start} or.pred %p, %p, %q; {end}": lambda x, y: x | y,
        f"{start} xor.pred %p, %p, %q; {end}": lambda x, y: x ^ y,
        f"{start} not.pred %p, %q; {end}": lambda x, y: 1 - y,
        f"{start} mov.pred %p, %q; {end}": lambda x, y: y,
        f"{start} and.pred %p, %p, !%q; {end}": lambda x, y: x & (1 - y),
    }
    check(host, rules, "b32", a, b)
