"""Carries, 24-bit and dot products, packed half words, saturation and wide registers, against Python's integers."""

import itertools

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate

EDGES = {
    8: [0, 1, 0x7F, 0x80, 0xFF, 0x55],
    16: [0, 1, 2, 255, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 12345],
    32: [0, 1, 2, 31, 0x7FFF, 0x00800000, 0x00FFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x80FF7F01,
         123456789, 0xDEADBEEF],
    64: [0, 1, 2, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, 1234567890123456789],
}  # fmt: skip


def columns(bits, count, limit=600):
    """Return combinations of edge values."""
    rows = list(itertools.product(EDGES[bits], repeat=count))
    if len(rows) > limit:
        rows = [rows[index] for index in np.random.default_rng(3).choice(len(rows), limit, replace=False)]
    return [np.ascontiguousarray(column) for column in np.array(rows, f"u{bits // 8}").T]


def signed(value, bits):
    """Return the lower bits of an integer as a signed integer."""
    value = int(value) & ((1 << bits) - 1)
    return value - (1 << bits) if value >> (bits - 1) else value


def as_type(value, kind):
    """Return bits as an integer of a type such as s32."""
    bits = int(kind[1:])
    return signed(value, bits) if kind[0] == "s" else int(value) & ((1 << bits) - 1)


