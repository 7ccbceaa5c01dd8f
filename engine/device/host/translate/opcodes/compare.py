"""setp, set, selp and slct."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.opcodes.floating import flush
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import is_float, is_signed, llvm_type, type_of, types_of
from engine.ptx.tree import Instruction, Pair

# Floating-point comparisons: ordered ones, then those that are true when an operand is NaN, then the NaN tests.
_FLOAT = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
    "num": "ord", "nan": "uno",
}  # fmt: skip
_INTEGER = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def _compare(body: Body, instruction: Instruction, kind: str) -> str:
    code, line = body.code, instruction.line
    a, b = (body.read(operand, kind, line) for operand in instruction.operands[1:3])
    test = next(item for item in instruction.modifiers if item in _FLOAT or item in _UNSIGNED)
    if is_float(kind):
        if "ftz" in instruction.modifiers and kind == "f32":
            a, b = flush(body, a), flush(body, b)
        return code.value(f"fcmp {_FLOAT[test]} {llvm_type(kind)} {a}, {b}")
    if test in _UNSIGNED:
        name = _UNSIGNED[test]
    else:
        name = _INTEGER[test]
        if name not in ("eq", "ne"):
            name = ("s" if is_signed(kind) else "u") + name
    return code.value(f"icmp {name} {llvm_type(kind)} {a}, {b}")


def _combine(body: Body, instruction: Instruction, result: str) -> str:
    """Return the result combined with the fourth operand by .and, .or or .xor."""
    name = next((item for item in instruction.modifiers if item in ("and", "or", "xor")), None)
    if name is None:
        return result
    other = body.read(instruction.operands[3], "pred", instruction.line)
    return body.code.value(f"{name} i1 {result}, {other}")


@opcode("setp")
def _setp(body: Body, instruction: Instruction) -> None:
    kind, target = type_of(instruction), instruction.operands[0]
    result = _compare(body, instruction, kind)
    opposite = body.code.value(f"xor i1 {result}, true") if isinstance(target, Pair) else ""
    first = _combine(body, instruction, result)
    second = _combine(body, instruction, opposite) if isinstance(target, Pair) else ""
    body.write(target, "pred", first, instruction.line)
    if isinstance(target, Pair):
        body.write(target.second, "pred", second, instruction.line)


@opcode("set")
def _set(body: Body, instruction: Instruction) -> None:
    result_kind, kind = types_of(instruction)[:2]
    result = _combine(body, instruction, _compare(body, instruction, kind))
    if is_float(result_kind):
        value = body.code.value(f"uitofp i1 {result} to {llvm_type(result_kind)}")
    else:
        value = body.code.value(f"sext i1 {result} to {llvm_type(result_kind)}")
    body.write(instruction.operands[0], result_kind, value, instruction.line)


@opcode("selp")
def _selp(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    llvm = llvm_type(kind)
    a, b = (body.read(operand, kind, instruction.line) for operand in instruction.operands[1:3])
    condition = body.read(instruction.operands[3], "pred", instruction.line)
    value = body.code.value(f"select i1 {condition}, {llvm} {a}, {llvm} {b}")
    body.write(instruction.operands[0], kind, value, instruction.line)


@opcode("slct")
def _slct(body: Body, instruction: Instruction) -> None:
    kind, test_kind = types_of(instruction)[:2]
    llvm = llvm_type(kind)
    a, b = (body.read(operand, kind, instruction.line) for operand in instruction.operands[1:3])
    c = body.read(instruction.operands[3], test_kind, instruction.line)
    if test_kind == "f32":
        c = flush(body, c) if "ftz" in instruction.modifiers else c
        condition = body.code.value(f"fcmp oge float {c}, 0.0")
    else:
        condition = body.code.value(f"icmp sge i32 {c}, 0")
    value = body.code.value(f"select i1 {condition}, {llvm} {a}, {llvm} {b}")
    body.write(instruction.operands[0], kind, value, instruction.line)
