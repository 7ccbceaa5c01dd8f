"""Branches, loops, predicated instructions, indexed branches, calls and special registers."""

from tests.gpu.differential.form import Family

FAMILY = Family("control")

FAMILY.add("@p", "b32", "b32 b32 pred", "mov.b32 %d, %a; @%c mov.b32 %d, %b;")
FAMILY.add("@!p", "b32", "b32 b32 pred", "mov.b32 %d, %a; @!%c add.u32 %d, %d, %b;")
FAMILY.add(
    "bra if else", "b32", "s32 s32", ".reg .pred %p; setp.lt.s32 %p, %a, %b; @%p bra less; "
    "sub.s32 %d, %a, %b; bra done; less: mul.lo.s32 %d, %a, %b; done:"
)  # fmt: skip
FAMILY.add(
    "bra loop", "b32", "lane b32", ".reg .pred %p; mov.b32 %d, %b; again: setp.eq.u32 %p, %a, 0; @%p bra done; "
    "mad.lo.u32 %d, %d, 1664525, 1013904223; sub.u32 %a, %a, 1; bra again; done:"
)  # fmt: skip
FAMILY.add(
    "bra loop in loop", "b32", "few few b32", ".reg .pred %p, %q; .reg .b32 %i, %j; mov.b32 %d, %c; mov.b32 %i, 0; "
    "outer: setp.ge.u32 %p, %i, %a; @%p bra done; mov.b32 %j, 0; "
    "inner: setp.gt.u32 %q, %j, %b; @%q bra next; xor.b32 %d, %d, %j; shf.l.wrap.b32 %d, %d, %d, 5; add.u32 %j, %j, 1; "
    "bra inner; next: add.u32 %d, %d, %i; add.u32 %i, %i, 1; bra outer; done:"
)  # fmt: skip
FAMILY.add(
    "bra collatz", "b32", "u16", ".reg .pred %p, %q; .reg .b32 %n, %t; cvt.u32.u16 %n, %a; add.u32 %n, %n, 1; "
    "mov.b32 %d, 0; again: setp.le.u32 %p, %n, 1; @%p bra done; and.b32 %t, %n, 1; setp.eq.u32 %q, %t, 1; "
    "@%q mad.lo.u32 %n, %n, 3, 1; @!%q shr.u32 %n, %n, 1; add.u32 %d, %d, 1; setp.lt.u32 %q, %d, 60; "
    "@%q bra again; done:"
)  # fmt: skip
FAMILY.add(
    "brx.idx", "b32", "few b32", "targets: .branchtargets zero, one, two, three; brx.idx %a, targets; "
    "zero: add.u32 %d, %b, 11; bra done; one: xor.b32 %d, %b, 22; bra done; two: mul.lo.u32 %d, %b, 33; "
    "three: sub.u32 %d, %b, 44; done:", in_programs=False
)  # fmt: skip
FAMILY.add("%laneid", "b32", "pred", "mov.u32 %d, %laneid;", in_programs=False)
for _name in ("eq", "le", "lt", "ge", "gt"):
    FAMILY.add(f"%lanemask_{_name}", "b32", "pred", f"mov.u32 %d, %lanemask_{_name};", in_programs=False)
FAMILY.add(
    "%tid, %ctaid, %ntid",
    "b32 b32 b32",
    "pred",
    "mov.u32 %d, %tid.x; mov.u32 %e, %ctaid.x; mov.u32 %f, %ntid.x;",
    thread_block=64,
    in_programs=False,
)
FAMILY.add(
    "%warpid-free index", "b32 b32 b32", "pred",
    "mov.u32 %d, %tid.y; mov.u32 %e, %nctaid.y; mov.u32 %f, %tid.z;", in_programs=False,
)  # fmt: skip
