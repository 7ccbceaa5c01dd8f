"""Extended-precision integer arithmetic: add.cc, addc, sub.cc, subc, mad.cc and madc, with the carry in a slot.

A subtraction that borrows clears the flag, as a - b is a + ~b + 1 in the hardware. The PTX manual leaves the mix of
both families open; NVRTC's 128-bit division reads the borrow of `subc.cc` with `addc`.
"""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.opcodes.integers import product
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, llvm_type, type_of
from engine.ptx.tree import Instruction


@opcode("addc", "subc", "madc")
def with_carry(body: Body, instruction: Instruction) -> None:
    """Add or subtract with the carry read (`addc`) and written (`.cc`)."""
    code, kind, operands = body.code, type_of(instruction), instruction.operands
    if not body.carry:
        body.carry = code.slot("i1", "carry")
    if instruction.opcode.startswith("mad"):
        a, kind = product(body, instruction)
        b = body.read(operands[3], kind, instruction.line)
    else:
        a, b = (body.read(operand, kind, instruction.line) for operand in operands[1:3])
    llvm, size = llvm_type(kind), bits(kind)
    wide = f"i{size + 2}"
    a, b = (code.value(f"zext {llvm} {value} to {wide}") for value in (a, b))
    subtracts = instruction.opcode.startswith("sub")
    if subtracts:
        b = code.value(f"xor {wide} {b}, {(1 << size) - 1}")
    total = code.value(f"add {wide} {a}, {b}")
    if instruction.opcode.endswith("c"):
        carry = code.value(f"load i1, ptr {body.carry}")
        total = code.value(f"add {wide} {total}, {code.value(f'zext i1 {carry} to {wide}')}")
    elif subtracts:
        total = code.value(f"add {wide} {total}, 1")
    if "cc" in instruction.modifiers:
        above = code.value(f"lshr {wide} {total}, {size}")
        code.do(f"store i1 {code.value(f'trunc {wide} {above} to i1')}, ptr {body.carry}")
    body.write(operands[0], kind, code.value(f"trunc {wide} {total} to {llvm}"), instruction.line)
