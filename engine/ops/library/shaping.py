"""Clamping, blending, steps and remapping of numbers, component by component."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from warploom.engine.ops.emission import Emission, constant
from warploom.engine.ops.library.arithmetic import larger, smaller
from warploom.engine.ops.rules import define_by_component, floats, numbers, take
from warploom.engine.types import DType

_define = partial(define_by_component, "Shaping")
_X = take("x", "The operand.")


def _clamp(emission: Emission, kind: DType, x: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    return smaller(emission, kind, larger(emission, kind, x, low), high)


def _saturate(emission: Emission, kind: DType, x: ir.Value) -> ir.Value:
    return _clamp(emission, kind, x, constant(kind, 0), constant(kind, 1))


def _mix(emission: Emission, kind: DType, a: ir.Value, b: ir.Value, t: ir.Value) -> ir.Value:
    builder = emission.builder
    rest = builder.fsub(constant(kind, 1), t)
    return builder.fadd(builder.fmul(a, rest), builder.fmul(b, t))


def _step(emission: Emission, kind: DType, edge: ir.Value, x: ir.Value) -> ir.Value:
    is_below = emission.builder.fcmp_ordered("<", x, edge)
    return emission.builder.select(is_below, constant(kind, 0), constant(kind, 1))


def _smoothstep(emission: Emission, kind: DType, low: ir.Value, high: ir.Value, x: ir.Value) -> ir.Value:
    builder = emission.builder
    t = _saturate(emission, kind, builder.fdiv(builder.fsub(x, low), builder.fsub(high, low)))
    slope = builder.fsub(constant(kind, 3), builder.fmul(constant(kind, 2), t))
    return builder.fmul(builder.fmul(t, t), slope)


def _remap(emission: Emission, kind: DType, x: ir.Value, *range_: ir.Value) -> ir.Value:
    builder = emission.builder
    low, high, new_low, new_high = range_
    t = builder.fdiv(builder.fsub(x, low), builder.fsub(high, low))
    return _mix(emission, kind, new_low, new_high, t)


def _sign(emission: Emission, kind: DType, x: ir.Value) -> ir.Value:
    builder, zero, one, minus = emission.builder, constant(kind, 0), constant(kind, 1), constant(kind, -1)
    if kind.kind == "float":
        negative = builder.select(builder.fcmp_ordered("<", x, zero), minus, x)
        return builder.select(builder.fcmp_ordered(">", x, zero), one, negative)
    if str(kind).startswith("u"):
        return builder.select(builder.icmp_unsigned(">", x, zero), one, zero)
    negative = builder.select(builder.icmp_signed("<", x, zero), minus, zero)
    return builder.select(builder.icmp_signed(">", x, zero), one, negative)


_define(
    "clamp",
    "Clamp",
    "x, but at least low and at most high; NaN if x, low or high is NaN.",
    (_X, take("low", "The smallest result.", 0.0), take("high", "The largest result.", 1.0)),
    numbers,
    _clamp,
    "limit range",
)
_define("saturate", "Saturate", "x, but at least 0 and at most 1; NaN stays NaN.", (_X,), floats, _saturate, "clamp01")
_define(
    "mix",
    "Mix",
    "a * (1 - t) + b * t.",
    (
        take("a", "Result at t = 0.", 0.0),
        take("b", "Result at t = 1.", 1.0),
        take("t", "Share of b, usually from 0 to 1.", 0.5),
    ),
    floats,
    _mix,
    "lerp blend interpolate",
)
_define(
    "step",
    "Step",
    "0 if x is less than the edge, otherwise 1.",
    (take("edge", "Smallest x that gives 1.", 0.5), _X),
    floats,
    _step,
)
_define(
    "smoothstep",
    "Smooth Step",
    "0 up to low, 1 from high, and t * t * (3 - 2 t) between them; NaN if x is NaN.",
    (take("low", "x at which the rise begins.", 0.0), take("high", "x at which the rise ends.", 1.0), _X),
    floats,
    _smoothstep,
    "ease fade",
)
_define(
    "remap",
    "Remap",
    "x mapped from the range low to high to the range new_low to new_high.",
    (
        _X,
        take("low", "Value of x that becomes new_low.", 0.0),
        take("high", "Value of x that becomes new_high.", 1.0),
        take("new_low", "Result for low.", 0.0),
        take("new_high", "Result for high.", 1.0),
    ),
    floats,
    _remap,
    "map range scale",
)
_define("sign", "Sign", "1 or -1, the sign of x; zeros and NaNs stay as they are.", (_X,), numbers, _sign, "signum")
