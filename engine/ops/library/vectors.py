"""Small vectors: construction, components and geometry."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from llvmlite import ir

from warploom.engine.ops.emission import Emission, OpValue, constant
from warploom.engine.ops.rules import OUT, common, names_of, pair, take
from warploom.engine.ops.table import (
    Misuse,
    OpCall,
    OpCode,
    OpInput,
    OpOutput,
    OpSetting,
    OpType,
    Signature,
    TypeRule,
    register,
)
from warploom.engine.ops.types import F32, ValueType

_CATEGORY = "Vectors"
_LETTERS = "xyzw"
_PATTERN = re.compile("[xyzw]{1,4}|[rgba]{1,4}")
_X = (take("x", "The vector."),)


def _vector_type(call: OpCall) -> Signature:
    names = names_of(call)
    for name in names:
        given = call.value(name)
        if given.components != 1:
            raise Misuse(f"{name} must be one number, got {given}; split it", name, "number", str(given))
    kind = common(call, names)
    if kind.weak and not kind.is_float:
        kind = F32
    return Signature(dict.fromkeys(names, kind.strong()), {"out": ValueType(kind.scalar, len(names))})


def _vector(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    kind = code.out
    return {"out": OpValue(kind, tuple(code.value(name).parts[0] for name in code.signature.inputs))}


for _count in (2, 3, 4):
    register(
        OpType(
            f"op.vector{_count}",
            f"Vector {_count}",
            _CATEGORY,
            f"A vector of {_count} numbers. If all are typed in as settings, the vector is f32.",
            tuple(take(letter, f"Component {letter}.", 0.0) for letter in _LETTERS[:_count]),
            OUT,
            _vector_type,
            _vector,
            tags=("make", "float2", "float3", "float4", "colour"),
        )
    )


def _split_type(call: OpCall) -> Signature:
    kind = call.value("vector").strong()
    one = ValueType(kind.scalar)
    return Signature({"vector": kind}, dict.fromkeys(_LETTERS[: kind.components], one))


def _split(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    value = code.value("vector")
    one = ValueType(value.type.scalar)
    return {letter: OpValue(one, (part,)) for letter, part in zip(_LETTERS, value.parts, strict=False)}


register(
    OpType(
        "op.split",
        "Split",
        _CATEGORY,
        "The components of a vector. A vector of 2 numbers has no z, and one of 3 has no w.",
        (take("vector", "The vector."),),
        tuple(OpOutput(letter, f"Component {letter}.") for letter in _LETTERS),
        _split_type,
        _split,
        tags=("components", "break"),
    )
)


def _places(call: OpCall | OpCode) -> list[int]:
    letters = "rgba" if set(call.settings["pattern"]) & set("rgba") else _LETTERS
    return [letters.index(letter) for letter in call.settings["pattern"]]


def _swizzle_type(call: OpCall) -> Signature:
    kind, pattern = call.value("x").strong(), call.settings["pattern"]
    if not _PATTERN.fullmatch(pattern):
        raise Misuse(f"pattern must be 1 to 4 of the letters xyzw or rgba, got {pattern!r}", "pattern")
    if max(_places(call)) >= kind.components:
        raise Misuse(f"pattern must name components that {kind} has, got {pattern!r}", "pattern", found=pattern)
    return Signature({"x": kind}, {"out": ValueType(kind.scalar, len(pattern))})


def _swizzle(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    kind = code.out
    return {"out": OpValue(kind, tuple(code.value("x").parts[at] for at in _places(code)))}


register(
    OpType(
        "op.swizzle",
        "Swizzle",
        _CATEGORY,
        "Some components of a vector, in any order.",
        _X,
        OUT,
        _swizzle_type,
        _swizzle,
        settings=(OpSetting("pattern", "str", "xyz", "The components, such as zyx or xxxx."),),
        tags=("components", "reorder"),
    )
)

_Vector = tuple[ir.Value, ...]


def _dot(emission: Emission, a: _Vector, b: _Vector) -> ir.Value:
    builder = emission.builder
    products = [builder.fmul(x, y) for x, y in zip(a, b, strict=True)]
    total = products[0]
    for product in products[1:]:
        total = builder.fadd(total, product)
    return total


def _length(emission: Emission, kind: ValueType, x: _Vector) -> ir.Value:
    return emission.call(f"llvm.sqrt.{kind.scalar}", x[0].type, [_dot(emission, x, x)])


def _normalize(emission: Emission, kind: ValueType, x: _Vector) -> _Vector:
    builder, zero = emission.builder, constant(kind.scalar, 0)
    length = _length(emission, kind, x)
    is_zero = builder.fcmp_ordered("==", length, zero)
    return tuple(builder.select(is_zero, zero, builder.fdiv(part, length)) for part in x)


def _cross(emission: Emission, kind: ValueType, a: _Vector, b: _Vector) -> _Vector:
    builder = emission.builder

    def component(i: int, j: int) -> ir.Value:
        return builder.fsub(builder.fmul(a[i], b[j]), builder.fmul(a[j], b[i]))

    return component(1, 2), component(2, 0), component(0, 1)


def _distance(emission: Emission, kind: ValueType, a: _Vector, b: _Vector) -> _Vector:
    return (_length(emission, kind, tuple(emission.builder.fsub(x, y) for x, y in zip(a, b, strict=True))),)


def _reflect(emission: Emission, kind: ValueType, x: _Vector, normal: _Vector) -> _Vector:
    builder = emission.builder
    twice = builder.fmul(constant(kind.scalar, 2), _dot(emission, normal, x))
    return tuple(builder.fsub(part, builder.fmul(twice, n)) for part, n in zip(x, normal, strict=True))


def _float_type(call: OpCall, components: int = 0, *, one: bool) -> Signature:
    """Convert all operands to a vector of floats; the result is a vector of floats or one number."""
    kind = common(call, names_of(call)).strong()
    if not kind.is_float:
        kind = kind.of(F32.scalar)
    if components and kind.components != components:
        name = names_of(call)[0]
        raise Misuse(f"{name} must be a vector of {components}, got {kind}", name, f"vector of {components}", str(kind))
    return Signature(dict.fromkeys(names_of(call), kind), {"out": ValueType(kind.scalar) if one else kind})


def _define(
    name: str,
    title: str,
    doc: str,
    inputs: tuple[OpInput, ...],
    rule: TypeRule,
    emit: Callable[..., _Vector],
    tags: str = "",
) -> None:
    def write(emission: Emission, code: OpCode) -> dict[str, OpValue]:
        operands = [code.value(port.name) for port in inputs]
        kind = code.out
        return {"out": OpValue(kind, emit(emission, operands[0].type, *(operand.parts for operand in operands)))}

    register(OpType(f"op.{name}", title, _CATEGORY, doc, inputs, OUT, rule, write, tags=tuple(tags.split())))


_TO_ONE, _TO_VECTOR = partial(_float_type, one=True), partial(_float_type, one=False)
_define(
    "dot",
    "Dot Product",
    "The sum of the products of the components, added from x on.",
    pair(),
    _TO_ONE,
    lambda emission, kind, a, b: (_dot(emission, a, b),),
    "scalar inner",
)
_define(
    "cross",
    "Cross Product",
    "The vector perpendicular to two vectors of 3 numbers.",
    pair(),
    partial(_float_type, components=3, one=False),
    _cross,
    "outer perpendicular",
)
_define(
    "length",
    "Length",
    "The square root of the sum of the squares of the components.",
    _X,
    _TO_ONE,
    lambda emission, kind, x: (_length(emission, kind, x),),
    "norm magnitude",
)
_define("distance", "Distance", "The length of a - b.", pair(), _TO_ONE, _distance, "norm")
_define(
    "normalize",
    "Normalize",
    "x divided by its length; a zero vector stays zero.",
    _X,
    _TO_VECTOR,
    _normalize,
    "unit direction",
)
_define(
    "reflect",
    "Reflect",
    "x reflected at a plane: x - 2 dot(normal, x) normal.",
    (take("x", "The direction to reflect."), take("normal", "The plane's normal, of length 1.")),
    _TO_VECTOR,
    _reflect,
    "mirror",
)
