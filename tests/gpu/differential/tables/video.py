"""Video instructions: byte and half-word selection, saturation, secondary operations, scaling, and SIMD variants."""

from tests.gpu.differential.form import Family

FAMILY = Family("video")
_TYPES = ("u32", "s32")

for _name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
    for _types in ("u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "u32.s32.u32", "u32.s32.s32"):
        for _sat in ("", ".sat"):
            _full = f"{_name}.{_types}{_sat}"
            FAMILY.add(_full, "b32", "b32 b32", f"{_full} %d, %a, %b;")
    for _a in _TYPES:
        for _select in (("b0", "b3"), ("h1", "b2"), ("h0", "h1")):
            _text = f"%a.{_select[0]}, %b.{_select[1]}"
            _full = f"{_name}.s32.{_a}.s32.sat"
            FAMILY.add(f"{_full} {'.'.join(_select)}", "b32", "b32 b32", f"{_full} %d, {_text};")
            for _second in ("add", "min", "max"):
                _op = f"{_name}.s32.{_a}.u32.{_second}"
                FAMILY.add(f"{_op} {'.'.join(_select)}", "b32", "b32 b32 b32", f"{_op} %d, {_text}, %c;")
    for _place in ("b2", "h1"):
        _full = f"{_name}.u32.u32.s32.sat"
        FAMILY.add(f"{_full} into {_place}", "b32", "b32 b32 b32", f"{_full} %d.{_place}, %a, %b.h1, %c;")
for _name in ("vshl", "vshr"):
    for _mode in ("clamp", "wrap"):
        for _a in _TYPES:
            for _sat in ("", ".sat"):
                _full = f"{_name}.{_a}.{_a}.u32{_sat}.{_mode}"
                FAMILY.add(_full, "b32", "b32 shift", f"{_full} %d, %a, %b;")
                _full = f"{_name}.{_a}.{_a}.u32{_sat}.{_mode}.add"
                FAMILY.add(_full, "b32", "b32 shift b32", f"{_full} %d, %a.h1, %b.b0, %c;")
for _a in _TYPES:
    for _b in _TYPES:
        _d = "s32" if "s32" in (_a, _b) else "u32"
        for _scale in ("", ".shr7", ".shr15"):
            for _sat in ("", ".sat"):
                _full = f"vmad.{_d}.{_a}.{_b}{_sat}{_scale}"
                FAMILY.add(_full, "b32", "b32 b32 b32", f"{_full} %d, %a.h0, %b.b1, %c;")
FAMILY.add("vmad -ab", "b32", "b32 b32 b32", "vmad.s32.u32.u32 %d, -%a.b0, %b.h1, %c;")
FAMILY.add("vmad -c", "b32", "b32 b32 b32", "vmad.s32.s32.s32 %d, %a.h0, %b.h1, -%c;")
FAMILY.add("vmad.po", "b32", "b32 b32 b32", "vmad.s32.s32.s32.po %d, %a.h0, %b.h1, %c;")
for _a in _TYPES:
    for _test in ("eq", "ne", "lt", "le", "gt", "ge"):
        FAMILY.add(f"vset.{_a}.{_a}.{_test}", "b32", "b32 b32", f"vset.{_a}.{_a}.{_test} %d, %a.b1, %b.b0;")
    FAMILY.add(f"vset.{_a}.s32.lt.add", "b32", "b32 b32 b32", f"vset.{_a}.s32.lt.add %d, %a, %b.h0, %c;")

for _name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
    for _width in (2, 4):
        for _a in _TYPES:
            for _sat in ("", ".sat"):
                _full = f"{_name}{_width}.{_a}.{_a}.s32{_sat}"
                FAMILY.add(_full, "b32", "b32 b32 b32", f"{_full} %d, %a, %b, %c;")
            _full = f"{_name}{_width}.u32.{_a}.u32.add"
            FAMILY.add(_full, "b32", "b32 b32 b32", f"{_full} %d, %a, %b, %c;")
for _width in (2, 4):
    for _a in _TYPES:
        for _test in ("eq", "ne", "lt", "le", "gt", "ge"):
            _full = f"vset{_width}.{_a}.{_a}.{_test}"
            FAMILY.add(_full, "b32", "b32 b32 b32", f"{_full} %d, %a, %b, %c;")
        _full = f"vset{_width}.{_a}.s32.gt.add"
        FAMILY.add(_full, "b32", "b32 b32 b32", f"{_full} %d, %a, %b, %c;")
FAMILY.add("vadd4 mask", "b32", "b32 b32 b32", "vadd4.u32.u32.u32 %d.b20, %a, %b, %c;")
FAMILY.add("vmax2 select", "b32", "b32 b32 b32", "vmax2.s32.s32.s32 %d.h1, %a.h30, %b.h21, %c;")
FAMILY.add("vsub4 select", "b32", "b32 b32 b32", "vsub4.s32.u32.s32.sat %d, %a.b7610, %b.b3254, %c;")
