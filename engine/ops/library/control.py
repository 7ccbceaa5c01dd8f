"""Ops that hold others: If runs one of two branches; For repeats its body and carries values between turns."""

from __future__ import annotations

from llvmlite import ir

from warploom.engine.ops.emission import I32, LLVM, Emission, OpBuffer, OpValue
from warploom.engine.ops.graph import OTHERWISE
from warploom.engine.ops.lowering.ptx import LOOP
from warploom.engine.ops.rules import integer, take
from warploom.engine.ops.table import Misuse, OpCall, OpCode, OpInput, OpOutput, OpType, Signature, register
from warploom.engine.ops.types import BOOLEAN, S32, ValueType, promote

_CATEGORY = "Control"
_SLOTS = "abcd"


def _both(call: OpCall, names: tuple[str, str]) -> ValueType | None:
    """Return the common type of two inputs; an input of unknown type is ignored."""
    given = [(name, call.value(name)) for name in names if call.inputs[name] is not None]
    if not given:
        return None
    if len(given) == 1:
        return given[0][1].strong()
    (_, first), (name, second) = given
    both = promote(first, second)
    if both is None:
        message = f"{name} must have as many components as {given[0][0]}, {first}, got {second}"
        raise Misuse(message, name, str(first), str(second))
    return both.strong()


def _if_type(call: OpCall) -> Signature:
    condition = call.value("condition")
    if condition.components != 1:
        raise Misuse(f"condition must be one value, got {condition}; use Any or All", "condition", "boolean")
    inputs, outputs = {"condition": BOOLEAN}, {}
    for slot in _SLOTS:
        names = (f"then_{slot}", f"else_{slot}")
        kind = _both(call, names)
        if kind is not None:
            inputs |= dict.fromkeys(names, kind)
            outputs[slot] = kind
    return Signature(inputs, outputs)


def _if(emission: Emission, code: OpCode) -> dict[str, OpValue | OpBuffer]:
    builder = emission.builder
    then, otherwise, after = (emission.block(name) for name in ("if.then", "if.else", "if.after"))
    builder.cbranch(code.value("condition").parts[0], then, otherwise)
    slots = {slot: kind for slot, kind in code.signature.outputs.items() if isinstance(kind, ValueType)}
    ends: list[tuple[ir.Block, dict[str, tuple[ir.Value, ...]]]] = []
    for block, branch, prefix in ((then, "", "then_"), (otherwise, OTHERWISE, "else_")):
        builder.position_at_end(block)
        code.region.emit(branch)
        values = {}
        for slot, kind in slots.items():
            given = code.region.back(prefix + slot)
            values[slot] = emission.parts(given if isinstance(given, OpValue) else OpValue(kind, (), 0))
        ends.append((builder.block, values))
        builder.branch(after)
    builder.position_at_end(after)
    made: dict[str, OpValue | OpBuffer] = {}
    for slot, kind in slots.items():
        phis = [builder.phi(LLVM[kind.scalar]) for _ in range(kind.components)]
        for end, values in ends:
            for phi, part in zip(phis, values[slot], strict=True):
                phi.add_incoming(part, end)
        made[slot] = OpValue(kind, tuple(phis))
    return made


register(
    OpType(
        "op.if",
        "If",
        _CATEGORY,
        "Runs the ops in one of its two branches. The output a is the value that the branch connects to then_a or "
        "else_a, or 0 if it connects none.",
        (
            take("condition", "The condition; every value but 0 holds."),
            *(
                OpInput(f"{branch}_{slot}", f"Value of {slot} {when}.", optional=True, delayed=True, branch=scope)
                for branch, scope, when in (("then", "", "where the condition holds"), ("else", OTHERWISE, "elsewhere"))
                for slot in _SLOTS
            ),
        ),
        tuple(OpOutput(slot, f"Value of {slot} from the branch that ran.") for slot in _SLOTS),
        _if_type,
        _if,
        tags=("branch", "condition"),
        regions=("", OTHERWISE),
    )
)


