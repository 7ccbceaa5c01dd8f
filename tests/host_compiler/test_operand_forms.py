"""The analyses and the generated code interpret each form of operand alike."""

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelFault


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code, which is translated as for the optimiser."""
    return quick_host


HEAD = """.version 8.0
.target sm_75
.address_size 64
.shared .align 8 .b8 tile[512];
.func (.reg .b32 %give) twice(.reg .b32 %take) { add.s32 %give, %take, %take; ret; }
"""
BEGIN = """.visible .entry k(.param .u64 x, .param .u64 out, .param .u32 n, .param .u32 big) {
.reg .pred %p, %q; .reg .b32 %r<20>; .reg .f32 %f<4>; .reg .b64 %a<20>; .local .align 4 .b8 own[16], other[16];
ld.param.u64 %a0, [x]; cvta.to.global.u64 %a0, %a0; ld.param.u64 %a1, [out]; cvta.to.global.u64 %a1, %a1;
ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mul.wide.u32 %a2, %r1, 4; add.s64 %a3, %a1, %a2; mov.u32 %r10, 0;
"""
END = "\nst.global.u32 [%a3], %r10;\nret;\n}"
T = np.arange(64)

CASES = {
    "number minus drifting register": (
        """sub.s32 %r2, 3, %r1; mov.u32 %r3, 0;
        L: add.s32 %r10, %r10, %r2; bar.sync 0; add.s32 %r2, %r2, 1; add.s32 %r3, %r3, 1;
        setp.lt.s32 %p, %r3, %r0; @%p bra L;""",
        5 * (3 - T) + 10,
    ),
    "uniform minus drifting register in a loop": (
        """mov.u32 %r2, %r1; mov.u32 %r3, 0;
        L: add.s32 %r10, %r10, %r2; bar.sync 0; sub.s32 %r2, %r0, %r2; add.s32 %r3, %r3, 1;
        setp.lt.s32 %p, %r3, %r0; @%p bra L;""",
        3 * T + 2 * (5 - T),
    ),
    "vector of a drifting register": (
        """mov.u32 %r2, 0; mov.u32 %r4, %r1;
        L: mov.b64 %a5, {%r2, %r4}; bar.sync 0; cvt.u32.u64 %r5, %a5; shr.u64 %a6, %a5, 32; cvt.u32.u64 %r6, %a6;
        mad.lo.s32 %r10, %r5, %r6, %r10; add.s32 %r4, %r4, %r0; add.s32 %r2, %r2, 1;
        setp.lt.s32 %p, %r2, %r0; @%p bra L;""",
        sum(k * (T + 5 * k) for k in range(5)),
    ),
    "second predicate of setp": (
        """setp.lt.s32 %p|%q, %r1, 60; shl.b32 %r2, %r1, 2; cvt.u64.u32 %a4, %r2; add.s64 %a4, %a0, %a4;
        @%q bra S; ld.global.u32 %r10, [%a4]; S: @%p bra E; add.s32 %r10, %r10, 9; E:""",
        np.where(T < 60, T * 3, 9),
    ),
    "negated predicate beside a register that is read twice": (
        """setp.lt.s32 %p, %r1, 20; mov.u32 %r2, 0;
        L: setp.le.and.s32 %q, %r2, %r2, !%p; bar.sync 0; @%q add.s32 %r10, %r10, 1; add.s32 %r2, %r2, 1;
        setp.lt.s32 %q, %r2, %r0; @%q bra L;""",
        np.where(T < 20, 0, 5),
    ),
    "number of 32 bits with a sign": (
        """setp.gt.s32 %p, %r1, 0xFFFFFFFF; @!%p bra S; bar.sync 0; add.s32 %r10, %r10, 7; S: bar.sync 0;""",
        np.full(64, 7),
    ),
    "guard against a number with a sign": (
        """sub.s32 %r2, %r1, 4; setp.lt.s32 %p, 0xFFFFFFFF, %r2; @!%p bra S;
        mul.wide.s32 %a4, %r2, 4; add.s64 %a4, %a0, %a4; ld.global.u32 %r10, [%a4]; S:""",
        np.where(T < 4, 0, (T - 4) * 3),
    ),
    "register that a call gives": (
        """mov.u32 %r2, 0; mov.u32 %r3, %r1;
        L: call (%r3), twice, (%r3); bar.sync 0; add.s32 %r10, %r10, %r3; add.s32 %r2, %r2, 1;
        setp.lt.s32 %p, %r2, %r0; @%p bra L;""",
        T * 62,
    ),
    "float with the bits of a drifting register": (
        """mov.u32 %r2, %r1; mov.u32 %r3, 0;
        L: mov.b32 %f1, %r2; bar.sync 0; mov.b32 %r4, %f1; add.s32 %r10, %r10, %r4; add.s32 %r2, %r2, %r0;
        add.s32 %r3, %r3, 1; setp.lt.s32 %p, %r3, %r0; @%p bra L;""",
        5 * T + 50,
    ),
    "generic address of local memory": (
        """mov.u64 %a4, own; cvta.local.u64 %a4, %a4; mov.u64 %a5, other; cvta.local.u64 %a5, %a5; mov.u32 %r3, 0;
        st.u32 [%a4], %r1; st.u32 [%a5], 100; mov.u64 %a6, %a4;
        L: ld.u32 %r4, [%a6]; add.s32 %r10, %r10, %r4; setp.eq.s32 %p, %r3, 1; mov.u64 %a6, %a5; @%p mov.u64 %a6, %a4;
        bar.sync 0; add.s32 %r3, %r3, 1; setp.lt.s32 %p, %r3, %r0; @%p bra L;""",
        2 * T + 300,
    ),
    "float whose bits are a count": (
        """cvt.rn.f32.u32 %f1, %r1; mov.b32 %r2, %f1; min.u32 %r2, %r2, 63; mul.wide.u32 %a4, %r2, 4;
        add.s64 %a4, %a0, %a4; ld.global.u32 %r10, [%a4];""",
        np.where(T == 0, 0, 63 * 3),
    ),
    "reduction of half of the threads": (
        """shr.u32 %r2, %r1, 5; setp.eq.u32 %q, %r1, 40; add.s32 %r3, %r2, 1;
        L: bar.red.popc.u32 %r4, %r3, 32, %q; bar.sync 0; add.s32 %r10, %r10, %r4; add.s32 %r0, %r0, -1;
        setp.gt.s32 %p, %r0, 0; @%p bra L;""",
        np.where(T < 32, 0, 5),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_forms_of_operands(run, case):
    """Sums, comparisons, vectors and calls have the same results in loops that wait as in plain code."""
    text, expected = CASES[case]
    x = np.arange(64, dtype=np.uint32) * 3
    out = run(HEAD + BEGIN + text + END, "k", 1, 64, x, np.zeros(64, np.uint32), 5, 0)[1]
    assert np.array_equal(out.view(np.int32), expected)


@pytest.mark.parametrize(
    "text",
    [
        "ld.param.u32 %a4, [big]; mad.lo.s64 %a4, %a4, 4, %a0; ld.global.u32 %r10, [%a4+4];",
        "ld.param.u32 %r2, [big]; cvt.u32.u32 %a4, %r2; mad.lo.s64 %a4, %a4, 4, %a0; ld.global.u32 %r10, [%a4+4];",
    ],
)
def test_a_narrow_value_in_a_wide_register_is_checked_as_it_is(run, text):
    """0xFFFFFFFF in a 64-bit register is out of bounds as an index, and not treated as -1."""
    with pytest.raises(KernelFault):
        run(HEAD + BEGIN + text + END, "k", 1, 64, np.zeros(64, np.uint32), np.zeros(64, np.uint32), 5, 0xFFFFFFFF)
