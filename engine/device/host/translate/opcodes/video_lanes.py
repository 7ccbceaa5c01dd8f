"""Video instructions on two half words or four bytes at once: vadd2, vadd4 and their kin.

Each element is computed in 64 bits from elements that the sources select from both registers; then the elements are
put beside each other, or with .add are added to the third operand.
"""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.opcodes.compare import compare
from engine.device.host.translate.opcodes.products import field
from engine.device.host.translate.opcodes.video import COMPARISONS, operation, saturated
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import is_signed, types_of
from engine.ptx.tree import Instruction, Operand, Part

_NAMES = ("add", "sub", "avrg", "absdiff", "min", "max", "set")


@opcode(*(f"v{name}{count}" for name in _NAMES for count in (2, 4)))
def _lanes(body: Body, instruction: Instruction) -> None:
    code, modifiers, operands, line = body.code, instruction.modifiers, instruction.operands, instruction.line
    name, count = instruction.opcode[1:-1], int(instruction.opcode[-1])
    size, kinds = 32 // count, types_of(instruction)
    wanted = "u32" if name == "set" else kinds.pop(0)
    words = [body.read(_register(operand), "b32", line) for operand in operands[1:4]]
    selected = [
        _selection(body, instruction, operand, count, default)
        for operand, default in zip(operands[1:3], (0, count), strict=True)
    ]
    results = []
    for lanes in zip(*selected, strict=True):
        a, b = (
            field(body, words[lane // count], lane % count * size, size, is_signed(kind), "i64")
            for lane, kind in zip(lanes, kinds, strict=True)
        )
        if name == "set":
            test = next(item for item in modifiers if item in COMPARISONS)
            results.append(code.value(f"zext i1 {compare(body, 's64', test, a, b)} to i64"))
        else:
            value = operation(body, name, a, b)
            results.append(saturated(body, value, size, is_signed(wanted)) if "sat" in modifiers else value)
    written = _mask(body, instruction, operands[0], count)
    result = words[2] if "add" in modifiers else code.value(f"and i32 {words[2]}, {_kept(written, count)}")
    for lane in written:
        value = code.value(f"trunc i64 {results[lane]} to i32")
        if "add" in modifiers:
            result = code.value(f"add i32 {result}, {value}")
        else:
            value = code.value(f"and i32 {value}, {(1 << size) - 1}")
            result = code.value(f"or i32 {result}, {code.value(f'shl i32 {value}, {size * lane}')}")
    body.write(_register(operands[0]), wanted, result, line)


def _register(operand: Operand) -> Operand:
    return operand.register if isinstance(operand, Part) else operand


def _selection(body: Body, instruction: Instruction, operand: Operand, count: int, default: int) -> list[int]:
    """Return which element of the two registers each lane takes, the lowest lane first."""
    if not isinstance(operand, Part):
        return list(range(default, default + count))
    lanes = [int(digit) for digit in reversed(operand.selector[1:])]
    if len(lanes) != count or operand.selector[0] != ("h" if count == 2 else "b") or max(lanes) >= 2 * count:
        raise body.unsupported(instruction, f"select {count} elements of the {2 * count}")
    return lanes


def _mask(body: Body, instruction: Instruction, target: Operand, count: int) -> list[int]:
    """Return the lanes that are written; the others keep what the third operand has."""
    if not isinstance(target, Part):
        return list(range(count))
    lanes = sorted(int(digit) for digit in target.selector[1:])
    if lanes[-1] >= count or target.selector[0] != ("h" if count == 2 else "b"):
        raise body.unsupported(instruction, f"write elements 0 to {count - 1}")
    return lanes


def _kept(written: list[int], count: int) -> int:
    size = 32 // count
    return sum(((1 << size) - 1) << size * lane for lane in range(count) if lane not in written)