def limited(value, bits, is_signed):
    """Return an integer clamped to the range of the bits."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    return min(max(value, low), high)


@pytest.mark.parametrize("bits", [32, 64])
def test_carry_chains(host, bits):
    """add, sub and mad with carries compute in twice the width."""
    a, b, c = columns(bits, 3)
    mask = (1 << bits) - 1
    register = "%t" if bits == 32 else "%x"
    high = f"{register}0"
    forms = {
        f"add.cc.u{bits} {high}, %a, %b; addc.u{bits} %d, %c, %c;": lambda x, y, z: 2 * z + (x + y >> bits),
        f"add.cc.u{bits} {high}, %a, %b; addc.cc.u{bits} {high}, %b, %c; addc.u{bits} %d, 0, 0;":
            lambda x, y, z: (y + z + (x + y >> bits)) >> bits,
        f"sub.cc.u{bits} {high}, %a, %b; subc.u{bits} %d, %c, %b;": lambda x, y, z: z - y - (x < y),
        f"sub.cc.u{bits} {high}, %a, %b; subc.cc.u{bits} {high}, %b, %c; subc.u{bits} %d, 0, 0;":
            lambda x, y, z: -(y - z - (x < y) < 0),
        f"mad.lo.cc.u{bits} {high}, %a, %b, %c; madc.hi.u{bits} %d, %a, %b, 0;":
            lambda x, y, z: x * y + z >> bits,
        f"mad.hi.cc.s{bits} {high}, %a, %b, %c; addc.u{bits} %d, 0, 0;":
            lambda x, y, z: ((signed(x, bits) * signed(y, bits) >> bits) & mask) + z >> bits,
        f"add.cc.s{bits} {high}, %a, %b; madc.lo.s{bits} %d, %a, %b, %c;":
            lambda x, y, z: x * y + z + (x + y >> bits),
    }  # fmt: skip
    found = evaluate(host, list(forms), f"b{bits}", (f"b{bits}",) * 3, a, b, c)
    for form, rule in forms.items():
        expected = [rule(int(x), int(y), int(z)) & mask for x, y, z in zip(a, b, c, strict=True)]
        assert found[form].tolist() == expected, form


def test_products_of_24_bits(host):
    """mul24 and mad24 multiply the lower 24 bits; .hi returns bits 16 to 47."""
    a, b, c = columns(32, 3)
    forms = {}
    for kind in ("s32", "u32"):

        def product(x, y, kind=kind):
            return as_type(x, f"{kind[0]}24") * as_type(y, f"{kind[0]}24")

        forms |= {
            f"mul24.lo.{kind} %d, %a, %b;": lambda x, y, z, p=product: p(x, y),
            f"mul24.hi.{kind} %d, %a, %b;": lambda x, y, z, p=product: p(x, y) >> 16,
            f"mad24.lo.{kind} %d, %a, %b, %c;": lambda x, y, z, p=product: p(x, y) + z,
            f"mad24.hi.{kind} %d, %a, %b, %c;": lambda x, y, z, p=product: (p(x, y) >> 16) + z,
        }
    forms["mad24.hi.sat.s32 %d, %a, %b, %c;"] = lambda x, y, z: limited(
        signed(signed(x, 24) * signed(y, 24) >> 16, 32) + signed(z, 32), 32, True
    )
    forms["mad.hi.sat.s32 %d, %a, %b, %c;"] = lambda x, y, z: limited(
        (signed(x, 32) * signed(y, 32) >> 32) + signed(z, 32), 32, True
    )
    found = evaluate(host, list(forms), "b32", ("b32",) * 3, a, b, c)
    for form, rule in forms.items():
        assert found[form].tolist() == [
            rule(int(x), int(y), int(z)) & 0xFFFFFFFF for x, y, z in zip(a, b, c, strict=True)
        ], form


def test_dot_products(host):
    """dp4a and dp2a multiply signed or unsigned bytes and half words, and their sum wraps."""
    a, b, c = columns(32, 3)
    forms = {}
    for first, second in itertools.product("su", repeat=2):
        forms[f"dp4a.{first}32.{second}32 %d, %a, %b, %c;"] = lambda x, y, z, f=first, s=second: (
            z + sum(as_type(x >> n, f"{f}8") * as_type(y >> n, f"{s}8") for n in (0, 8, 16, 24))
        )
        for start, half in ((0, "lo"), (16, "hi")):
            forms[f"dp2a.{half}.{first}32.{second}32 %d, %a, %b, %c;"] = lambda x, y, z, f=first, s=second, n=start: (
                z
                + as_type(x, f"{f}16") * as_type(y >> n, f"{s}8")
                + as_type(x >> 16, f"{f}16") * as_type(y >> n + 8, f"{s}8")
            )
    found = evaluate(host, list(forms), "b32", ("b32",) * 3, a, b, c)
    for form, rule in forms.items():
        assert found[form].tolist() == [
            rule(int(x), int(y), int(z)) & 0xFFFFFFFF for x, y, z in zip(a, b, c, strict=True)
        ], form


def test_packed_half_words(host):
    """u16x2 and s16x2 compute both half words; .relu replaces negative ones by 0."""
    a, b = columns(32, 2)
    low, high = (x.view(np.uint16).reshape(-1, 2).astype(np.int64) for x in (a, b))
    slow, shigh = (x.view(np.int16).reshape(-1, 2).astype(np.int64) for x in (a, b))
    forms = {
        "add.u16x2 %d, %a, %b;": low + high, "add.s16x2 %d, %a, %b;": slow + shigh,
        "min.u16x2 %d, %a, %b;": np.minimum(low, high), "max.s16x2 %d, %a, %b;": np.maximum(slow, shigh),
        "min.relu.s16x2 %d, %a, %b;": np.maximum(np.minimum(slow, shigh), 0),
    }  # fmt: skip
    found = evaluate(host, list(forms), "b32", ("b32",) * 2, a, b)
    for form, expected in forms.items():
        assert found[form].view(np.uint16).tolist() == (expected & 0xFFFF).ravel().tolist(), form


def test_saturation_distance_and_least_values(host):
    """add.sat and sub.sat clamp, sad adds a distance, abs and neg of the least value wrap, and min.relu clamps to 0."""
    a, b, c = columns(32, 3)
    forms = {
        "add.sat.s32 %d, %a, %b;": lambda x, y, z: limited(signed(x, 32) + signed(y, 32), 32, True),
        "sub.sat.s32 %d, %a, %b;": lambda x, y, z: limited(signed(x, 32) - signed(y, 32), 32, True),
        "sad.s32 %d, %a, %b, %c;": lambda x, y, z: abs(signed(x, 32) - signed(y, 32)) + z,
        "sad.u32 %d, %a, %b, %c;": lambda x, y, z: abs(x - y) + z,
        "abs.s32 %d, %a;": lambda x, y, z: abs(signed(x, 32)),
        "neg.s32 %d, %a;": lambda x, y, z: -x,
        "max.relu.s32 %d, %a, %b;": lambda x, y, z: max(signed(x, 32), signed(y, 32), 0),
    }
    found = evaluate(host, list(forms), "b32", ("b32",) * 3, a, b, c)
    for form, rule in forms.items():
        assert found[form].tolist() == [
            rule(int(x), int(y), int(z)) & 0xFFFFFFFF for x, y, z in zip(a, b, c, strict=True)
        ], form


def test_results_fill_wider_registers(host):
    """Signed results are sign-extended into wider registers, others zero-extended, and sources are truncated."""
    a, b = columns(32, 2)
    forms = {
        "cvt.s8.s32 %d, %a;": lambda x, y: signed(x, 8), "cvt.u8.u32 %d, %a;": lambda x, y: x & 0xFF,
        "cvt.s16.s8 %d, %a;": lambda x, y: signed(x, 8), "cvt.u16.s8 %d, %a;": lambda x, y: signed(x, 8) & 0xFFFF,
        "cvt.s64.s16 %d, %a;": lambda x, y: signed(x, 16),
        "cvt.sat.u8.s32 %d, %a;": lambda x, y: limited(signed(x, 32), 8, False),
        "cvt.sat.s8.u32 %d, %a;": lambda x, y: min(x, 127),
        "mov.b64 %x0, {%a, %b}; cvt.s32.s16 %d, %x0;": lambda x, y: signed(x, 16),
        "mov.b64 %x0, {%a, %b}; cvt.u32.u64 %d, %x0;": lambda x, y: x,
    }  # fmt: skip
    found = evaluate(host, list(forms), "b64", ("b32",) * 2, a, b)
    for form, rule in forms.items():
        assert found[form].tolist() == [rule(int(x), int(y)) & ((1 << 64) - 1) for x, y in zip(a, b, strict=True)], form


def test_moves_pack_and_unpack(host):
    """mov splits and joins registers of 16 to 128 bits; `_` drops a part, and vector registers have components."""
    a, b = columns(64, 2)
    mask = (1 << 64) - 1
    forms = {
        ".reg .b128 %w; mov.b128 %w, {%a, %b}; mov.b128 {_, %d}, %w;": lambda x, y: y,
        ".reg .b16 %h<4>; mov.b64 {%h0, %h1, %h2, %h3}, %a; mov.b64 %d, {%h3, %h2, %h1, %h0};":
            lambda x, y: sum((x >> 16 * n & 0xFFFF) << 48 - 16 * n for n in range(4)),
        "mov.b64 {%t0, %t1}, %a; mov.b64 %d, {%t1, %t0};": lambda x, y: x >> 32 | x << 32 & mask,
        ".reg .b8 %n<4>; mov.b64 {%t0, _}, %a; mov.b32 {%n0, %n1, %n2, %n3}, %t0; mov.b32 %t1, {%n3, %n2, %n1, %n0};"
        " cvt.u64.u32 %d, %t1;": lambda x, y: int.from_bytes((x & 0xFFFFFFFF).to_bytes(4, "little"), "big"),
        ".reg .v4 .b32 %v; .reg .v4 .b32 %u; mov.b64 {%v.x, %v.y}, %a; mov.b64 {%v.z, %v.w}, %b; mov.v4.b32 %u, %v;"
        " mov.b64 %d, {%u.w, %u.x};": lambda x, y: y >> 32 | (x & 0xFFFFFFFF) << 32,
    }  # fmt: skip
    found = evaluate(host, list(forms), "b64", ("b64",) * 2, a, b)
    for form, rule in forms.items():
        assert found[form].tolist() == [rule(int(x), int(y)) for x, y in zip(a, b, strict=True)], form


def test_vector_registers_are_passed_to_functions(host):
    """A function of old PTX takes and returns a vector register; a brace list moves element by element."""
    ptx = """.version 6.5
.target sm_70
.address_size 64
.func (.reg .v2 .u32 out) both (.reg .v2 .u32 in) {
  add.u32 out.x, in.x, in.y;
  mov.u32 out.y, in.x;
  ret;
}
.visible .entry k(.param .u64 from, .param .u64 to) {
  .reg .u64 a, b; .reg .v2 .u32 v; .reg .v4.u16 w; .reg .u16 e, f, g, h;
  ld.param.u64 a, [from]; ld.param.u64 b, [to];
  ld.global.v2.u32 v, [a];
  call (v), both, (v);
  st.global.v2.u32 [b], v;
  ld.global.v4.u8 {e, f, g, h}, [a];
  mov.v4.u16 w, {f, g, h, e};
  mov.v4.u16 {g, h, e, f}, w;
  st.global.v4.u8 [b+8], {e, f, g, h};
  ret;
}"""
    given, taken = host.upload(np.array([0x04030201, 5], np.uint32)), host.upload(np.zeros(3, np.uint32))
    host.launch(host.load_module(ptx).kernel("k"), (1,), (1,), [given, taken])
    assert taken.download().tolist() == [0x04030206, 0x04030201, 0x03020104]
    given.free()
    taken.free()
