"""Loads and stores: types, vectors, memory orders, cache hints and spaces."""

import numpy as np
import pytest

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
COPY = (
    HEAD
    + """.visible .entry k(.param .u64 px, .param .u64 py) {{
  .reg .b64 %x, %y, %policy, %o; .reg .b32 %t; .reg .{register} %r<8>; .shared .align 32 .b8 box[2048];
  mov.u32 %t, %tid.x; ld.param.u64 %x, [px]; mad.wide.u32 %x, %t, {size}, %x;
  ld.param.u64 %y, [py]; mad.wide.u32 %y, %t, {size}, %y;
  createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
  prefetch.global.L2 [%x]; prefetchu.L1 [%x];
  {lines}
  ret; }}"""
)


def _copy(run, lines, register, size, threads=20):
    x = np.random.default_rng(size).integers(0, 256, (threads, size)).astype(np.uint8)
    ptx = COPY.format(lines=lines, register=register, size=size)
    y = run(ptx, "k", 1, threads, x, np.zeros_like(x))[1]
    assert np.array_equal(x, y), lines


@pytest.mark.parametrize("kind", ["b8", "u16", "s32", "f32", "b64", "f64", "u64", "b128"])
def test_types(run, kind):
    """Values of every type are copied completely through global and shared memory."""
    bits = int(kind[1:])
    register = f"b{max(bits, 16)}"
    lines = f"""ld.global.{kind} %r0, [%x]; mov.u64 %o, box; mad.wide.u32 %o, %t, {bits // 8}, %o;
    st.shared.{kind} [%o], %r0; cvta.shared.u64 %o, %o; ld.{kind} %r1, [%o]; st.{kind} [%y], %r1;"""
    _copy(run, lines, register, bits // 8)


@pytest.mark.parametrize(
    ("load", "store", "count", "bits"),
    [
        ("ld.global.nc.L1::no_allocate.L2::256B.v4.f32", "st.global.cs.v4.f32", 4, 32),
        ("ld.global.nc.L1::evict_last.L2::evict_first.v8.b32", "st.global.v8.b32", 8, 32),
        ("ld.global.v4.b64", "st.global.wt.v4.b64", 4, 64),
        ("ldu.global.v2.u16", "st.weak.global.v2.u16", 2, 16),
        ("ld.volatile.global.v2.b64", "st.volatile.global.v2.b64", 2, 64),
        ("ld.relaxed.gpu.global.v2.b32", "st.release.sys.global.v2.b32", 2, 32),
        ("ld.acquire.cluster.v4.b16", "st.relaxed.cta.v4.b16", 4, 16),
        ("ld.mmio.relaxed.sys.global.b32", "st.mmio.relaxed.sys.global.b32", 1, 32),
    ],
)
def test_vectors_orders_and_hints(run, load, store, count, bits):
    """Vectors, memory orders and cache hints don't change what is copied."""
    values = ", ".join(f"%r{i}" for i in range(count))
    values = f"{{{values}}}" if count > 1 else values
    _copy(run, f"{load} {values}, [%x]; {store} [%y], {values};", f"b{bits}", count * bits // 8)


def test_a_cache_policy_may_follow_the_operands(run):
    """A register with a cache policy may follow the operands of loads and stores, and changes no value."""
    lines = """ld.global.L2::cache_hint.v2.b32 {%r0, _}, [%x], %policy; ld.global.b32 %r1, [%x+4];
    st.global.L2::cache_hint.v2.b32 [%y], {%r0, %r1}, %policy;"""
    _copy(run, lines, "b32", 8)


def test_spaces_of_generic_addresses(run):
    """isspacep tests the space of an address, and cvta.to returns the address in that space."""
    ptx = (
        HEAD
        + """.const .align 4 .b32 c[2] = {5, 6};
    .visible .entry k(.param .u64 py) { .reg .b64 %y, %l, %s, %g<3>; .reg .b32 %r<4>; .reg .pred %p;
    .local .align 4 .b32 own[4]; .shared .align 4 .b32 all[4];
    ld.param.u64 %y, [py]; mov.u64 %l, own; mov.u64 %s, all; mov.u32 %r0, 7; mov.u32 %r1, 8;
    st.local.b32 [own+4], %r0; st.shared.b32 [all+8], %r1;
    cvta.local.u64 %g0, %l; cvta.shared.u64 %g1, %s;
    ld.b32 %r2, [%g0+4]; ld.b32 %r3, [%g1+8]; st.global.v2.b32 [%y], {%r2, %r3};
    isspacep.local %p, %g0; selp.b32 %r0, 1, 0, %p; isspacep.shared %p, %g1; selp.b32 %r1, 1, 0, %p;
    isspacep.global %p, %g1; selp.b32 %r2, 1, 0, %p; isspacep.global %p, %y; selp.b32 %r3, 1, 0, %p;
    st.global.v4.b32 [%y+16], {%r0, %r1, %r2, %r3};
    cvta.to.shared.u64 %g1, %g1; ld.shared.b32 %r0, [%g1+8]; ld.const.b32 %r1, [c+4];
    st.global.v2.b32 [%y+32], {%r0, %r1}; ret; }"""
    )
    out = run(ptx, "k", 1, 1, np.zeros(12, np.int32))[0]
    assert list(out) == [7, 8, 0, 0, 1, 1, 0, 1, 8, 6, 0, 0]


WINDOWS = """.version 8.0
.target sm_90
.address_size 64
.global .align 8 .b32 gv[4];
.const .align 8 .b32 cv[4];
.visible .entry k(.param .u64 out, .param .align 8 .b8 given[16]) {
  .reg .b64 %x, %o; .reg .b32 %r; .reg .pred %p; .local .b32 lc[4]; .shared .b32 sh[4];
  ld.param.u64 %o, [out]; st.local.u32 [lc], 1; st.shared.u32 [sh], 1;
  BODY
  ret; }"""
SPACES = ("const", "global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::entry")
VARIABLES = {"gv": "global", "cv": "const", "lc": "local", "sh": "shared", "given": "param"}


def test_windows_of_generic_addresses(run):
    """A kernel's parameters and the null pointer are in the window of global memory, as on an H200."""
    body, index = [], 0
    for name in (*VARIABLES, "0"):
        space = VARIABLES.get(name)
        body.append(f"mov.u64 %x, {name};" + (f"cvta.{space}.u64 %x, %x; add.u64 %x, %x, 8;" if space else ""))
        for window in SPACES:
            body.append(f"isspacep.{window} %p, %x; selp.u32 %r, 1, 0, %p; st.global.u32 [%o+{4 * index}], %r;")
            index += 1
    out = run(WINDOWS.replace("BODY", "\n".join(body)), "k", 1, 1, np.zeros((6, 8), np.uint32), np.zeros(1, "V16")[0])
    expected = [
        [0, 1, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 0, 0],
        [0, 1, 0, 0, 0, 0, 1, 1],
        [0, 1, 0, 0, 0, 0, 0, 0],
    ]
    assert np.array_equal(out[0], expected)


ELEMENTS = """.version 7.0
.target sm_75
.address_size 64
.global .b32 words[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
.const .b8 bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
.global .u16 table[2][4] = {{10, 11, 12, 13}, {20, 21, 22, 23}};
.visible .entry k(.param .u64 out, .param .b32 given[4]) {
  .reg .b64 %o, %x, %y; .reg .b32 %r, %i; .reg .s32 %n; .reg .u16 %h; .shared .b32 sh[8]; .local .b32 lc[8];
  ld.param.u64 %o, [out]; mov.u32 %i, 3; mov.s32 %n, -1; mov.u64 %y, 4;
  LINES
  ret; }"""
READS = {
    "ld.global.u32 %r, words[2];": 2,
    "ld.global.u32 %r, words[%i];": 3,
    "ld.global.u32 %r, words[%i+1];": 4,
    "ld.global.u32 %r, words[%n+5];": 4,
    "ld.global.u32 %r, words[%y];": 4,
    "ld.global.u32 %r, words[2*3-1];": 5,
    "ld.global.u8 %r, words[7];": 7,
    "ld.global.u16 %h, table[5]; cvt.u32.u16 %r, %h;": 21,
    "ld.const.u8 %r, bytes[5];": 5,
    "ld.const.u32 %r, bytes[8];": 0x0B0A0908,
    "ld.param.u32 %r, given[1];": 77,
    "st.shared.u32 sh[1], 9; ld.shared.u32 %r, [sh+4];": 9,
    "st.local.u32 lc[%i], 8; ld.local.u32 %r, [lc+12];": 8,
    "mov.u32 %r, sh[2]; mov.u32 %i, sh; sub.u32 %r, %r, %i; mov.u32 %i, 3;": 8,
    "mov.u64 %x, words[%i]; ld.global.u32 %r, [%x+4];": 4,
    "st.shared.u32 [sh], 5; ld.u32 %r, [sh];": 5,
    "st.u32 [lc+4], 6; ld.local.u32 %r, [lc+4];": 6,
    "ld.u32 %r, [words+12];": 3,
}


def test_elements_of_arrays_and_variables_without_a_space(run):
    """An index counts elements of the declared type; an instruction without a space uses the variable's space."""
    lines = "\n".join(f"{text} st.global.u32 [%o+{4 * index}], %r;" for index, text in enumerate(READS))
    given = np.frombuffer(np.array([0, 77, 0, 0], np.uint32).tobytes(), "V16")[0]
    out = run(ELEMENTS.replace("LINES", lines), "k", 1, 1, np.zeros(len(READS), np.uint32), given)[0]
    assert dict(zip(READS, out, strict=True)) == READS


def test_a_device_function_tells_local_memory_of_its_caller(run):
    """isspacep in a function recognises local memory of its caller and of the function itself."""
    ptx = """.version 8.0
    .target sm_80
    .address_size 64
    .func (.param .b32 r) tell(.param .b64 a) { .reg .b64 %a, %b; .reg .pred %p; .reg .b32 %x, %y; LOCAL
      ld.param.b64 %a, [a]; isspacep.local %p, %a; selp.u32 %x, 1, 0, %p; isspacep.global %p, %a;
      selp.u32 %y, 2, 0, %p; add.u32 %x, %x, %y; isspacep.shared %p, %a; selp.u32 %y, 4, 0, %p; add.u32 %x, %x, %y;
      st.param.b32 [r], %x; ret; }
    .visible .entry k(.param .u64 out) {
      .reg .b64 %o, %a; .reg .b32 %v; .local .b32 lc[4]; .shared .b32 sh[4]; .param .b64 a; .param .b32 r;
      ld.param.u64 %o, [out]; st.local.b32 [lc], 1; st.shared.b32 [sh], 1;
      cvta.local.u64 %a, lc; st.param.b64 [a], %a; call (r), tell, (a); ld.param.b32 %v, [r]; st.global.b32 [%o], %v;
      cvta.shared.u64 %a, sh; st.param.b64 [a], %a; call (r), tell, (a); ld.param.b32 %v, [r];
      st.global.b32 [%o+4], %v;
      st.param.b64 [a], %o; call (r), tell, (a); ld.param.b32 %v, [r]; st.global.b32 [%o+8], %v; ret; }"""
    own = ".local .b32 mine[4]; cvta.local.u64 %b, mine; isspacep.local %p, %b; @!%p trap; st.u32 [%b], 1;"
    for local in ("", own):
        assert list(run(ptx.replace("LOCAL", local), "k", 1, 1, np.zeros(3, np.uint32))[0]) == [1, 4, 2]