def _for_type(call: OpCall) -> Signature:
    inputs, outputs = {"count": integer(call, "count")}, {"index": S32}
    if call.inputs["stop"] is not None:
        stop = call.value("stop")
        if stop.components != 1:
            raise Misuse(f"stop must be one value, got {stop}; use Any or All", "stop", "boolean", str(stop))
        inputs["stop"] = BOOLEAN
    for slot in _SLOTS:
        names = (f"initial_{slot}", f"next_{slot}")
        kind = _both(call, names)
        assert kind is not None
        inputs |= dict.fromkeys(names, kind)
        outputs[slot] = kind
    return Signature(inputs, outputs)


def _for(emission: Emission, code: OpCode) -> dict[str, OpValue | OpBuffer]:
    builder = emission.builder
    slots = {slot: code.value(f"initial_{slot}") for slot in _SLOTS if slot in code.used}
    count = code.value("count").parts[0]
    before = builder.block
    header, body, after = (emission.block(name) for name in (LOOP, "for.body", "for.after"))
    builder.branch(header)
    builder.position_at_end(header)
    carried = [ir.Constant(I32, 0), *(part for value in slots.values() for part in value.parts)]
    phis = [builder.phi(part.type) for part in carried]
    for phi, part in zip(phis, carried, strict=True):
        phi.add_incoming(part, before)
    builder.cbranch(builder.icmp_signed("<", phis[0], count), body, after)
    builder.position_at_end(body)
    code.region.begin(_named(slots, phis))
    code.region.emit("")
    following = [builder.add(phis[0], ir.Constant(I32, 1))]
    for slot in slots:
        given = code.region.back(f"next_{slot}")
        following += given.parts if isinstance(given, OpValue) else _named(slots, phis)[slot].parts
    stop = code.region.back("stop")
    end = builder.block
    for phi, part in zip(phis, following, strict=True):
        phi.add_incoming(part, end)
    if not isinstance(stop, OpValue):
        builder.branch(header)
        builder.position_at_end(after)
        return dict(_named(slots, phis))
    builder.cbranch(stop.parts[0], after, header)
    builder.position_at_end(after)
    last = [builder.phi(phi.type) for phi in phis]
    for phi, held, part in zip(last, phis, following, strict=True):
        phi.add_incoming(held, header)
        phi.add_incoming(part, end)
    return dict(_named(slots, last))


def _named(slots: dict[str, OpValue], parts: list[ir.Value]) -> dict[str, OpValue]:
    """Return the index and the carried values; `parts` holds the concatenated components."""
    made, at = {"index": OpValue(S32, (parts[0],))}, 1
    for slot, value in slots.items():
        count = value.type.components
        made[slot] = OpValue(value.type, tuple(parts[at : at + count]))
        at += count
    return made


register(
    OpType(
        "op.for",
        "For",
        _CATEGORY,
        "Repeats the ops in it. In the first turn, a is initial_a; in every other turn, it is next_a of the previous "
        "turn; after the loop, it is next_a of the last turn. If next_a is not connected, a does not change.",
        (
            take("count", "The number of turns; below 0 means none.", 8.0),
            *(take(f"initial_{slot}", f"Value of {slot} in the first turn.", 0.0) for slot in _SLOTS),
            *(
                OpInput(f"next_{slot}", f"Value of {slot} in the next turn.", optional=True, delayed=True)
                for slot in _SLOTS
            ),
            OpInput("stop", "Ends the loop after a turn in which this is not 0.", optional=True, delayed=True),
        ),
        (
            OpOutput("index", "Index of this turn, counted from 0; after the loop, the number of turns.", inside=True),
            *(OpOutput(slot, f"The carried value {slot}.", inside=True) for slot in _SLOTS),
        ),
        _for_type,
        _for,
        tags=("loop", "repeat", "iterate"),
        regions=("",),
    )
)
