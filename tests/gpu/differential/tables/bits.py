"""Logic, shifts, bit fields, permutations, moves and selections."""

from tests.gpu.differential.form import Family

FAMILY = Family("bits")

for _t in ("b16", "b32", "b64"):
    for _name in ("and", "or", "xor"):
        FAMILY.add(f"{_name}.{_t}", _t, f"{_t} {_t}")
    FAMILY.add(f"not.{_t}", _t, _t)
    FAMILY.add(f"cnot.{_t}", _t, _t)
    FAMILY.add(f"shl.{_t}", _t, f"{_t} shift")
    FAMILY.add(f"selp.{_t}", _t, f"{_t} {_t} pred")
    FAMILY.add(f"mov.{_t}", _t, _t)
for _name in ("and", "or", "xor"):
    FAMILY.add(f"{_name}.pred", "pred", "pred pred")
FAMILY.add("not.pred", "pred", "pred")
for _t in ("u16", "s16", "u32", "s32", "u64", "s64"):
    FAMILY.add(f"shr.{_t}", _t, f"{_t} shift")
for _t in ("b32", "b64"):
    for _name in ("popc", "clz"):
        FAMILY.add(f"{_name}.{_t}", "u32", _t)
    FAMILY.add(f"brev.{_t}", _t, _t)
    FAMILY.add(f"bfi.{_t}", _t, f"{_t} {_t} shift shift")
for _t in ("u32", "s32", "u64", "s64"):
    FAMILY.add(f"bfind.{_t}", "u32", _t)
    FAMILY.add(f"bfind.shiftamt.{_t}", "u32", _t)
    FAMILY.add(f"bfe.{_t}", _t, f"{_t} shift shift")
for _name in ("clamp", "wrap"):
    FAMILY.add(f"bmsk.{_name}.b32", "b32", "shift shift")
    FAMILY.add(f"szext.{_name}.u32", "u32", "u32 shift")
    FAMILY.add(f"szext.{_name}.s32", "s32", "s32 shift")
    for _side in ("l", "r"):
        FAMILY.add(f"shf.{_side}.{_name}.b32", "b32", "b32 b32 shift")
FAMILY.add("fns.b32", "b32", "b32 lane few", "fns.b32 %d, %a, %b, %c;")
FAMILY.add("fns.b32 backwards", "b32", "b32 lane few", ".reg .b32 %t; neg.s32 %t, %c; fns.b32 %d, %a, %b, %t;")

FAMILY.add("prmt.b32", "b32", "b32 b32 b32")
for _name in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
    FAMILY.add(f"prmt.b32.{_name}", "b32", "b32 b32 lane")
for _selector in (0x3210, 0x7654, 0x0123, 0x8888, 0xF0A5, 0x4040):
    FAMILY.add(f"prmt.b32 {_selector:#x}", "b32", "b32 b32", f"prmt.b32 %d, %a, %b, {_selector:#x};")
for _table in (0x00, 0x01, 0x1E, 0x2D, 0x78, 0x80, 0x96, 0xCA, 0xD8, 0xE8, 0xF8, 0xFE, 0xFF):
    FAMILY.add(f"lop3.b32 {_table:#04x}", "b32", "b32 b32 b32", f"lop3.b32 %d, %a, %b, %c, {_table:#x};")
for _name in ("or", "and"):
    FAMILY.add(f"lop3.{_name}.b32", "b32 pred", "b32 b32 b32 pred", f"lop3.{_name}.b32 %d|%e, %a, %b, %c, 0x6a, %x;")

for _t in ("b16", "b32", "b64"):
    FAMILY.add(f"slct.{_t}.s32", _t, f"{_t} {_t} s32")
    FAMILY.add(f"slct.{_t}.f32", _t, f"{_t} {_t} f32")
FAMILY.add("slct.ftz.b32.f32", "b32", "b32 b32 f32")

FAMILY.add("mov.b32 {b16, b16}", "b32", "b16 b16", "mov.b32 %d, {%a, %b};")
FAMILY.add("mov {b16, b16}, b32", "b16 b16", "b32", "mov.b32 {%d, %e}, %a;")
FAMILY.add("mov.b64 {b32, b32}", "b64", "b32 b32", "mov.b64 %d, {%a, %b};")
FAMILY.add("mov {b32, b32}, b64", "b32 b32", "b64", "mov.b64 {%d, %e}, %a;")
FAMILY.add("mov.b64 {b16 x 4}", "b64", "b16 b16 b16 b16", "mov.b64 %d, {%a, %b, %c, %x};")
FAMILY.add("mov {b16 x 4}, b64", "b16 b16 b16 b16", "b64", "mov.b64 {%d, %e, %f, %g}, %a;")
FAMILY.add("mov {b16, _}, b32", "b16", "b32", "mov.b32 {_, %d}, %a;")
