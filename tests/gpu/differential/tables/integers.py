"""Integer arithmetic, carry chains, packed 16-bit integers and dot products."""

from tests.gpu.differential.form import Family

FAMILY = Family("integers")
_TYPES = ("u16", "s16", "u32", "s32", "u64", "s64")

for _t in _TYPES:
    _wide = f"{_t[0]}{2 * int(_t[1:])}"
    for _name in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
        FAMILY.add(f"{_name}.{_t}", _t, f"{_t} {_t}")
    # A quotient by zero is undefined.
    for _name in ("div", "rem"):
        _one = f"setp.eq.{_t} %p, %b, 0; selp.b{_t[1:]} %b, 1, %b, %p;"
        FAMILY.add(f"{_name}.{_t}", _t, f"{_t} {_t}", f".reg .pred %p; {_one} {_name}.{_t} %d, %a, %b;")
    for _half in ("lo", "hi"):
        FAMILY.add(f"mad.{_half}.{_t}", _t, f"{_t} {_t} {_t}")
    if _t[1:] != "64":
        FAMILY.add(f"mul.wide.{_t}", _wide, f"{_t} {_t}")
        FAMILY.add(f"mad.wide.{_t}", _wide, f"{_t} {_t} {_wide}")
for _t in ("s16", "s32", "s64"):
    FAMILY.add(f"neg.{_t}", _t, _t)
    # |-32768| does not fit in an s16, but the GPU's compiler assumes that the result is positive.
    FAMILY.add(f"abs.{_t}", _t, _t, in_programs=_t != "s16")
for _name in ("add.sat.s32", "sub.sat.s32"):
    FAMILY.add(_name, "s32", "s32 s32")
FAMILY.add("mad.hi.sat.s32", "s32", "s32 s32 s32")
for _t in ("u32", "s32"):
    FAMILY.add(f"sad.{_t}", "u32", f"{_t} {_t} u32")
    for _name in ("mul24.lo", "mul24.hi"):
        FAMILY.add(f"{_name}.{_t}", _t, f"{_t} {_t}")
    for _name in ("mad24.lo", "mad24.hi"):
        FAMILY.add(f"{_name}.{_t}", _t, f"{_t} {_t} {_t}")
FAMILY.add("mad24.hi.sat.s32", "s32", "s32 s32 s32")
FAMILY.add("sad.u16", "u16", "u16 u16 u16")
FAMILY.add("sad.s16", "u16", "s16 s16 u16")
FAMILY.add("sad.u64", "u64", "u64 u64 u64")
FAMILY.add("sad.s64", "u64", "s64 s64 u64")

for _t in ("u32", "u64", "s32", "s64"):
    FAMILY.add(
        f"add.cc+addc.{_t}", f"{_t} {_t}", f"{_t} {_t} {_t} {_t}", f"add.cc.{_t} %d, %a, %b; addc.{_t} %e, %c, %x;"
    )
    FAMILY.add(
        f"sub.cc+subc.{_t}", f"{_t} {_t}", f"{_t} {_t} {_t} {_t}", f"sub.cc.{_t} %d, %a, %b; subc.{_t} %e, %c, %x;"
    )
    FAMILY.add(
        f"add.cc+addc.cc+addc.{_t}",
        f"{_t} {_t} {_t}",
        f"{_t} {_t} {_t} {_t}",
        f"add.cc.{_t} %d, %a, %b; addc.cc.{_t} %e, %c, %x; addc.{_t} %f, 0, 0;",
    )
    FAMILY.add(
        f"sub.cc+subc.cc+subc.{_t}",
        f"{_t} {_t} {_t}",
        f"{_t} {_t} {_t} {_t}",
        f"sub.cc.{_t} %d, %a, %b; subc.cc.{_t} %e, %c, %x; subc.{_t} %f, 0, 0;",
    )
    FAMILY.add(
        f"mad.lo.cc+madc.hi.cc+addc.{_t}",
        f"{_t} {_t} {_t}",
        f"{_t} {_t} {_t} {_t}",
        f"mad.lo.cc.{_t} %d, %a, %b, %c; madc.hi.cc.{_t} %e, %a, %b, %x; addc.{_t} %f, 0, 0;",
    )
    FAMILY.add(
        f"mad.hi.cc+madc.lo.{_t}",
        f"{_t} {_t}",
        f"{_t} {_t} {_t} {_t}",
        f"mad.hi.cc.{_t} %d, %a, %b, %c; madc.lo.{_t} %e, %a, %b, %x;",
    )

for _t in ("u16x2", "s16x2"):
    for _name in ("add", "min", "max"):
        FAMILY.add(f"{_name}.{_t}", "b32", "b32 b32")
FAMILY.add("min.relu.s16x2", "b32", "b32 b32")
FAMILY.add("max.relu.s16x2", "b32", "b32 b32")
FAMILY.add("min.relu.s32", "s32", "s32 s32")
FAMILY.add("max.relu.s32", "s32", "s32 s32")

for _a in ("u32", "s32"):
    for _b in ("u32", "s32"):
        FAMILY.add(f"dp4a.{_a}.{_b}", "b32", "b32 b32 b32")
        for _half in ("lo", "hi"):
            FAMILY.add(f"dp2a.{_half}.{_a}.{_b}", "b32", "b32 b32 b32")
