"""Operands that name an element of an array, `a[3]` or `a[r+1]`, written as the addresses they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol, Variable, type_size


@dataclass(frozen=True, slots=True)
class Element:
    """Element `register + number` of an array; its type is that of the array's declaration, whatever accesses it."""

    array: Symbol
    register: Register | None
    number: int


def with_elements(
    instruction: Instruction,
    operands: tuple[Operand | Element, ...],
    variables: Mapping[str, Variable],
    registers: dict[str, str],
) -> list[Instruction]:
    """Return an instruction with its operands, after the instructions that compute where its elements lie.

    `variables` are those in reach; `registers` is given what new registers there are. A mov takes an element's address
    and everything else accesses what is there.
    """
    done: list[Instruction] = []
    plain: list[Operand] = []
    for operand in operands:
        if not isinstance(operand, Element):
            plain.append(operand)
            continue
        declared = variables.get(operand.array.name)
        size = type_size(declared.ptx_type) if declared else 1
        first = Symbol(operand.array.name, operand.number * size)
        base: Register | Symbol = first
        if operand.register is not None:
            base = _computed(instruction, operand.register, size, first, registers, done)
        plain.append(base if instruction.opcode == "mov" else _address(base))
    return [*done, replace(instruction, operands=tuple(plain))]


def _address(base: Register | Symbol) -> Address:
    return Address(Symbol(base.name), base.offset) if isinstance(base, Symbol) else Address(base)


def _computed(
    instruction: Instruction,
    index: Register,
    size: int,
    first: Symbol,
    registers: dict[str, str],
    done: list[Instruction],
) -> Register:
    """Write the address of the element after `first` that a register numbers, and return the register it is in."""

    def write(opcode: str, modifiers: tuple[str, ...], *sources: Operand) -> Register:
        target = Register(f"%element${len(registers)}")
        registers[target.name] = "b64"
        done.append(Instruction(opcode, modifiers, (target, *sources), None, instruction.line, instruction.source))
        return target

    start = write("mov", ("b64",), first)
    kind = registers.get(index.name, "b32")
    wide = index if type_size(kind) == 8 else write("cvt", ("s64", f"s{8 * type_size(kind)}"), index)
    return write("mad", ("lo", "s64"), wide, Integer(size), start)
