"""Calls: structs, registers, tables of functions, aliases, and functions that wait."""

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code, which is translated as for the optimiser."""
    return quick_host


SOURCE = """
struct Big { int a; double b; float c[5]; };
__noinline__ __device__ Big make(int a, Big other) {
  other.a += a; other.b *= 2; other.c[4] += other.c[0];
  return other;
}
__noinline__ __device__ int one(int x) { return x + 1; }
__noinline__ __device__ int two(int x) { return x * x; }
__device__ int (*const table[2])(int) = {one, two};
__noinline__ __device__ int depth(int n) { return n < 2 ? n : depth(n - 1) + depth(n - 2); }
extern "C" __global__ void k(int* out, double* more, Big given) {
  int t = threadIdx.x;
  Big made = make(t, given);
  out[t] = made.a + table[t & 1](t) + depth(t % 10);
  more[t] = made.b + made.c[4];
}"""

REGISTERS = """.version 7.8
.target sm_75
.address_size 64
.func (.param .b32 r) sum (.param .b32 x, .param .b32 y) {
  .reg .b32 %a, %b; ld.param.b32 %a, [x]; ld.param.b32 %b, [y]; bar.warp.sync 0xffffffff;
  shfl.sync.idx.b32 %b, %b, 0, 31, 0xffffffff; add.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) plain (.param .b32 x, .param .b32 y) {
  .reg .b32 %a, %b; ld.param.b32 %a, [x]; ld.param.b32 %b, [y]; sub.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }
.alias other, plain;
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %r, %q; .reg .b64 %a, %f; .reg .pred %p;
  mov.u32 %t, %tid.x; add.u32 %q, %t, 5;
  call (%r), sum, (%t, %q);
  call.uni (%q), other, (%r, 2);
  setp.lt.u32 %p, %t, 16; mov.u64 %f, plain;
  shape: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
  @%p call (%q), %f, (%q, 1), shape;
  targets: .calltargets plain, other;
  call (%q), %f, (%q, 1), targets;
  ld.param.u64 %a, [out]; mad.wide.u32 %a, %t, 4, %a; st.global.b32 [%a], %q; ret; }
"""


def test_structures_tables_and_recursion(run, dialect):
    """A struct is passed and returned by value, a function is called through a table, and a function calls itself."""
    big = np.zeros(1, [("a", "i4"), ("_", "i4"), ("b", "f8"), ("c", "f4", 5), ("__", "i4")])
    big["a"], big["b"], big["c"] = 3, 1.25, np.arange(5) + 10
    out, more = run(SOURCE, "k", 1, 40, np.zeros(40, np.int32), np.zeros(40), big[0], dialect=dialect)
    t = np.arange(40)
    fibonacci = np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34])[t % 10]
    assert np.array_equal(out, 3 + t + np.where(t & 1, t * t, t + 1) + fibonacci)
    assert np.array_equal(more, np.full(40, 2.5 + 24))


def test_registers_and_numbers_as_arguments(run):
    """Registers and numbers may be arguments without .param variables, also in calls by pointer and with waits."""
    out = run(REGISTERS, "k", 1, 32, np.zeros(32, np.int32))[0]
    t = np.arange(32)
    assert np.array_equal(out, t + 5 - 2 - 1 - (t < 16))


TAKEN = """.version 8.3
.target sm_90
.address_size 64
.func (.param .b32 r) pick(.param .align 8 .b8 s[24], .param .b32 which) {
  .reg .b64 %p, %q; .reg .b32 %i, %v, %w;
  ld.param.b32 %i, [which]; mov.b64 %p, s; mad.wide.u32 %p, %i, 4, %p;
  READ
  st.local.b32 [%p], 99; ld.local.b32 %w, [%p]; add.u32 %v, %v, %w;
  WAIT
  st.param.b32 [r], %v; ret; }
.visible .entry k(.param .u64 out) {
  .reg .b64 %o; .reg .b32 %t, %v; .param .align 8 .b8 s[24]; .param .b32 which; .param .b32 r;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 8, %o;
  st.param.v2.b32 [s], {10, 11}; st.param.v2.b32 [s+8], {12, 13}; st.param.v2.b32 [s+16], {14, %t};
  st.param.b32 [which], %t; call (r), pick, (s, which); ld.param.b32 %v, [r]; st.global.b32 [%o], %v;
  call (r), pick, (s, which); ld.param.b32 %v, [r]; st.global.b32 [%o+4], %v; ret; }"""


@pytest.mark.parametrize("wait", ["", "bar.sync 0;"], ids=["called", "inlined"])
@pytest.mark.parametrize(
    "read",
    [
        "ld.local.b32 %v, [%p];",
        "cvta.local.u64 %q, %p; ld.b32 %v, [%q];",
        "ld.param.b32 %v, [%p];",
        "ld.param::func.b32 %v, [%p];",
        "cvta.param.u64 %q, s; mad.wide.u32 %q, %i, 4, %q; ld.b32 %v, [%q];",
    ],
)
def test_a_parameter_whose_address_is_taken_is_local(run, read, wait):
    """A parameter whose address is taken is a copy, so the caller and later calls don't see writes to it."""
    out = run(TAKEN.replace("READ", read).replace("WAIT", wait), "k", 1, 6, np.zeros((6, 2), np.uint32))[0]
    assert np.array_equal(out, np.array([10, 11, 12, 13, 14, 5])[:, None].repeat(2, 1) + 99)
