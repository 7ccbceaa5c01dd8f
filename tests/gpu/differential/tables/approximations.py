"""Approximate instructions with the error bounds of the PTX manual."""

from typing import Any

import numpy as np

from tests.gpu.differential.form import Family
from tests.gpu.differential.kinds import Floats
from tests.gpu.differential.rules import Approximate

FAMILY = Family("approximations")
_TINY = 2.0**-126


def _flushed(x: Floats) -> Floats:
    return np.where(np.abs(x) < _TINY, np.copysign(0.0, x), x)


def _quotient(a: Floats, b: Floats) -> Floats:
    return a / b


def _fast_quotient(a: Floats, b: Floats) -> Floats:
    """The quotient that div.approx computes: zero for 2^126 < |b| < 2^128."""
    value = a / b
    return np.where((np.abs(b) > 2.0**126) & np.isfinite(b), np.where(np.isinf(a), np.nan, value * 0), value)


def _sine(x: Floats) -> Floats:
    return np.sin(x)


def _cosine(x: Floats) -> Floats:
    return np.cos(x)


def _reciprocal(x: Floats) -> Floats:
    return 1.0 / x


def _reciprocal_root(x: Floats) -> Floats:
    return 1.0 / np.sqrt(x)


def _rule(true: Any, relative: float = 0.0, absolute: float = 0.0, *, ftz: bool = False) -> Approximate:
    if not ftz:
        return Approximate(true=true, relative=relative, absolute=absolute)
    return Approximate(true=lambda *items: true(*map(_flushed, items)), relative=relative, absolute=absolute, ftz=True)


for _ftz in ("", ".ftz"):
    _f = bool(_ftz)
    FAMILY.add(f"rcp.approx{_ftz}.f32", "f32", "f32", rule=_rule(_reciprocal, 2.0**-23, ftz=_f))
    FAMILY.add(f"sqrt.approx{_ftz}.f32", "f32", "f32", rule=_rule(np.sqrt, 2.0**-23, ftz=_f))
    FAMILY.add(f"rsqrt.approx{_ftz}.f32", "f32", "f32", rule=_rule(_reciprocal_root, 2.0**-22.9, ftz=_f))
    FAMILY.add(f"ex2.approx{_ftz}.f32", "f32", "exponent", rule=_rule(np.exp2, 2.0**-22, ftz=_f))
    # The manual's bound is absolute within (0.5, 2) and relative outside; the sum covers both.
    FAMILY.add(f"lg2.approx{_ftz}.f32", "f32", "positive", rule=_rule(np.log2, 2.0**-22, 2.0**-22, ftz=_f))
    for _name, _true in (("sin", _sine), ("cos", _cosine)):
        _full = f"{_name}.approx{_ftz}.f32"
        FAMILY.add(_full, "f32", "turn", rule=_rule(_true, 0.0, 2.0**-20.5, ftz=_f))
        FAMILY.add(f"{_full} far", "f32", "angle", f"{_full} %d, %a;", rule=_rule(_true, 0.0, 2.0**-14.7, ftz=_f))
    FAMILY.add(f"div.full{_ftz}.f32", "f32", "dividend divisor", rule=_rule(_quotient, 2.0**-22, ftz=_f))
    FAMILY.add(f"div.approx{_ftz}.f32", "f32", "dividend divisor", rule=_rule(_fast_quotient, 2.0**-22, ftz=_f))
FAMILY.add("tanh.approx.f32", "f32", "f32", rule=_rule(np.tanh, 2.0**-11))
FAMILY.add("rsqrt.approx.f64", "f64", "f64", rule=_rule(_reciprocal_root, 2.0**-22))
FAMILY.add("rcp.approx.ftz.f64", "f64", "whole64", rule=_rule(_reciprocal, 2.0**-19))
FAMILY.add("rsqrt.approx.ftz.f64", "f64", "whole64", rule=_rule(_reciprocal_root, 2.0**-19))
for _x in ("", "x2"):
    FAMILY.add(f"tanh.approx.f16{_x}", f"f16{_x}", f"f16{_x}", rule=_rule(np.tanh, 0.0, 2.0**-10.987))
    FAMILY.add(f"tanh.approx.bf16{_x}", f"bf16{_x}", f"bf16{_x}", rule=_rule(np.tanh, 0.0, 2.0**-8))
    FAMILY.add(f"ex2.approx.f16{_x}", f"f16{_x}", f"f16{_x}", rule=_rule(np.exp2, 2.0**-9.9))
    FAMILY.add(f"ex2.approx.ftz.bf16{_x}", f"bf16{_x}", f"bf16{_x}", rule=_rule(np.exp2, 2.0**-7, ftz=True))
