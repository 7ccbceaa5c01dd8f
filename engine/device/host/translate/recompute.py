"""Registers that are cheaper to compute again after a wait than to save: thread numbers, parameters, addresses."""

from __future__ import annotations

from engine.device.host.translate.flow import defined, used
from engine.device.host.translate.special import SPECIAL
from engine.ptx.tree import Address, Function, Instruction, Register, Symbol

_PURE = frozenset(
    ["mov", "cvta", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "cvt", "not", "min", "max"]
)
_VOLATILE = ("%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi")


def recomputable(function: Function) -> dict[str, Instruction]:
    """Return the registers that are written once from nothing but constants, parameters and each other, in order."""
    writes: dict[str, int] = {}
    for instruction in function.instructions:
        for name in defined(instruction):
            writes[name] = writes.get(name, 0) + 1
    found: dict[str, Instruction] = {}
    for instruction in function.instructions:
        target = instruction.operands[0] if instruction.operands else None
        if (
            isinstance(target, Register)
            and instruction.guard is None
            and writes.get(target.name) == 1
            and _is_pure(function, instruction)
            and all(name in found or name in SPECIAL for name in used(instruction))
            and not any(name in _VOLATILE for name in used(instruction))
        ):
            found[target.name] = instruction
    return found


def _is_pure(function: Function, instruction: Instruction) -> bool:
    if instruction.opcode == "ld":
        source = instruction.operands[1]
        return (
            "param" in instruction.modifiers
            and isinstance(source, Address)
            and isinstance(source.base, Symbol)
            and any(parameter.name == source.base.name for parameter in function.parameters)
        )
    return instruction.opcode in _PURE and "cc" not in instruction.modifiers
