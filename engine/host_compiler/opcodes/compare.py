"""setp, set, selp and slct."""

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.elementwise import sources, wide
from warploom.engine.host_compiler.opcodes.half import join, shrink, widen
from warploom.engine.host_compiler.opcodes.rounding import flush
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import PACKED, is_float, is_signed, llvm_type, type_of, types_of
from warploom.engine.ptx.tree import Instruction, Pair, Register

# Floating-point comparisons: ordered ones, then those that are true when an operand is NaN, then the NaN tests.
_FLOAT = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
    "num": "ord", "nan": "uno",
}  # fmt: skip
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def compare(body: Body, kind: str, test: str, a: str, b: str) -> str:
    """Return a comparison of two values in the LLVM type of `kind` (of f32 for halves)."""
    if is_float(kind):
        return body.code.value(f"fcmp {_FLOAT[test]} {llvm_type(wide(kind))} {a}, {b}")
    name = _UNSIGNED.get(test, test)
    if test in ("lt", "le", "gt", "ge"):
        name = ("s" if is_signed(kind) else "u") + name
    return body.code.value(f"icmp {name} {llvm_type(kind)} {a}, {b}")


def _comparisons(body: Body, instruction: Instruction, kind: str) -> list[str]:
    """Return the comparison of each element, the lowest first."""
    test = next((item for item in instruction.modifiers if item in _FLOAT or item in _UNSIGNED), "")
    element = PACKED.get(kind, kind)
    fits = test in _FLOAT if is_float(kind) else test in ("eq", "ne", "lt", "le", "gt", "ge") or test in _UNSIGNED
    if not fits:
        raise unsupported(instruction, f"use a comparison that .{kind} has")
    found = []
    for values in sources(body, instruction, kind, instruction.operands[1:3]):
        a, b = (widen(body, value, element) for value in values)
        found.append(compare(body, element, test, a, b))
    return found


def _combine(body: Body, instruction: Instruction, result: str) -> str:
    """Return the result combined with the fourth operand by .and, .or or .xor."""
    name = next((item for item in instruction.modifiers if item in ("and", "or", "xor")), None)
    if name is None:
        return result
    other = body.read(instruction.operands[3], "pred")
    return body.code.value(f"{name} i1 {result}, {other}")


@opcode("setp")
def _setp(body: Body, instruction: Instruction) -> None:
    """Compare into one predicate or two: the second is the opposite, or the upper element's of packed types."""
    kind, target = type_of(instruction), instruction.operands[0]
    known = body.outcome(instruction)
    results = _comparisons(body, instruction, kind) if known is None else ["true" if known else "false"]
    if isinstance(target, Pair):
        opposite = results[1] if len(results) > 1 else body.code.value(f"xor i1 {results[0]}, true")
        combined = [_combine(body, instruction, item) for item in (results[0], opposite)]
        body.write(target.first, "pred", combined[0])
        body.write(target.second, "pred", combined[1])
        return
    body.write(target, "pred", _combine(body, instruction, results[0]))


@opcode("set")
def _set(body: Body, instruction: Instruction) -> None:
    """Compare into all ones or 1.0; packed sources give a half for each element, for every result type."""
    kinds = types_of(instruction)
    if len(kinds) != 2:
        raise unsupported(instruction, "name the type of the result and of the source")
    result_kind, kind = kinds
    element = PACKED.get(result_kind, result_kind)
    if kind in PACKED and result_kind not in PACKED:
        element = "u16"
    values = []
    for comparison in _comparisons(body, instruction, kind):
        result = _combine(body, instruction, comparison)
        if not is_float(element):
            values.append(body.code.value(f"sext i1 {result} to {llvm_type(element)}"))
        else:
            value = body.code.value(f"uitofp i1 {result} to {llvm_type(wide(element))}")
            values.append(value if element == wide(element) else shrink(body, value, element))
    body.write(instruction.operands[0], result_kind, join(body, values, kind) if kind in PACKED else values[0])


@opcode("selp")
def _selp(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    llvm = llvm_type(kind)
    target = instruction.operands[0]
    read = body.read_noncanonical if isinstance(target, Register) and target.name in body.holds_any_nan else body.read
    a, b = (read(operand, kind) for operand in instruction.operands[1:3])
    condition = body.read(instruction.operands[3], "pred")
    value = body.code.value(f"select i1 {condition}, {llvm} {a}, {llvm} {b}")
    body.write(target, kind, value)


@opcode("slct")
def _slct(body: Body, instruction: Instruction) -> None:
    kind, test_kind = types_of(instruction)[:2]
    llvm = llvm_type(kind)
    a, b = (body.read(operand, kind) for operand in instruction.operands[1:3])
    c = body.read(instruction.operands[3], test_kind)
    if test_kind == "f32":
        c = flush(body, c) if "ftz" in instruction.modifiers else c
        condition = body.code.value(f"fcmp oge float {c}, 0.0")
    else:
        condition = body.code.value(f"icmp sge i32 {c}, 0")
    value = body.code.value(f"select i1 {condition}, {llvm} {a}, {llvm} {b}")
    body.write(instruction.operands[0], kind, value)
