"""Arithmetic on numbers and vectors, component by component."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from warploom.engine.ops.emission import Emission, constant
from warploom.engine.ops.functions import FUNCTIONS
from warploom.engine.ops.rules import by_kind, define_by_component, extreme, floats, numbers, pair, take
from warploom.engine.types import DType, s32, s64


def divide_whole(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return quotient and remainder, rounded toward zero; x / 0 gives 0 and 0, and the smallest number by -1 wraps."""
    builder, is_signed = emission.builder, kind in (s32, s64)
    zero, one = constant(kind, 0), constant(kind, 1)
    is_zero = builder.icmp_unsigned("==", b, zero)
    is_odd = is_zero
    if is_signed:
        is_minus = builder.icmp_unsigned("==", b, constant(kind, -1))
        is_odd = builder.or_(is_zero, is_minus)
    safe = builder.select(is_odd, one, b)
    quotient = builder.sdiv(a, safe) if is_signed else builder.udiv(a, safe)
    if is_signed:
        quotient = builder.select(is_minus, builder.sub(zero, a), quotient)
    quotient = builder.select(is_zero, zero, quotient)
    remainder = builder.sub(a, builder.mul(quotient, b))
    return quotient, builder.select(is_zero, zero, remainder)


def _floor_divide(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    builder = emission.builder
    if kind.kind == "float":
        return emission.call(f"llvm.floor.{kind}", a.type, [builder.fdiv(a, b)])
    quotient, remainder = divide_whole(emission, kind, a, b)
    if kind not in (s32, s64):
        return quotient
    return builder.sub(quotient, builder.zext(_is_below(emission, kind, remainder, b), a.type))


def _modulo(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    if kind.kind == "float":
        return FUNCTIONS["mod"].emit(emission.builder, a, b)
    _, remainder = divide_whole(emission, kind, a, b)
    if kind not in (s32, s64):
        return remainder
    builder = emission.builder
    return builder.select(_is_below(emission, kind, remainder, b), builder.add(remainder, b), remainder)


def _remainder(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    if kind.kind == "float":
        return FUNCTIONS["fmod"].emit(emission.builder, a, b)
    return divide_whole(emission, kind, a, b)[1]


def _is_below(emission: Emission, kind: DType, remainder: ir.Value, b: ir.Value) -> ir.Value:
    """Return whether the quotient rounded toward zero is above the one rounded toward minus infinity."""
    builder, zero = emission.builder, constant(kind, 0)
    differs = builder.icmp_signed("<", builder.xor(remainder, b), zero)
    return builder.and_(builder.icmp_unsigned("!=", remainder, zero), differs)


def _negate(emission: Emission, kind: DType, a: ir.Value) -> ir.Value:
    builder = emission.builder
    return builder.fneg(a) if kind.kind == "float" else builder.sub(constant(kind, 0), a)


def _absolute(emission: Emission, kind: DType, a: ir.Value) -> ir.Value:
    builder = emission.builder
    if kind.kind == "float":
        return emission.call(f"llvm.fabs.{kind}", a.type, [a])
    if kind not in (s32, s64):
        return a
    return builder.select(builder.icmp_signed("<", a, constant(kind, 0)), _negate(emission, kind, a), a)


def _multiply_add(emission: Emission, kind: DType, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    if kind.kind == "float":
        return emission.call(f"llvm.fma.{kind}", a.type, [a, b, c])
    return emission.builder.add(emission.builder.mul(a, b), c)


_X = (take("x", "The operand."),)
_define = partial(define_by_component, "Arithmetic")
smaller, larger = extreme("minnum", "smin", "umin"), extreme("maxnum", "smax", "umax")

_define("add", "Add", "a + b. Whole numbers wrap.", pair(), numbers, by_kind("fadd", "add"), "plus sum +")
_define("subtract", "Subtract", "a - b. Whole numbers wrap.", pair(), numbers, by_kind("fsub", "sub"), "minus -")
_define(
    "multiply", "Multiply", "a * b. Whole numbers wrap.", pair(1.0), numbers, by_kind("fmul", "mul"), "times product *"
)
_define("divide", "Divide", "a / b, as f32 or f64.", pair(1.0), floats, by_kind("fdiv", ""), "over quotient /")
_define(
    "floor_divide",
    "Floor Divide",
    "a / b, rounded down. Whole numbers divided by 0 give 0.",
    pair(1.0),
    numbers,
    _floor_divide,
    "// quotient integer",
)
_define("negate", "Negate", "-x.", _X, numbers, _negate, "minus -")
_define("absolute", "Absolute", "The absolute value of x.", _X, numbers, _absolute, "abs magnitude")
_define(
    "minimum",
    "Minimum",
    "The smaller of a and b; NaN if either is NaN. -0 is less than 0.",
    pair(),
    numbers,
    smaller,
    "min fmin",
)
_define(
    "maximum",
    "Maximum",
    "The larger of a and b; NaN if either is NaN. -0 is less than 0.",
    pair(),
    numbers,
    larger,
    "max fmax",
)
_define(
    "multiply_add",
    "Multiply Add",
    "a * b + c; for floats, rounded once.",
    (*pair(1.0), take("c", "The number to add.", 0.0)),
    numbers,
    _multiply_add,
    "fma mad",
)
_define(
    "modulo",
    "Modulo",
    "a - b * floor(a / b), exactly; the result has the sign of b. Whole numbers modulo 0 give 0.",
    pair(1.0),
    numbers,
    _modulo,
    "% mod remainder",
)
_define(
    "remainder",
    "Remainder",
    "The remainder of a / b, rounded toward zero; it has the sign of a. Whole numbers divided by 0 give 0.",
    pair(1.0),
    numbers,
    _remainder,
    "% rem",
)
