"""Comparisons, logic, and selection by a condition."""

from __future__ import annotations

from functools import partial, reduce

from llvmlite import ir

from warploom.engine.ops.emission import Emission, OpValue, constant
from warploom.engine.ops.rules import (
    OUT,
    Scalar,
    booleans,
    common,
    comparison,
    define_by_component,
    names_of,
    pair,
    take,
)
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpType, Signature, register
from warploom.engine.ops.types import BOOLEAN
from warploom.engine.types import DType, boolean, s32, s64

_define = partial(define_by_component, "Logic")
_X = (take("x", "The operand."),)


def _compare(symbol: str) -> Scalar:
    def emit(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> ir.Value:
        builder = emission.builder
        if kind.kind == "float":
            return builder.fcmp_unordered(symbol, a, b) if symbol == "!=" else builder.fcmp_ordered(symbol, a, b)
        return (builder.icmp_signed if kind in (s32, s64) else builder.icmp_unsigned)(symbol, a, b)

    return emit


for _symbol, _name, _title, _doc in (
    ("==", "equal", "Equal", "Whether a equals b. A NaN equals no number, not even itself."),
    ("!=", "not_equal", "Not Equal", "Whether a differs from b. A NaN differs from every number."),
    ("<", "less", "Less", "Whether a is less than b."),
    ("<=", "less_equal", "Less or Equal", "Whether a is less than or equal to b."),
    (">", "greater", "Greater", "Whether a is greater than b."),
    (">=", "greater_equal", "Greater or Equal", "Whether a is greater than or equal to b."),
):
    _define(_name, _title, _doc, pair(), comparison, _compare(_symbol), f"{_symbol} compare")


def _builder(method: str) -> Scalar:
    return lambda emission, kind, *operands: getattr(emission.builder, method)(*operands)


_define("and", "And", "Whether both a and b hold.", pair(1.0), booleans, _builder("and_"), "&& logic")
_define("or", "Or", "Whether a or b holds, or both.", pair(), booleans, _builder("or_"), "|| logic")
_define("xor", "Exclusive Or", "Whether exactly one of a and b holds.", pair(), booleans, _builder("xor"), "logic")
_define(
    "not",
    "Not",
    "Whether x is 0 or false.",
    _X,
    booleans,
    lambda emission, kind, x: emission.builder.xor(x, constant(boolean, 1)),
    "! logic",
)


def _class_type(call: OpCall) -> Signature:
    kind = call.value("x").strong()
    return Signature({"x": kind}, {"out": kind.of(boolean)})


def _class(name: str) -> Scalar:
    def emit(emission: Emission, kind: DType, x: ir.Value) -> ir.Value:
        builder = emission.builder
        if kind.kind != "float":
            return constant(boolean, name == "finite")
        if name == "nan":
            return builder.fcmp_unordered("uno", x, x)
        size = emission.call(f"llvm.fabs.{kind}", x.type, [x])
        infinity = ir.Constant(x.type, float("inf"))
        return builder.fcmp_ordered("==" if name == "infinite" else "<", size, infinity)

    return emit


_define("is_nan", "Is NaN", "Whether x is not a number.", _X, _class_type, _class("nan"), "isnan")
_define("is_infinite", "Is Infinite", "Whether x is infinite.", _X, _class_type, _class("infinite"), "isinf")
_define(
    "is_finite", "Is Finite", "Whether x is neither infinite nor NaN.", _X, _class_type, _class("finite"), "isfinite"
)


def _reduced_type(call: OpCall) -> Signature:
    return Signature({"x": call.value("x").of(boolean)}, {"out": BOOLEAN})


def _register_reduced(name: str, title: str, doc: str, method: str) -> None:
    def emit(emission: Emission, code: OpCode) -> dict[str, OpValue]:
        combine = getattr(emission.builder, method)
        return {"out": OpValue(BOOLEAN, (reduce(combine, code.value("x").parts),))}

    register(OpType(f"op.{name}", title, "Logic", doc, _X, OUT, _reduced_type, emit, tags=("vector",)))


_register_reduced("any", "Any", "Whether any component of a vector is not 0.", "or_")
_register_reduced("all", "All", "Whether no component of a vector is 0.", "and_")


def _select_type(call: OpCall) -> Signature:
    kind = common(call, ("a", "b")).strong()
    condition = call.value("condition").of(boolean)
    components = max(kind.components, condition.components)
    if any(given.components not in (1, components) for given in (kind, condition)):
        message = f"condition must have as many components as a and b, {kind}, got {call.value('condition')}"
        raise Misuse(message, "condition", str(kind), str(call.value("condition")))
    whole = type(kind)(kind.scalar, components)
    return Signature(
        dict(zip(names_of(call), (type(kind)(boolean, components), whole, whole), strict=True)), {"out": whole}
    )


_define(
    "select",
    "Select",
    "a where the condition holds, otherwise b. Both are computed.",
    (
        take("condition", "The condition, for each component or for all."),
        take("a", "Result where the condition holds.", 1.0),
        take("b", "Elsewhere.", 0.0),
    ),
    _select_type,
    lambda emission, kind, condition, a, b: emission.builder.select(condition, a, b),
    "if choose ternary where",
)
