"""Functions that call themselves directly, through others or through pointers, as deep as the stack allows."""

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelError, KernelFault


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code, which is translated as for the optimiser."""
    return quick_host


HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 out, .param .u32 n) {
  .reg .b64 %x; .reg .b32 %n, %t; .param .b32 given; .param .b32 result;
  ld.param.u64 %x, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mad.wide.u32 %x, %t, 4, %x;
  st.param.b32 [given], %n; call (result), FUNCTION, (given); ld.param.b32 %n, [result];
  st.global.u32 [%x], %n; ret; }"""
# Sums the numbers up to n, with a placeholder before the recursive call.
SUM = """.func (.param .b32 result) sum(.param .b32 given) {
  .reg .b32 %n, %less, %rest; .reg .b64 %self; .reg .pred %p; .param .b32 a; .param .b32 b; LOCAL
  ld.param.b32 %n, [given]; setp.eq.u32 %p, %n, 0; @%p bra zero;
  STEP
  sub.u32 %less, %n, 1; st.param.b32 [a], %less;
  CALL
  ld.param.b32 %rest, [b]; add.u32 %rest, %rest, %n; st.param.b32 [result], %rest; ret;
  zero: st.param.b32 [result], 0; ret; }
"""
POINTER = """mov.u64 %self, sum;
  shape: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (b), %self, (a), shape;"""
MUTUAL = """.func (.param .b32 result) odd(.param .b32 given);
""" + "".join(
    f""".func (.param .b32 result) {name}(.param .b32 given) {{
  .reg .b32 %n; .reg .pred %p; .param .b32 a; .param .b32 b;
  ld.param.b32 %n, [given]; st.param.b32 [result], {int(name == "even")}; setp.eq.u32 %p, %n, 0; @%p ret;
  sub.u32 %n, %n, 1; st.param.b32 [a], %n; call (b), {other}, (a); ld.param.b32 %n, [b];
  st.param.b32 [result], %n; ret; }}
"""
    for name, other in (("even", "odd"), ("odd", "even"))
)


def _sum(call="call (b), sum, (a);", step="", local=""):
    text = SUM.replace("CALL", call).replace("STEP", step).replace("LOCAL", local)
    return HEAD + text + KERNEL.replace("FUNCTION", "sum")


SOURCES = {
    "itself": _sum(),
    "pointer": _sum(POINTER),
    "local": _sum(local=".local .b32 l[8];", step="st.local.u32 [l+12], %n; ld.local.u32 %n, [l+12];"),
    "mutual": HEAD + MUTUAL + KERNEL.replace("FUNCTION", "even"),
}


@pytest.mark.parametrize("way", SOURCES)
@pytest.mark.parametrize("depth", [0, 1, 1001])
def test_recursion_gives_the_right_sum(run, way, depth):
    """A recursion of a thousand levels gives the right sum, with separate local memory in each level."""
    out = run(SOURCES[way], "k", 1, 4, np.zeros(4, np.uint32), np.uint32(depth))[0]
    assert (out == (depth % 2 == 0 if way == "mutual" else depth * (depth + 1) // 2)).all()


@pytest.mark.parametrize("way", SOURCES)
@pytest.mark.parametrize("depth", [10**6, 2**32 - 1])
def test_recursion_that_is_too_deep_is_an_error(run, host, way, depth):
    """A recursion that is too deep fails with the line of the function, and the device keeps working."""
    with pytest.raises(KernelFault, match="deeper than"):
        run(SOURCES[way], "k", 4, 64, np.zeros(64, np.uint32), np.uint32(depth))
    assert run(SOURCES[way], "k", 1, 1, np.zeros(1, np.uint32), np.uint32(2))[0][0] in (1, 3)


@pytest.mark.parametrize("body", ["call f;", "mov.u64 %p, f; s: .callprototype _ (); call %p, (), s;"])
def test_recursion_without_an_end_is_an_error(run, body):
    """An endless recursion is a fault, even where an optimiser could turn it into a loop."""
    ptx = HEAD + f".func f() {{ .reg .b64 %p; {body} ret; }} .visible .entry k(.param .u64 p) {{ call f; ret; }}"
    with pytest.raises(KernelFault, match="deeper than"):
        run(ptx, "k", 1, 1, np.zeros(1))


@pytest.mark.parametrize("step", ["bar.sync 0;", "shfl.sync.idx.b32 %n, %n, 0, 31, -1;", "bar.warp.sync -1;"])
@pytest.mark.parametrize("call", ["call (b), sum, (a);", POINTER])
def test_recursion_that_waits_for_threads_is_refused(host, step, call):
    """A recursive function that waits for other threads is refused at loading, with the line of the call."""
    with pytest.raises(KernelError, match=r"PTX line \d+: function sum must not call itself, because it waits"):
        host.load_module(_sum(call, step))


DISPATCH = (
    HEAD
    + """.func (.param .b32 r) gather(.param .b32 x) {
  .reg .b32 %a, %b; .reg .pred %p; ld.param.b32 %a, [x]; setp.gt.u32 %p, %a, 2; bar.red.popc.u32 %b, 0, %p;
  add.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) spread(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; shfl.sync.idx.b32 %a, %a, 3, 31, -1; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) plain(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; mul.lo.u32 %a, %a, 5; st.param.b32 [r], %a; ret; }
.global .u64 table[4] = {gather, spread, plain, 0};
.visible .entry k(.param .u64 out, .param .u32 n) {
  .reg .b64 %f, %x; .reg .b32 %n, %t; .reg .pred %p; .param .b32 a; .param .b32 r;
  ld.param.u32 %n, [n]; mov.u64 %x, table; mad.wide.u32 %f, %n, 8, %x; ld.global.u64 %f, [%f];
  mov.u32 %t, %tid.x; st.param.b32 [a], %t;
  shape: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (r), %f, (a), shape;
  ld.param.b32 %t, [r]; mov.u32 %n, %tid.x; ld.param.u64 %x, [out]; mad.wide.u32 %x, %n, 4, %x;
  st.global.u32 [%x], %t; ret; }"""
)


def test_pointers_to_functions_that_wait(run):
    """A call through a pointer reaches functions with and without barriers and shuffles."""
    threads = np.arange(32)
    for index, expected in enumerate((threads + 29, np.full(32, 3), threads * 5)):
        out = run(DISPATCH, "k", 1, 32, np.zeros(32, np.uint32), np.uint32(index))[0]
        assert np.array_equal(out, expected)
    with pytest.raises(KernelFault, match="no function"):
        run(DISPATCH, "k", 1, 32, np.zeros(32, np.uint32), np.uint32(3))


def test_a_variable_passed_to_functions_that_wait_and_that_do_not(run):
    """Inlined calls and ordinary calls can share .param variables."""
    ptx = DISPATCH.replace(
        "call (r), %f, (a), shape;", "call (r), spread, (a); call (a), plain, (r); call (r), gather, (a);"
    )
    out = run(ptx, "k", 1, 32, np.zeros(32, np.uint32), np.uint32(0))[0]
    assert (out == 3 * 5 + 32).all()
