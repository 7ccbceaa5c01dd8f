"""Registers that are written several times, given a name of their own for each write as far as a block goes.

`add %r1, %r1, 4` with `%r1` read again below becomes `add %t, %r1, 4; mov %r1, %t` with `%t` read below. So what a
block computes from the registers it starts with can be told, and so can the first values of loop variables.
"""

from __future__ import annotations

from dataclasses import replace

from engine.device.host.translate.facts import writes
from engine.device.host.translate.flow import Flow, defined
from engine.device.host.translate.recompute import PURE
from engine.device.host.translate.types import TYPES
from engine.ptx.tree import Address, Function, Guard, Instruction, Label, Negated, Operand, Register, Statement


def renamed(function: Function, flow: Flow) -> Function:
    """Return a function with the integer registers and predicates of its blocks renamed."""
    assert function.body is not None
    several = {name for name, items in writes(function).items() if len(items) > 1}
    if not several:
        return function
    starts = {id(block.instructions[0]) for block in flow.blocks if block.instructions}
    registers = dict(function.registers)
    body: list[Statement] = []
    names: dict[str, str] = {}
    for statement in function.body:
        if isinstance(statement, Label):
            names = {}
            body.append(statement)
            continue
        item = statement
        if id(item) in starts:
            names = {}
        again = defined(item) & several
        operands = tuple(
            operand if index == 0 and again else _read(operand, names) for index, operand in enumerate(item.operands)
        )
        guard = item.guard and Guard(
            Register(names.get(item.guard.register.name, item.guard.register.name)), item.guard.negated
        )
        item = replace(item, operands=operands, guard=guard)
        for name in again:
            names.pop(name, None)
        target = item.operands[0] if item.operands else None
        if again and isinstance(target, Register) and _is_plain(item, registers.get(target.name, "")):
            fresh = Register(f"{target.name}${len(body)}")
            kind = registers[fresh.name] = registers[target.name]
            names[target.name] = fresh.name
            body.append(replace(item, operands=(fresh, *item.operands[1:])))
            body.append(Instruction("mov", (kind,), (target, fresh), None, item.line, item.source))
        else:
            body.append(item)
    return replace(function, body=tuple(body), registers=registers)


def _is_plain(instruction: Instruction, kind: str) -> bool:
    return (
        instruction.guard is None
        and (instruction.opcode in PURE - {"mov"} or instruction.opcode == "setp")
        and "cc" not in instruction.modifiers
        and (kind == "pred" or (kind[:1] in ("b", "u", "s") and TYPES[kind] in (32, 64)))
    )


def _read(operand: Operand, names: dict[str, str]) -> Operand:
    """Return an operand with the newest names of its registers; only forms that address and integer code has."""
    if isinstance(operand, Register):
        return Register(names.get(operand.name, operand.name))
    if isinstance(operand, Negated):
        return Negated(Register(names.get(operand.register.name, operand.register.name)))
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        return replace(operand, base=Register(names.get(operand.base.name, operand.base.name)))
    return operand
