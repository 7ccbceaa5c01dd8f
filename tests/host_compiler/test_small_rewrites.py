"""Instructions that the translator rewrites into simpler ones: alloca of stack memory, and fma.oob."""

import numpy as np
import pytest

from tests.host_compiler.elements import evaluate
from warploom.engine.diagnostics import KernelFault

HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
# Each thread fills two blocks of its own, through local and through generic addresses, and sums up both.
SUMS = """
  .reg .b64 %a, %b, %g, %at, %size, %start; .reg .b32 %i, %n, %v, %sum; .reg .pred %p;
  mov.u32 %n, N; mul.wide.u32 %size, %n, 4;
  stacksave.u64 %start;
  alloca.u64 %a, %size; alloca.u64 %b, %size, 64; cvta.local.u64 %g, %b;
  mov.u32 %i, 0;
fill:
  mad.wide.u32 %at, %i, 4, %a; st.local.u32 [%at], %i;
  mad.wide.u32 %at, %i, 4, %g; mul.lo.u32 %v, %i, 100; st.u32 [%at], %v;
  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra fill;
  BETWEEN
  mov.u32 %i, 0; mov.u32 %sum, 0;
add:
  mad.wide.u32 %at, %i, 4, %a; ld.local.u32 %v, [%at]; add.u32 %sum, %sum, %v;
  mad.wide.u32 %at, %i, 4, %b; ld.local.u32 %v, [%at]; add.u32 %sum, %sum, %v;
  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra add;
  stackrestore.u64 %start;
"""
OUT = "ld.param.u64 %at, [out]; mov.u32 %i, %tid.x; mad.wide.u32 %at, %i, 4, %at; st.global.u32 [%at], %sum; ret; }"
IN_KERNEL = HEAD + ".visible .entry k(.param .u64 out) {" + SUMS.replace("N;", "%tid.x; add.u32 %n, %n, 1;") + OUT
IN_FUNCTION = (
    HEAD
    + ".func (.param .b32 r) f(.param .b32 n) { .reg .b32 %given; ld.param.b32 %given, [n];"
    + SUMS.replace("N;", "%given;").replace("BETWEEN", "")
    + "st.param.b32 [r], %sum; ret; } .visible .entry k(.param .u64 out) {"
    + ".reg .b64 %at; .reg .b32 %i, %sum; .param .b32 n; .param .b32 r; mov.u32 %i, %tid.x; add.u32 %i, %i, 1;"
    + "st.param.b32 [n], %i; call (r), f, (n); call (r), f, (n); ld.param.b32 %sum, [r];"
    + OUT
)


@pytest.mark.parametrize(
    "ptx",
    [IN_KERNEL.replace("BETWEEN", ""), IN_KERNEL.replace("BETWEEN", "bar.sync 0;"), IN_FUNCTION],
    ids=["kernel", "kernel that waits", "function"],
)
def test_allocated_blocks_do_not_overlap(run, ptx):
    """Allocated blocks overlap no others of any thread, even after a barrier and in a second call."""
    out = run(ptx, "k", 1, 40, np.zeros(40, np.uint32))[0]
    n = np.arange(40) + 1
    assert np.array_equal(out, 101 * (n * (n - 1) // 2))


def test_restored_stack_memory_is_used_again(run):
    """After stackrestore, the next block reuses the first block's memory, and alignment is respected."""
    ptx = (
        HEAD
        + """.visible .entry k(.param .u64 out) {
      .reg .b64 %a, %b, %c, %o, %s; ld.param.u64 %o, [out];
      stacksave.u64 %s; alloca.u64 %a, 100; alloca.u64 %b, 8, 128; stackrestore.u64 %s; alloca.u64 %c, 100;
      sub.u64 %c, %c, %a; st.global.u64 [%o], %c; and.b64 %b, %b, 127; st.global.u64 [%o+8], %b; ret; }"""
    )
    assert not run(ptx, "k", 1, 1, np.ones(2, np.uint64))[0].any()


@pytest.mark.parametrize("size", [1 << 20, 2**63, 2**64 - 8])
def test_a_block_that_does_not_fit_is_an_error(run, size):
    """A block that exceeds the stack is a fault."""
    ptx = HEAD + f".visible .entry k(.param .u64 out) {{ .reg .b64 %a; alloca.u64 %a, {size}; ret; }}"
    with pytest.raises(KernelFault, match="PTX line 4"):
        run(ptx, "k", 1, 1, np.zeros(1))


# fma.oob returns zero if a factor is the NaN that tensor copies write for out-of-bounds elements. The expected values
# were measured on an H200.


ONE, INFINITE = {"f16": 0x3C00, "bf16": 0x3F80}, {"f16": 0x7C00, "bf16": 0x7F80}
#: The NaN of tensor copies, with either sign.
OUTSIDE = (0x7FF7, 0xFFF7)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_only_the_nan_of_tensor_copies_counts(host, kind):
    """Of all bit patterns as a factor, only the NaN of tensor copies turns the result of fma.oob into zero."""
    a = np.arange(1 << 16, dtype=np.uint16)
    ones = np.full_like(a, ONE[kind])
    forms = [f"fma.rn{mode}.{kind} %d, {x}, %b;" for mode in ("", ".oob") for x in ("%a, %b", "%b, %a")]
    found = evaluate(host, forms, "b16", ("b16", "b16"), a, ones)
    plain, _, first, second = (found[form] for form in forms)
    outside = np.isin(a, OUTSIDE)
    is_nan = (a & 0x7FFF) > INFINITE[kind]
    assert (first[outside] == 0).all()
    assert np.array_equal(first, second)
    assert np.array_equal(first[~is_nan], plain[~is_nan])
    assert ((first & 0x7FFF)[is_nan & ~outside] > INFINITE[kind]).all()


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_each_factor_counts_by_itself_and_the_addend_never(host, kind):
    """The two elements of a pair are independent, and a zero from a factor replaces even a NaN or infinite addend.

    The NaN of tensor copies has no special effect as an addend.
    """
    one, infinite, outside = ONE[kind], INFINITE[kind], OUTSIDE[0]
    a = np.array([outside | one << 16, one | outside << 16, outside | outside << 16, one | one << 16], np.uint32)
    c = np.array([infinite | one << 16, one | infinite << 16, 0x7FFF7FFF, outside | one << 16], np.uint32)
    ones = np.full_like(a, one | one << 16)
    forms = [f"fma.rn.oob{relu}.{kind}x2 %d, %a, %b, %c;" for relu in ("", ".relu")]
    two = {"f16": 0x4000, "bf16": 0x4000}[kind]
    for found in evaluate(host, forms, "b32", ("b32", "b32", "b32"), a, ones, c).values():
        assert list(found[:3]) == [two << 16, two, 0]
        assert found[3] & 0x7FFF > infinite
        assert found[3] >> 16 == two
