"""Warps and thread blocks: shuffles, votes, and sums over many threads."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from warploom.engine.ops import memory
from warploom.engine.ops.emission import (
    GLOBAL,
    I1,
    I32,
    I64,
    LLVM,
    Aggregate,
    Emission,
    OpBuffer,
    OpValue,
    OutputPointer,
    constant,
)
from warploom.engine.ops.library.arithmetic import larger, smaller
from warploom.engine.ops.library.interface import type_as_element
from warploom.engine.ops.library.threads import barrier, shared_array
from warploom.engine.ops.rules import OUT, Scalar, by_kind, integer, take
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpOutput, OpSetting, OpType, Signature, register
from warploom.engine.ops.types import BOOLEAN, ELEMENTS, U32, BufferType, ValueType
from warploom.engine.types import NAMED, DType, f32, f64, s32

_CATEGORY = "Threads"
_EVERY_LANE = ir.Constant(I32, -1)
_WARP = 32


def _words(emission: Emission, part: ir.Value, change: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """Apply a function to each 32-bit word of a number, and return the resulting number."""
    builder, kind = emission.builder, part.type
    if kind == I1:
        return builder.trunc(change(builder.zext(part, I32)), I1)
    if kind.intrinsic_name in ("i32", "f32"):
        return builder.bitcast(change(builder.bitcast(part, I32)), kind)
    whole = builder.bitcast(part, I64)
    low, high = builder.trunc(whole, I32), builder.trunc(builder.lshr(whole, ir.Constant(I64, 32)), I32)
    low, high = change(low), change(high)
    upper = builder.shl(builder.zext(high, I64), ir.Constant(I64, 32))
    return builder.bitcast(builder.or_(builder.zext(low, I64), upper), kind)


def shuffled(emission: Emission, mode: str, part: ir.Value, lane: ir.Value) -> ir.Value:
    """Return the value that another lane of the warp holds; all lanes must take part."""
    last = ir.Constant(I32, 0 if mode == "up" else _WARP - 1)
    name = {"index": "idx", "xor": "bfly"}.get(mode, mode)
    arguments = [_EVERY_LANE, lane, last]

    def change(word: ir.Value) -> ir.Value:
        mask, *others = arguments
        return emission.call(f"llvm.nvvm.shfl.sync.{name}.i32", I32, [mask, word, *others])

    return _words(emission, part, change)


def _shuffle_type(call: OpCall) -> Signature:
    kind = call.value("value").strong()
    return Signature({"value": kind, "lane": integer(call, "lane")}, {"out": kind})


def _shuffle(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    value, lane = code.value("value"), code.value("lane").parts[0]
    return {"out": OpValue(value.type, tuple(shuffled(emission, code.settings["mode"], p, lane) for p in value.parts))}


register(
    OpType(
        "op.shuffle",
        "Warp Shuffle",
        _CATEGORY,
        "The value of another lane of the warp. A lane outside the warp gives the thread's own value.",
        (take("value", "Value of each lane."), take("lane", "Index of the lane, or distance to it.", 1.0)),
        OUT,
        _shuffle_type,
        _shuffle,
        settings=(
            OpSetting(
                "mode",
                "str",
                "down",
                "Down and up: the lane at this distance after or before this one. Xor: the lane whose index differs in "
                "these bits. Index: the lane with this index.",
                ("down", "up", "xor", "index"),
            ),
        ),
        tags=("exchange", "shfl"),
        roams=True,
        waits=True,
    )
)


def _vote_type(call: OpCall) -> Signature:
    kind = call.value("value")
    if kind.components != 1:
        raise Misuse(f"value must be one value, got {kind}; use Any or All", "value", "boolean", str(kind))
    return Signature({"value": BOOLEAN}, {"any": BOOLEAN, "all": BOOLEAN, "lanes": U32})


def _vote(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    """Emit a vote among the threads that have an element."""
    builder, (holds,) = emission.builder, code.value("value").parts
    inside = emission.inside if emission.inside is not None else constant(BOOLEAN.scalar, 1)
    arguments = [_EVERY_LANE, builder.and_(holds, inside)]
    every = [_EVERY_LANE, builder.or_(holds, builder.xor(inside, constant(BOOLEAN.scalar, 1)))]
    return {
        "any": OpValue(BOOLEAN, (emission.call("llvm.nvvm.vote.any.sync", I1, arguments),)),
        "all": OpValue(BOOLEAN, (emission.call("llvm.nvvm.vote.all.sync", I1, every),)),
        "lanes": OpValue(U32, (emission.call("llvm.nvvm.vote.ballot.sync", I32, arguments),)),
    }


register(
    OpType(
        "op.vote",
        "Warp Vote",
        _CATEGORY,
        "Number of lanes of the warp in which a condition holds; threads without an element don't count.",
        (take("value", "The condition."),),
        (
            OpOutput("any", "Whether the condition holds in any lane."),
            OpOutput("all", "Whether the condition holds in all lanes."),
            OpOutput("lanes", "A bit for each lane in which the condition holds."),
        ),
        _vote_type,
        _vote,
        tags=("ballot",),
        roams=True,
        waits=True,
    )
)


_COMBINE: dict[str, Scalar] = {
    "add": by_kind("fadd", "add"),
    "multiply": by_kind("fmul", "mul"),
    "minimum": smaller,
    "maximum": larger,
    "and": lambda emission, _kind, a, b: emission.builder.and_(a, b),
    "or": lambda emission, _kind, a, b: emission.builder.or_(a, b),
}


def _identity(operation: str, kind: DType) -> ir.Constant:
    """Return the neutral element of the operation."""
    if operation in ("minimum", "maximum"):
        if kind in (f32, f64):
            return ir.Constant(LLVM[kind], float("inf") if operation == "minimum" else float("-inf"))
        bits = kind.size_bytes * 8
        if str(kind).startswith("u"):
            return constant(kind, (1 << bits) - 1 if operation == "minimum" else 0)
        return constant(kind, (1 << bits - 1) - 1 if operation == "minimum" else -(1 << bits - 1))
    return constant(kind, {"add": 0, "multiply": 1, "and": -1, "or": 0}[operation])


def _collective_type(call: OpCall) -> Signature:
    kind, operation = call.value("value").strong(), call.settings["operation"]
    if kind.is_boolean and operation not in ("and", "or"):
        kind = kind.of(s32)
    if kind.element() is None:
        raise Misuse(f"value must be one boolean or a vector of numbers, got {kind}", "value", found=str(kind))
    if kind.is_float and operation in ("and", "or"):
        raise Misuse(f"value must be a whole number or a boolean for this operation, got {kind}", "value")
    return Signature({"value": kind}, {port.name: kind for port in call.op.outputs})


def _own(emission: Emission, code: OpCode) -> list[ir.Value]:
    """Return this thread's components, or the neutral element if the thread has no element."""
    value = code.value("value")
    none = _identity(code.settings["operation"], value.type.scalar)
    if emission.inside is None:
        return list(value.parts)
    return [emission.builder.select(emission.inside, part, none) for part in value.parts]


