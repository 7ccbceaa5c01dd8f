"""setp and set for every type and test, with combined predicates; testp and copysign."""

from tests.gpu.differential.form import Family

FAMILY = Family("comparisons")
_ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
_FLOAT = (*_ORDER, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")

for _t in ("b16", "b32", "b64"):
    for _test in ("eq", "ne"):
        FAMILY.add(f"setp.{_test}.{_t}", "pred", f"{_t} {_t}")
for _t in ("s16", "s32", "s64", "u16", "u32", "u64"):
    for _test in (*_ORDER, *(("lo", "ls", "hi", "hs") if _t[0] == "u" else ())):
        FAMILY.add(f"setp.{_test}.{_t}", "pred", f"{_t} {_t}")
for _t in ("f32", "f64", "f16"):
    for _test in _FLOAT:
        FAMILY.add(f"setp.{_test}.{_t}", "pred", f"{_t} {_t}")
for _test in ("eq", "lt", "geu", "nan"):
    FAMILY.add(f"setp.{_test}.ftz.f32", "pred", "f32 f32")
    FAMILY.add(f"setp.{_test}.ftz.f16", "pred", "f16 f16")
    FAMILY.add(f"setp.{_test}.bf16", "pred", "bf16 bf16")
    for _t in ("f16x2", "bf16x2"):
        FAMILY.add(f"setp.{_test}.{_t}", "pred pred", f"{_t} {_t}", f"setp.{_test}.{_t} %d|%e, %a, %b;")
for _name in ("and", "or", "xor"):
    FAMILY.add(f"setp.lt.{_name}.s32 p|q", "pred pred", "s32 s32 pred", f"setp.lt.{_name}.s32 %d|%e, %a, %b, %c;")
    FAMILY.add(f"setp.gt.{_name}.f32 p|q", "pred pred", "f32 f32 pred", f"setp.gt.{_name}.f32 %d|%e, %a, %b, %c;")
    FAMILY.add(f"setp.ne.{_name}.u64 !c", "pred", "u64 u64 pred", f"setp.ne.{_name}.u64 %d, %a, %b, !%c;")
    FAMILY.add(f"set.le.{_name}.u32.f32", "u32", "f32 f32 pred")
for _test in ("eq", "lt", "gtu", "num"):
    for _t in ("f32", "f64"):
        for _d in ("u32", "s32", "f32"):
            FAMILY.add(f"set.{_test}.{_d}.{_t}", _d, f"{_t} {_t}")
    for _d in ("f16", "u16", "s16", "u32"):
        FAMILY.add(f"set.{_test}.{_d}.f16", _d, "f16 f16")
    FAMILY.add(f"set.{_test}.f16x2.f16x2", "f16x2", "f16x2 f16x2")
    FAMILY.add(f"set.{_test}.bf16x2.bf16x2", "bf16x2", "bf16x2 bf16x2")
for _test in ("ne", "ge"):
    for _t in ("s32", "u64", "s16"):
        for _d in ("u32", "s32", "f32"):
            FAMILY.add(f"set.{_test}.{_d}.{_t}", _d, f"{_t} {_t}")
for _t in ("f32", "f64"):
    for _test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        FAMILY.add(f"testp.{_test}.{_t}", "pred", _t)
    FAMILY.add(f"copysign.{_t}", _t, f"{_t} {_t}")
