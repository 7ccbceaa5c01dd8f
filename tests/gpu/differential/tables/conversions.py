"""cvt between every pair of types, with every rounding."""

from tests.gpu.differential.form import Family

FAMILY = Family("conversions")
_INTEGERS = tuple(f"{letter}{bits}" for bits in (8, 16, 32, 64) for letter in "us")
_FLOATS = {"f16": 16, "f32": 32, "f64": 64}
_ROUNDINGS = ("rn", "rz", "rm", "rp")

for _d in _INTEGERS:
    for _s in _INTEGERS:
        FAMILY.add(f"cvt.{_d}.{_s}", _d, _s)
        # PTX refuses .sat if the value can't be out of range.
        _narrower, _from_signed = int(_d[1:]) < int(_s[1:]), _s[0] == "s" and _d[0] == "u"
        _from_unsigned = int(_d[1:]) == int(_s[1:]) and _s[0] == "u" and _d[0] == "s"
        if _narrower or _from_signed or _from_unsigned:
            FAMILY.add(f"cvt.sat.{_d}.{_s}", _d, _s)
for _f, _bits in _FLOATS.items():
    for _i in _INTEGERS:
        for _r in _ROUNDINGS:
            FAMILY.add(f"cvt.{_r}.{_f}.{_i}", _f, _i)
            FAMILY.add(f"cvt.{_r}i.{_i}.{_f}", _i, _f)
        FAMILY.add(f"cvt.rn.sat.{_f}.{_i}", _f, _i)
        FAMILY.add(f"cvt.rzi.sat.{_i}.{_f}", _i, _f)
        if _f == "f32":
            FAMILY.add(f"cvt.rmi.ftz.{_i}.f32", _i, "f32")
    for _r in _ROUNDINGS:
        FAMILY.add(f"cvt.{_r}i.{_f}.{_f}", _f, _f)
        FAMILY.add(f"cvt.{_r}i.sat.{_f}.{_f}", _f, _f)
    FAMILY.add(f"cvt.sat.{_f}.{_f}", _f, _f)
    for _s, _size in _FLOATS.items():
        if _size > _bits:
            for _r in _ROUNDINGS:
                FAMILY.add(f"cvt.{_r}.{_f}.{_s}", _f, _s)
            FAMILY.add(f"cvt.rn.sat.{_f}.{_s}", _f, _s)
        elif _size < _bits:
            FAMILY.add(f"cvt.{_f}.{_s}", _f, _s)
            FAMILY.add(f"cvt.sat.{_f}.{_s}", _f, _s)
for _name in ("cvt.rni.ftz.f32.f32", "cvt.ftz.sat.f32.f32", "cvt.ftz.f32.f32"):
    FAMILY.add(_name, "f32", "f32")
FAMILY.add("cvt.ftz.f32.f16", "f32", "f16")
FAMILY.add("cvt.rn.ftz.f16.f32", "f16", "f32")
FAMILY.add("cvt.ftz.f64.f32", "f64", "f32")
FAMILY.add("cvt.rz.ftz.f32.f64", "f32", "f64")

for _r in ("rn", "rz"):
    for _end in ("", ".relu"):
        FAMILY.add(f"cvt.{_r}{_end}.bf16.f32", "bf16", "f32")
        if _end:
            FAMILY.add(f"cvt.{_r}{_end}.f16.f32", "f16", "f32")
        FAMILY.add(f"cvt.{_r}{_end}.f16x2.f32", "f16x2", "f32 f32")
        FAMILY.add(f"cvt.{_r}{_end}.bf16x2.f32", "bf16x2", "f32 f32")
        FAMILY.add(f"cvt.{_r}{_end}.tf32.f32", "tf32", "f32")
FAMILY.add("cvt.rna.tf32.f32", "tf32", "f32")
FAMILY.add("cvt.f32.bf16", "f32", "bf16")
for _i in _INTEGERS[2:]:
    for _r in ("rn", "rz", "rm", "rp"):
        FAMILY.add(f"cvt.{_r}.bf16.{_i}", "bf16", _i)
        FAMILY.add(f"cvt.{_r}i.{_i}.bf16", _i, "bf16")
for _r in ("rn", "rz", "rm", "rp"):
    FAMILY.add(f"cvt.{_r}.bf16.f16", "bf16", "f16")
    FAMILY.add(f"cvt.{_r}.bf16.f64", "bf16", "f64")
    FAMILY.add(f"cvt.{_r}.f16.bf16", "f16", "bf16")
    FAMILY.add(f"cvt.{_r}i.bf16.bf16", "bf16", "bf16")
FAMILY.add("cvt.f64.bf16", "f64", "bf16")
for _t in ("e4m3x2", "e5m2x2"):
    for _end in ("", ".relu"):
        FAMILY.add(f"cvt.rn.satfinite{_end}.{_t}.f32", "b16", "f32 f32")
        FAMILY.add(f"cvt.rn.satfinite{_end}.{_t}.f16x2", "b16", "f16x2")
        FAMILY.add(f"cvt.rn{_end}.f16x2.{_t}", "f16x2", "b16")
# cvt.pack writes two saturated values into a register and keeps the rest of it.
FAMILY.add("cvt.pack.sat.u16.s32", "b32", "s32 s32")
FAMILY.add("cvt.pack.sat.s16.s32", "b32", "s32 s32")
for _t in ("u8", "s8"):
    FAMILY.add(f"cvt.pack.sat.{_t}.s32.b32", "b32", "s32 s32 b32")