def _warp_place(emission: Emission) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return the lane, the warp's index in the thread block, and the number of warps."""
    builder = emission.builder
    x, y, z = (emission.special(f"tid.{axis}") for axis in "xyz")
    width, height, depth = (emission.special(f"ntid.{axis}") for axis in "xyz")
    number = builder.add(builder.mul(builder.add(builder.mul(z, height), y), width), x)
    threads = builder.mul(builder.mul(width, height), depth)
    five = ir.Constant(I32, 5)
    return builder.and_(number, ir.Constant(I32, 31)), builder.lshr(number, five), builder.lshr(threads, five)


def _over_warp(emission: Emission, combine: Scalar, kind: DType, part: ir.Value) -> ir.Value:
    for distance in (16, 8, 4, 2, 1):
        other = shuffled(emission, "xor", part, ir.Constant(I32, distance))
        part = combine(emission, kind, part, other)
    return part


def _scan_warp(emission: Emission, combine: Scalar, kind: DType, part: ir.Value, lane: ir.Value) -> ir.Value:
    builder = emission.builder
    for distance in (1, 2, 4, 8, 16):
        away = ir.Constant(I32, distance)
        other = combine(emission, kind, shuffled(emission, "up", part, away), part)
        part = builder.select(builder.icmp_unsigned("<", lane, away), part, other)
    return part


def _of_warps(emission: Emission, code: OpCode, parts: list[ir.Value], is_writer: ir.Value) -> list[ir.Value]:
    """Return, in lane n, the value from warp n's writer; lanes beyond the last warp get the neutral element."""
    kind, builder = code.value("value").type, emission.builder
    lane, warp, warps = _warp_place(emission)
    dtype = kind.element()
    assert dtype is not None
    layout = BufferType(dtype, "shared", writable=True)
    held = OpBuffer(
        layout, shared_array(emission, "warps", dtype.size_bytes * _WARP), lambda _extent: ir.Constant(I32, _WARP)
    )
    with builder.if_then(is_writer):
        memory.store(emission, held, warp, parts)
    barrier(emission)
    found = memory.load(emission, held, lane).parts
    barrier(emission)
    none = _identity(code.settings["operation"], kind.scalar)
    is_warp = builder.icmp_unsigned("<", lane, warps)
    return [builder.select(is_warp, part, none) for part in found]


