"""atom and red: one read-modify-write each."""

from __future__ import annotations

from engine.device.host.translate.body import Body
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, is_float, llvm_type, type_of
from engine.ptx.tree import Instruction, Operand, Vector

_SIMPLE = {"exch": "xchg", "and": "and", "or": "or", "xor": "xor", "inc": "uinc_wrap", "dec": "udec_wrap"}
_OPERATIONS = (*_SIMPLE, "add", "min", "max", "cas")


def _operation(kind: str, name: str) -> str:
    """Return the LLVM name of an atomic operation."""
    if name in _SIMPLE:
        return _SIMPLE[name]
    if is_float(kind):
        return {"add": "fadd", "min": "fminimumnum", "max": "fmaximumnum"}[name]
    if name == "add":
        return "add"
    return name if kind[0] == "s" else f"u{name}"


@opcode("atom", "red")
def _atomic(body: Body, instruction: Instruction) -> None:
    code, kind, line = body.code, type_of(instruction), instruction.line
    name = next((item for item in _OPERATIONS if item in instruction.modifiers), "")
    operands: tuple[Operand, ...] = instruction.operands
    if not name or kind in ("f16x2", "bf16x2", "f16", "bf16", "b128") or isinstance(operands[-1], Vector):
        raise body.unsupported(instruction, "use a scalar atomic of 32 or 64 bits")
    target = None
    if instruction.opcode == "atom":
        target, operands = operands[0], operands[1:]
    llvm, size = llvm_type(kind), bits(kind) // 8
    values = [body.read(operand, kind, line) for operand in operands[1:]]
    with body.accesses.at(instruction, operands[0], size) as pointer:
        if name == "cas":
            pair = code.value(
                f"cmpxchg ptr {pointer}, {llvm} {values[0]}, {llvm} {values[1]} acq_rel acquire, align {size}"
            )
            old = code.value(f"extractvalue {{{llvm}, i1}} {pair}, 0")
        else:
            old = code.value(
                f"atomicrmw {_operation(kind, name)} ptr {pointer}, {llvm} {values[0]} acq_rel, align {size}"
            )
        if target is not None:
            body.write(target, kind, old, line)
