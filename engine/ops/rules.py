"""Type rules that many ops share, and emitters that work component by component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, isnan

from llvmlite import ir

from warploom.engine.diagnostics import Mend
from warploom.engine.ops.emission import Emission, OpValue
from warploom.engine.ops.table import (
    EmitOp,
    Misuse,
    OpCall,
    OpCode,
    OpInput,
    OpOutput,
    OpType,
    Signature,
    TypeRule,
    register,
)
from warploom.engine.ops.types import BOOLEAN, F32, S32, ValueType, promote
from warploom.engine.types import DType

#: Writes one component. Its arguments are the emission, the operands' type, and the operands.
Scalar = Callable[..., ir.Value]

OUT = (OpOutput("out", "The result."),)


def take(name: str, doc: str, default: float | None = None, *, optional: bool = False) -> OpInput:
    """Return an input. It must be connected unless it has a default or is optional."""
    return OpInput(name, doc, default, optional)


def pair(default: float = 0.0) -> tuple[OpInput, OpInput]:
    """Return the inputs a and b; b has a default, so it may stay unconnected."""
    return take("a", "The first operand."), take("b", "The second operand.", default)


def common(call: OpCall, names: Sequence[str]) -> ValueType:
    """Return the type that several inputs are promoted to. Raise Misuse if their vectors differ in size."""
    found = call.value(names[0])
    for name in names[1:]:
        given = call.value(name)
        both = promote(found, given)
        if both is None:
            message = f"{name} must have as many components as the other operands, {found}, got {given}"
            raise Misuse(message, name, str(found), str(given))
        found = both
    return found


def names_of(call: OpCall) -> list[str]:
    """Return the names of an op's inputs."""
    return [port.name for port in call.op.inputs]


def _uniform(call: OpCall, kind: ValueType, out: ValueType | None = None) -> Signature:
    """Return the signature of an op whose operands all have one type; its result has that type or `out`."""
    kind = kind.strong()
    return Signature(dict.fromkeys(names_of(call), kind), {"out": out or kind})


def numbers(call: OpCall) -> Signature:
    """Promote all operands, with booleans as s32; the result has their type."""
    kind = common(call, names_of(call))
    return _uniform(call, kind.of(S32.scalar) if kind.is_boolean else kind)


def floats(call: OpCall) -> Signature:
    """Promote all operands to f32 or f64; the result has their type."""
    kind = common(call, names_of(call))
    return _uniform(call, kind if kind.is_float else kind.of(F32.scalar))


def integers(call: OpCall) -> Signature:
    """Promote all operands, which must be whole numbers; the result has their type."""
    for name in names_of(call):
        _require_whole(call, name)
    return numbers(call)


def whole_or_boolean(call: OpCall) -> Signature:
    """Promote whole numbers as `integers` does; booleans stay booleans."""
    kind = common(call, names_of(call))
    return _uniform(call, kind) if kind.is_boolean else integers(call)


def booleans(call: OpCall) -> Signature:
    """Convert all operands to booleans; the result is one too. Any number but 0 is true."""
    return _uniform(call, common(call, names_of(call)).of(BOOLEAN.scalar))


def comparison(call: OpCall) -> Signature:
    """Promote all operands; the result is a boolean for each component."""
    kind = common(call, names_of(call))
    return _uniform(call, kind, kind.of(BOOLEAN.scalar))


def _require_whole(call: OpCall, name: str) -> None:
    given = call.value(name)
    if given.is_float:
        message = f"{name} must be a whole number, got {given}; convert it to s32"
        raise Misuse(message, name, str(S32), str(given), Mend.CONVERT)


def scalar(call: OpCall, name: str) -> ValueType:
    """Return the type of an input that must be a single number. Raise Misuse when it is a vector."""
    given = call.value(name)
    if given.components != 1:
        raise Misuse(f"{name} must be one number, got {given}", name, "number", str(given))
    return given


def integer(call: OpCall, name: str) -> ValueType:
    """Return s32 for an input that must be one whole number. Raise Misuse when it is anything else."""
    scalar(call, name)
    _require_whole(call, name)
    return S32


def fixed(**outputs: ValueType) -> TypeRule:
    """Return the rule of an op without inputs whose output types never change."""
    return lambda call: Signature({}, outputs)


def by_component(emit: Scalar) -> EmitOp:
    """Return an emitter that writes each component of the result `out` independently."""

    def each(emission: Emission, code: OpCode) -> dict[str, OpValue]:
        operands = [emission.parts(code.value(name)) for name in code.signature.inputs]
        kind = code.out
        operand = next(iter(code.signature.inputs.values()))
        columns = zip(*operands, strict=True)
        return {"out": OpValue(kind, tuple(emit(emission, operand.scalar, *column) for column in columns))}

    return each


def by_kind(of_float: str, of_integer: str) -> Scalar:
    """Return a scalar emitter that calls a method of the builder, by the kind of the operands."""

    def emit(emission: Emission, kind: DType, *operands: ir.Value) -> ir.Value:
        return getattr(emission.builder, pick(kind, of_float, of_integer))(*operands)

    return emit


def intrinsic(of_float: str, of_signed: str = "", of_unsigned: str = "") -> Scalar:
    """Return a scalar emitter that calls an intrinsic "llvm.NAME.TYPE", by the kind of the operands."""

    def emit(emission: Emission, kind: DType, *operands: ir.Value) -> ir.Value:
        name = pick(kind, of_float, of_signed, of_unsigned)
        text = str(kind) if kind.kind == "float" else str(operands[0].type)
        return emission.call(f"llvm.{name}.{text}", operands[0].type, list(operands))

    return emit


def extreme(of_float: str, of_signed: str, of_unsigned: str) -> Scalar:
    """Return the emitter of a minimum or maximum. NaN in any operand gives NaN, and -0 is below 0."""
    of_numbers, is_largest = intrinsic(of_float, of_signed, of_unsigned), of_float == "maxnum"

    def emit(emission: Emission, kind: DType, a: ir.Value, b: ir.Value) -> ir.Value:
        if isinstance(a, ir.Constant):
            a, b = b, a
        if kind.kind == "float" and isinstance(b, ir.Constant) and not isnan(b.constant):
            # The comparison treats 0 and -0 as equal, but one of them is beyond the bound.
            takes_equal = b.constant != 0 or (copysign(1, b.constant) > 0) == is_largest
            comparison = ("<" if is_largest else ">") + "=" * takes_equal
            return emission.builder.select(emission.builder.fcmp_ordered(comparison, a, b), b, a)
        found = of_numbers(emission, kind, a, b)
        if kind.kind != "float":
            return found
        # One PTX instruction computes this, but only from compute capability 8.0 on.
        is_nan = emission.builder.fcmp_unordered("uno", a, b)
        return emission.builder.select(is_nan, ir.Constant(a.type, float("nan")), found)

    return emit


def pick(kind: DType, of_float: str, of_signed: str, of_unsigned: str = "") -> str:
    """Return one of three names by the kind of a scalar; without an unsigned name, the signed one serves both."""
    if kind.kind == "float":
        return of_float
    return of_unsigned if of_unsigned and str(kind).startswith(("u", "b")) else of_signed


def define_by_component(
    category: str,
    name: str,
    title: str,
    doc: str,
    inputs: tuple[OpInput, ...],
    rule: TypeRule,
    emit: Scalar,
    tags: str = "",
) -> None:
    """Register an op "op.NAME" that computes each component of its one result independently."""
    found = tuple(tags.split())
    register(OpType(f"op.{name}", title, category, doc, inputs, OUT, rule, by_component(emit), (), found))