def _reduce(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    kind, combine = code.value("value").type, _COMBINE[code.settings["operation"]]
    parts = [_over_warp(emission, combine, kind.scalar, part) for part in _own(emission, code)]
    if code.settings["scope"] == "thread block":
        lane, _, _ = _warp_place(emission)
        is_first = emission.builder.icmp_unsigned("==", lane, ir.Constant(I32, 0))
        warps = _of_warps(emission, code, parts, is_first)
        parts = [_over_warp(emission, combine, kind.scalar, part) for part in warps]
    return {"out": OpValue(kind, tuple(parts))}


def _scan(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    builder, kind = emission.builder, code.value("value").type
    operation = code.settings["operation"]
    combine, none = _COMBINE[operation], _identity(operation, kind.scalar)
    lane, warp, _ = _warp_place(emission)
    own = [_scan_warp(emission, combine, kind.scalar, part, lane) for part in _own(emission, code)]
    zero, one, last = (ir.Constant(I32, n) for n in (0, 1, _WARP - 1))
    totals = [shuffled(emission, "index", part, last) for part in own]
    before: list[ir.Value] = [none] * len(own)
    if code.settings["scope"] == "thread block":
        is_last = builder.icmp_unsigned("==", lane, last)
        warps = _of_warps(emission, code, own, is_last)
        sums = [_scan_warp(emission, combine, kind.scalar, part, lane) for part in warps]
        is_first = builder.icmp_unsigned("==", warp, zero)
        previous = builder.select(is_first, zero, builder.sub(warp, one))
        given = [shuffled(emission, "index", part, previous) for part in sums]
        before = [builder.select(is_first, none, part) for part in given]
        totals = [shuffled(emission, "index", part, last) for part in sums]
    if code.settings["kind"] == "exclusive":
        shifted = [shuffled(emission, "up", part, one) for part in own]
        is_start = builder.icmp_unsigned("==", lane, zero)
        own = [builder.select(is_start, none, part) for part in shifted]
    made = [combine(emission, kind.scalar, a, b) for a, b in zip(before, own, strict=True)]
    return {"out": OpValue(kind, tuple(made)), "total": OpValue(kind, tuple(totals))}


_OPERATION = OpSetting("operation", "str", "add", "How two values are combined.", tuple(_COMBINE))
_SCOPE = OpSetting("scope", "str", "thread block", "The threads that take part.", ("thread block", "warp"))
_VALUE = (take("value", "Value of each thread; threads without an element are left out."),)
register(
    OpType(
        "op.reduce",
        "Reduce",
        _CATEGORY,
        "The sum, or another combination, of the values of all threads of the thread block or warp. Every thread gets "
        "the result; floats are always added in the same order.",
        _VALUE,
        OUT,
        _collective_type,
        _reduce,
        settings=(_OPERATION, _SCOPE),
        tags=("sum", "total", "minimum", "maximum"),
        roams=True,
        waits=True,
    )
)
register(
    OpType(
        "op.scan",
        "Scan",
        _CATEGORY,
        "The sum, or another combination, of the values of the threads before this one in the thread block or warp. "
        "Threads are counted along x first.",
        _VALUE,
        (OpOutput("out", "The combination up to this thread."), OpOutput("total", "The combination of all values.")),
        _collective_type,
        _scan,
        settings=(
            _OPERATION,
            _SCOPE,
            OpSetting(
                "kind",
                "str",
                "inclusive",
                "Include this thread's own value, or leave it out.",
                ("inclusive", "exclusive"),
            ),
        ),
        tags=("prefix", "cumulative", "sum"),
        roams=True,
        waits=True,
    )
)


# Each thread of a kernel with aggregates computes many elements in turn; see `engine.ops.lowering.lanes`.


_AGGREGATES = {name: _COMBINE[name] for name in ("add", "minimum", "maximum")}


def _aggregate_type(call: OpCall) -> Signature:
    kind = call.value("value").strong()
    if kind.is_boolean:
        kind = kind.of(U32.scalar)
    if kind.components != 1:
        raise Misuse(f"value must be one number, got {kind}", "value", "number", str(kind))
    if call.node.region:
        raise Misuse("aggregate must lie outside all regions; give the value to the region's op", "value")
    type_as_element(kind, NAMED[call.settings["type"]], "value")
    return Signature({"value": kind})


def _aggregate(emission: Emission, code: OpCode) -> dict[str, OpValue]:
    pointer = emission.argument(OutputPointer(code.settings["name"], code.settings["type"]), GLOBAL)
    emission.aggregated[pointer.name] = code.value("value")
    return {}


def aggregate(emission: Emission, buffer: OpBuffer, kind: ValueType, operation: str) -> Aggregate:
    """Return the aggregate that combines these values."""
    combine, none = _AGGREGATES[operation], _identity(operation, kind.scalar)
    return Aggregate(buffer, operation, kind, none, lambda a, b: combine(emission, kind.scalar, a, b))


register(
    OpType(
        "op.aggregate",
        "Aggregate",
        _CATEGORY,
        "An output with one element for each thread block, which combines the values of its share of the elements, "
        "always in the same order. Only library blocks can have this output, since they choose the number of thread "
        "blocks.",
        (take("value", "Value of each element."),),
        (),
        _aggregate_type,
        _aggregate,
        settings=(
            OpSetting("name", "str", "", "Name at the block; the op's id when empty."),
            OpSetting("type", "str", "f32", "Element type.", ELEMENTS),
            OpSetting("operation", "str", "add", "How two values are combined.", tuple(_AGGREGATES)),
        ),
        tags=("reduction", "sum", "total"),
        acts=True,
        is_internal=True,
    )
)
