"""add, sub, mul, mad, neg, abs, min and max: opcodes that have integer and floating-point forms."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.opcodes import floating, integers
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import is_float, type_of
from engine.ptx.tree import Instruction


@opcode("add", "sub", "mul", "div", "neg", "abs", "min", "max")
def both(body: Body, instruction: Instruction) -> None:
    """Send an instruction to the integer or the floating-point family by its type."""
    kind = type_of(instruction)
    (floating.FORMS if is_float(kind) else integers.FORMS)[instruction.opcode](body, instruction)


@opcode("mad")
def mad(body: Body, instruction: Instruction) -> None:
    """Multiply and add; the floating form is a fused multiply-add."""
    if is_float(type_of(instruction)):
        floating.fma(body, instruction)
    else:
        integers.mad(body, instruction)
