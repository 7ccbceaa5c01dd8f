"""f32 and f64 arithmetic with defined bits: every rounding, flush to zero, saturation, minimum and maximum."""

from tests.gpu.differential.form import Family

FAMILY = Family("floats")
_ROUNDINGS = ("rn", "rz", "rm", "rp")

for _r in _ROUNDINGS:
    for _t, _ends in (("f32", ("", ".ftz", ".sat", ".ftz.sat")), ("f64", ("",))):
        for _end in _ends:
            for _name in ("add", "sub", "mul"):
                FAMILY.add(f"{_name}.{_r}{_end}.{_t}", _t, f"{_t} {_t}")
            FAMILY.add(f"fma.{_r}{_end}.{_t}", _t, f"{_t} {_t} {_t}")
        for _end in ("", ".ftz")[: len(_ends)]:
            FAMILY.add(f"div.{_r}{_end}.{_t}", _t, f"{_t} {_t}")
            FAMILY.add(f"rcp.{_r}{_end}.{_t}", _t, _t)
            FAMILY.add(f"sqrt.{_r}{_end}.{_t}", _t, _t)
FAMILY.add("mad.rn.f32", "f32", "f32 f32 f32")
FAMILY.add("mad.rz.f64", "f64", "f64 f64 f64")
for _t in ("f32", "f64"):
    for _end in ("", ".ftz") if _t == "f32" else ("",):
        for _name in ("neg", "abs"):
            FAMILY.add(f"{_name}{_end}.{_t}", _t, _t)
        for _name in ("min", "max"):
            FAMILY.add(f"{_name}{_end}.{_t}", _t, f"{_t} {_t}")
            if _t == "f32":
                for _more in (".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                    FAMILY.add(f"{_name}{_end}{_more}.f32", "f32", "f32 f32")
FAMILY.add("mov.f32", "b32", "b32", "mov.f32 %d, %a;")
FAMILY.add("mov.f64", "b64", "b64", "mov.f64 %d, %a;")
FAMILY.add("selp.f32", "b32", "b32 b32 pred", "selp.f32 %d, %a, %b, %c;")
FAMILY.add("add.f32 constant", "f32", "f32", "add.rn.f32 %d, %a, 0f3F800001;")
FAMILY.add("fma.rn.f64 constant", "f64", "f64", "fma.rn.f64 %d, %a, 0d400921FB54442D18, 0dBFF0000000000000;")
