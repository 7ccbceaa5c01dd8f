"""Operations on the bits of whole numbers, component by component."""

from __future__ import annotations

from functools import partial

from llvmlite import ir

from warploom.engine.diagnostics import Mend
from warploom.engine.ops.emission import I1, Emission, constant
from warploom.engine.ops.rules import (
    Scalar,
    common,
    define_by_component,
    integers,
    intrinsic,
    names_of,
    pair,
    take,
    whole_or_boolean,
)
from warploom.engine.ops.table import Misuse, OpCall, Signature
from warploom.engine.ops.types import S32
from warploom.engine.types import DType, s32, s64

_define = partial(define_by_component, "Bits")
_X = (take("x", "The operand, a whole number."),)


def _builder(method: str) -> Scalar:
    return lambda emission, kind, *operands: getattr(emission.builder, method)(*operands)


def _shift_type(call: OpCall) -> Signature:
    """The result has the type of the shifted operand."""
    both = common(call, names_of(call))
    for name in names_of(call):
        given = call.value(name)
        if given.is_float:
            message = f"{name} must be a whole number, got {given}"
            raise Misuse(message, name, str(S32), str(given), Mend.CONVERT)
    first = call.value(names_of(call)[0])
    kind = both.of(S32.scalar if first.is_boolean else first.scalar)
    return Signature(dict.fromkeys(names_of(call), kind), {"out": kind})


def _shift(method: str) -> Scalar:
    def emit(emission: Emission, kind: DType, x: ir.Value, amount: ir.Value) -> ir.Value:
        builder = emission.builder
        masked = builder.and_(amount, constant(kind, kind.size_bytes * 8 - 1))
        name = "ashr" if method == "lshr" and kind in (s32, s64) else method
        return getattr(builder, name)(x, masked)

    return emit


def _rotate(name: str) -> Scalar:
    def emit(emission: Emission, kind: DType, x: ir.Value, amount: ir.Value) -> ir.Value:
        return emission.call(f"llvm.{name}.{x.type}", x.type, [x, x, amount])

    return emit


def _zeros(name: str) -> Scalar:
    def emit(emission: Emission, kind: DType, x: ir.Value) -> ir.Value:
        return emission.call(f"llvm.{name}.{x.type}", x.type, [x, ir.Constant(I1, 0)])

    return emit


def _multiply_high(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    builder, bits = emission.builder, kind.size_bytes * 8
    wide = ir.IntType(2 * bits)
    extend = builder.sext if kind in (s32, s64) else builder.zext
    product = builder.mul(extend(a, wide), extend(b, wide))
    return builder.trunc(builder.lshr(product, ir.Constant(wide, bits)), a.type)


_AMOUNT = (
    take("x", "The number to shift."),
    take("amount", "Number of bits to shift by, modulo the number of bits of x.", 1.0),
)

_define("bit_and", "Bit And", "The bits that are 1 in both.", pair(), whole_or_boolean, _builder("and_"), "& mask")
_define("bit_or", "Bit Or", "The bits that are 1 in either or both.", pair(), whole_or_boolean, _builder("or_"), "|")
_define(
    "bit_xor", "Bit Exclusive Or", "The bits in which a and b differ.", pair(), whole_or_boolean, _builder("xor"), "^"
)
_define(
    "bit_not",
    "Bit Not",
    "All bits of x inverted.",
    _X,
    integers,
    lambda emission, kind, x: emission.builder.xor(x, constant(kind, -1)),
    "~ invert",
)
_define(
    "shift_left",
    "Shift Left",
    "x shifted to the left; zeros come in at the right.",
    _AMOUNT,
    _shift_type,
    _shift("shl"),
    "<<",
)
_define(
    "shift_right",
    "Shift Right",
    "x shifted to the right; the left is filled with copies of the sign bit for signed numbers, otherwise with zeros.",
    _AMOUNT,
    _shift_type,
    _shift("lshr"),
    ">>",
)
_define(
    "rotate_left",
    "Rotate Left",
    "x shifted to the left; bits that leave at the left come in at the right.",
    _AMOUNT,
    _shift_type,
    _rotate("fshl"),
)
_define(
    "rotate_right",
    "Rotate Right",
    "x shifted to the right; bits that leave at the right come in at the left.",
    _AMOUNT,
    _shift_type,
    _rotate("fshr"),
)
_define(
    "count_bits",
    "Count Bits",
    "The number of bits that are 1.",
    _X,
    integers,
    intrinsic("", "ctpop"),
    "popc population",
)
_define(
    "leading_zeros",
    "Leading Zeros",
    "The number of zeros to the left of the first 1.",
    _X,
    integers,
    _zeros("ctlz"),
    "clz",
)
_define(
    "trailing_zeros",
    "Trailing Zeros",
    "The number of zeros to the right of the last 1.",
    _X,
    integers,
    _zeros("cttz"),
    "ctz",
)
_define("reverse_bits", "Reverse Bits", "The bits in reverse order.", _X, integers, intrinsic("", "bitreverse"), "brev")
_define(
    "multiply_high",
    "Multiply High",
    "The upper half of the full product of a and b.",
    pair(),
    integers,
    _multiply_high,
    "mulhi",
)
