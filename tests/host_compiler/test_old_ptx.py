"""Forms of PTX that the manual still defines but compilers no longer write, and constant data."""

import numpy as np
import pytest

from warploom.engine.diagnostics import KernelError

OLD = """.version 2.3
.target sm_20
.address_size 64
.global .u64 where = table;
.global .u8 spread[8] = {0xFF(table), 0xFF00(table), 0xFF0000(table), 0xFF000000(table), 0xFF00000000(table),
  0xFF0000000000(table), 0xFF000000000000(table), 0xFF00000000000000(table)};
.global .u32 table[3][2] = {{1, 2}, {3}, {(1 << 4) | 3, WARP_SZ * 2}};
.const[3] .f32 factor = 1.5;
.func (.reg .u32 rv) twice (.reg .u32 x) { add.u32 rv, x, x; ret; }
.entry k (.param .u64 out, .param .u32 n)
{
  .reg .u64 a, b; .reg .u32 r, i<3>; .reg .v4 .f32 v; .reg .pred p; .reg .f32 f;
  mov.u32 r, %tid.x; ld.param.u64 a, [out]; ld.param.u32 i0, [n];
  setp.ge.u32 p, r, i0; @p bra done;
  call (i1), twice, (r);
  { .reg .u32 i1; mov.u32 i1, 7; add.u32 r, r, i1; }
  ld.const[3].f32 f, [factor];
  mov.v4.f32 v, {f, 0f00000000, 1.0, 0d4000000000000000};
  mul.f32 v.y, v.x, v.w; cvt.rzi.u32.f32 i2, v.g; add.u32 i1, i1, i2;
  ld.global.u64 b, [where]; ld.global.u32 i2, [b+16]; add.u32 i1, i1, i2;
  ld.global.u64 b, [spread]; ld.global.u32 i2, [b+4*5]; add.u32 i1, i1, i2;
  sub.u32 r, r, 7; cvt.u64.u32 b, r; shl.b64 b, b, 2; add.u64 a, a, b;
  st.global.u32 [a], i1;
done: exit;
}
"""


def test_old_forms(run):
    """Registers as parameters, vectors, constant banks, masks and nested scopes give the expected sums."""
    out = run(OLD, "k", 1, 32, np.zeros(32, np.uint32), np.int32(20))[0]
    assert np.array_equal(out, np.where(np.arange(32) < 20, 2 * np.arange(32) + 3 + 19 + 64, 0))


def test_a_source_may_be_a_register_plus_a_number(run):
    """Each thread adds the number to its own register, whose value is unchanged."""
    source = """.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 out) {
    .reg .u64 a, t; .reg .u32 r; mov.u32 r, %tid.x; ld.param.u64 a, [out]; mad.wide.u32 a, r, 16, a;
    cvt.u64.u32 t, r; st.global.u64 [a], t + 5; add.u32 r, r + 1, r + -9; st.global.u32 [a+8], r + 0; ret; }"""
    out = run(source, "k", 1, 32, np.zeros((32, 4), np.int32))[0]
    thread = np.arange(32)
    assert np.array_equal(out.T[:3], [thread + 5, 0 * thread, 2 * thread - 8])


LOCAL = """.version 2.3
.target sm_20
.address_size 64
.local .align 4 .b8 own[64];
.func (.reg .u32 rv) sum (.reg .u32 x) {
  .reg .u32 y; ld.local.u32 y, [own+4]; add.u32 rv, x, y; st.local.u32 [own+8], x; ret; }
.func again () { .reg .u32 y, z; ld.local.u32 y, [own+8]; call (z), sum, (y); st.local.u32 [own+12], z; ret; }
.entry k (.param .u64 out)
{
  .reg .u64 a, b; .reg .u32 r, s;
  mov.u32 r, %tid.x; st.local.u32 [own+4], r; call (s), sum, (7); call again; ld.local.u32 r, [own+12];
  mad.lo.u32 s, s, 1000, r; ld.param.u64 a, [out]; mov.u32 r, %tid.x; mad.wide.u32 a, r, 4, a;
  st.global.u32 [a], s; exit;
}
"""


def test_a_local_variable_of_the_module_is_one_for_each_thread(run):
    """A kernel and the functions that it calls share a module's local variable within each thread."""
    out = run(LOCAL, "k", 1, 40, np.zeros(40, np.uint32))[0]
    assert np.array_equal(out, (np.arange(40) + 7) * 1001)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("wgmma.fence.sync.aligned;", "mma.sync"),
        ("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f0, %f1}];", "buffer"),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.tile [%r0], [%rd, {%r0, %r0}], [%r0];", "cp.async"),
        ("multimem.red.global.add.f32 [%rd], %f0;", "atomic"),
        (
            "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r1},{%r0,%r1},{%r0,%r1},{%r0,%r1},%r0,0;",
            "dense",
        ),
    ],
)
def test_unsupported_forms_are_refused_with_their_line(host, line, instead):
    """Unsupported forms are refused with their line and a replacement."""
    ptx = f""".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k() {{
    .reg .f32 %f<4>; .reg .b32 %r<2>; .reg .b64 %rd;
    {line}
    ret; }}"""
    with pytest.raises(KernelError, match=f"PTX line 6: {line.split()[0].rstrip(';')}.*{instead}"):
        host.load_module(ptx)


def test_addresses_of_32_bits_are_refused(host):
    """Modules with 32-bit addresses are refused with a remedy."""
    with pytest.raises(KernelError, match=r"line 3.*64"):
        host.load_module(".version 2.0\n.target sm_20\n.address_size 32\n")
