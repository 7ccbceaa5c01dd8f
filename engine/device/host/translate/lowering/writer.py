"""Writes PTX instructions in place of others: the tool of everything in this package."""

from __future__ import annotations

from collections.abc import Callable

from engine.diagnostics import KernelError
from engine.ptx.tree import Address, Guard, Instruction, Integer, Label, Operand, Register, Statement, Symbol, Variable


class Writer:
    """Collects what replaces one instruction; registers and labels are fresh in the function being rewritten.

    `prologue` is done before anything else in the function, which is also given `variables`.
    """

    def __init__(self, registers: dict[str, str]) -> None:
        self.registers = registers
        self.variables: list[Variable] = []
        self.prologue: list[Statement] = []
        self.done: list[Statement] = []
        self._count = 0
        self._at: Instruction | None = None

    def begin(self, instruction: Instruction) -> None:
        """Take line and source location from the instruction that is being replaced."""
        self._at = instruction

    @property
    def line(self) -> int:
        """The line of the instruction that is being replaced."""
        assert self._at is not None
        return self._at.line

    def register(self, ptx_type: str) -> Register:
        """Return a new register."""
        self._count += 1
        name = f"%wl${self._count}"
        self.registers[name] = ptx_type
        return Register(name)

    def emit(self, text: str, *operands: Operand | int, guard: Guard | None = None) -> None:
        """Write an instruction given as `opcode.modifiers`; numbers become immediates."""
        assert self._at is not None
        opcode, *modifiers = text.split(".")
        items = tuple(Integer(item) if isinstance(item, int) else item for item in operands)
        self.done.append(Instruction(opcode, tuple(modifiers), items, guard, self._at.line, self._at.source))

    def value(self, text: str, *operands: Operand | int) -> Register:
        """Write an instruction whose result is a new register of its type, and return that register."""
        opcode, *modifiers = text.split(".")
        kind = {"setp": "pred", "cvt": modifiers[0]}.get(opcode, modifiers[-1])
        target = self.register(kind)
        self.emit(text, target, *operands)
        return target

    def label(self, hint: str) -> str:
        """Return a new label, which `place` puts somewhere."""
        self._count += 1
        return f"$wl${hint}${self._count}"

    def place(self, label: str) -> None:
        """Put a label here."""
        self.done.append(Label(label, self.line))

    def jump(self, label: str, guard: Guard | None = None) -> None:
        """Write a branch."""
        self.emit("bra", Symbol(label), guard=guard)


#: Writes what stands for an instruction, whose guard has been taken off.
Lower = Callable[[Writer, Instruction], None]

LOWERED: dict[str, Lower] = {}


def lowers(*opcodes: str) -> Callable[[Lower], Lower]:
    """Enter a function in the table under each opcode."""

    def enter(lower: Lower) -> Lower:
        for name in opcodes:
            LOWERED[name] = lower
        return lower

    return enter


def refused(instruction: Instruction, instead: str) -> KernelError:
    """Return the error for an instruction, or a form of it, that the host does not run."""
    return KernelError(
        f"PTX line {instruction.line}: {instruction.text} must not be used on the host device; {instead}",
        line=instruction.line,
    )


def moved(address: Operand, offset: int) -> Address:
    """Return an address some bytes further on."""
    assert isinstance(address, Address)
    return Address(address.base, address.offset + offset, address.coordinates)
