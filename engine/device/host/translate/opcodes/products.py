"""mul24, mad24 and the dot products of bytes and half words, dp4a and dp2a."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import is_signed, type_of, types_of
from engine.ptx.tree import Instruction


def field(body: Body, value: str, first: int, size: int, signed: bool, wide: str = "i32") -> str:
    """Return bits `first` to `first + size` of an i32, extended to `wide`."""
    code = body.code
    raw = code.value(f"lshr i32 {value}, {first}") if first else value
    if size < 32:
        raw = code.value(f"trunc i32 {raw} to i{size}")
    if wide == f"i{size}":
        return raw
    return code.value(f"{'sext' if signed else 'zext'} i{size} {raw} to {wide}")


@opcode("mul24", "mad24")
def _short_product(body: Body, instruction: Instruction) -> None:
    """Multiply the lower 24 bits: .lo takes the lower 32 bits of the product and .hi the upper 32 of its 48."""
    code, kind, line = body.code, type_of(instruction), instruction.line
    values = []
    for operand in instruction.operands[1:3]:
        short = code.value(f"trunc i32 {body.read(operand, kind, line)} to i24")
        values.append(code.value(f"{'sext' if is_signed(kind) else 'zext'} i24 {short} to i64"))
    value = code.value(f"mul i64 {values[0]}, {values[1]}")
    if "hi" in instruction.modifiers:
        value = code.value(f"lshr i64 {value}, 16")
    value = code.value(f"trunc i64 {value} to i32")
    if instruction.opcode == "mad24":
        addend = body.read(instruction.operands[3], kind, line)
        if "sat" in instruction.modifiers:
            value = code.value(f"call i32 @llvm.sadd.sat.i32(i32 {value}, i32 {addend})")
        else:
            value = code.value(f"add i32 {value}, {addend}")
    body.write(instruction.operands[0], kind, value, line)


@opcode("dp4a", "dp2a")
def _dot_product(body: Body, instruction: Instruction) -> None:
    """Add the products of four bytes, or of two half words and the lower or upper two bytes, to a sum that wraps."""
    code, line = body.code, instruction.line
    kinds = types_of(instruction)
    if len(kinds) != 2:
        raise body.unsupported(instruction, "name the types of both sources")
    a, b, total = (body.read(operand, "b32", line) for operand in instruction.operands[1:4])
    wide = instruction.opcode == "dp2a"
    start = 16 if wide and "hi" in instruction.modifiers else 0
    size = 16 if wide else 8
    for index in range(2 if wide else 4):
        left = field(body, a, size * index, size, is_signed(kinds[0]))
        right = field(body, b, start + 8 * index, 8, is_signed(kinds[1]))
        total = code.value(f"add i32 {total}, {code.value(f'mul i32 {left}, {right}')}")
    body.write(instruction.operands[0], "b32", total, line)
