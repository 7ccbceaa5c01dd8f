"""f16 and bf16 arithmetic, single and packed."""

from tests.gpu.differential.form import Family

FAMILY = Family("halves")

for _t in ("f16", "f16x2", "bf16", "bf16x2"):
    _ends = ("", ".ftz", ".sat", ".ftz.sat") if _t.startswith("f") else ("",)
    _rounded = (".rn", "") if _t.startswith("f") else (".rn",)
    for _name in ("add", "sub", "mul"):
        for _end in _ends:
            for _r in _rounded:
                FAMILY.add(f"{_name}{_r}{_end}.{_t}", _t, f"{_t} {_t}")
    for _end in (*_ends, ".relu", *((".ftz.relu",) if _t.startswith("f") else ())):
        FAMILY.add(f"fma.rn{_end}.{_t}", _t, f"{_t} {_t} {_t}")
    for _end in ("", ".ftz") if _t.startswith("f") else ("",):
        for _name in ("min", "max"):
            for _more in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                FAMILY.add(f"{_name}{_end}{_more}.{_t}", _t, f"{_t} {_t}")
        for _name in ("neg", "abs"):
            FAMILY.add(f"{_name}{_end}.{_t}", _t, _t)
