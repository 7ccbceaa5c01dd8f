"""Conversions of values to other types: by their numeric value, or by their bits."""

from __future__ import annotations

from warploom.engine.ops.emission import LLVM, Emission, OpValue
from warploom.engine.ops.rules import OUT, take
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import NUMBERS
from warploom.engine.types import NAMED, DType, f32, f64, s32, s64, u32, u64

_CATEGORY = "Conversion"
_X = (take("x", "The operand."),)
_BITS: dict[DType, DType] = {f32: u32, u32: f32, s32: f32, f64: u64, u64: f64, s64: f64}


def _convert_type(call: OpCall) -> Signature:
    kind = call.value("x").of(NAMED[call.settings["type"]])
    return Signature({"x": kind if call.value("x").weak else call.value("x")}, {"out": kind})


def _convert(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    kind = code.out
    return {"out": emission.convert(code.value("x"), kind)}


register(
    OpType(
        "op.convert",
        "Convert",
        _CATEGORY,
        "The same number as another type. A float is truncated to a whole number and clamped to the type's range, and "
        "NaN becomes 0. Whole numbers wrap. As a boolean, every number but 0 is true.",
        _X,
        OUT,
        _convert_type,
        _convert,
        settings=(OpSetting("type", "str", "f32", "The type to convert to.", NUMBERS),),
        tags=("cast", "float", "int"),
    )
)


def _bits_type(call: OpCall) -> Signature:
    kind = call.value("x").strong()
    if kind.is_boolean:
        raise Misuse(f"x must be a number of 32 or 64 bits, got {kind}", "x", "number", str(kind))
    return Signature({"x": kind}, {"out": kind.of(_BITS[kind.scalar])})


def _bits(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    kind = code.out
    parts = (emission.builder.bitcast(part, LLVM[kind.scalar]) for part in code.value("x").parts)
    return {"out": OpValue(kind, tuple(parts))}


register(
    OpType(
        "op.reinterpret",
        "Reinterpret",
        _CATEGORY,
        "The same bits as another type: a float becomes an unsigned whole number, and a whole number a float.",
        _X,
        OUT,
        _bits_type,
        _bits,
        tags=("bits", "bitcast"),
    )
)
