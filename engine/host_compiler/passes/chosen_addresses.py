"""Chosen addresses: an access through one of two pointers becomes two guarded accesses.

Compilers choose the pointer in `(p ? a : b)[i]`, and then load once. Such an address may be in either buffer, so
threads could not run at once, and each would look up the buffer. `selp s, a, b, p; add t, s, i; ld v, [t]` becomes `add
ta, a, i; add tb, b, i; @p ld v, [ta]; @!p ld v, [tb]`, whose addresses each follow from one pointer.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import defined
from warploom.engine.host_compiler.analysis.provenance import Provenance
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Address, Function, Guard, Instruction, Operand, Register, Statement

_ACCESSES = ("ld", "st")


@dataclass(frozen=True)
class _Choice:
    """A register that is `first` where `predicate` holds, and otherwise `second`."""

    first: Register
    second: Register
    predicate: Register

    @property
    def registers(self) -> set[str]:
        return {self.first.name, self.second.name, self.predicate.name}


def with_separate_accesses(function: Function, known: Provenance) -> Function:
    """Return a function whose accesses through one of two known pointers are two; others stay."""
    assert function.body is not None
    if not any(item.opcode == "selp" for item in function.instructions):
        return function
    pass_ = _Separating(known, dict(function.registers))
    body: list[Statement] = []
    for item in function.body:
        if isinstance(item, Instruction):
            body += pass_.replaced(item)
        else:
            pass_.choices.clear()
            body.append(item)
    return replace(function, body=tuple(body), registers=pass_.registers)


class _Separating:
    """The registers that hold chosen addresses at a place between two labels."""

    def __init__(self, known: Provenance, registers: dict[str, str]) -> None:
        self._roots = known.registers
        self.registers = registers
        self.choices: dict[str, _Choice] = {}

    def replaced(self, item: Instruction) -> list[Instruction]:
        """Return what replaces an instruction, and note what it writes."""
        found, choice = [item], None
        if item.guard is None:
            if item.opcode == "selp":
                choice = self._selected(item)
            elif item.opcode in ("add", "cvta"):
                found, choice = self._moved(item)
            elif item.opcode in _ACCESSES and "volatile" not in item.modifiers:
                found = self._accesses(item)
        written = defined(item)
        for name in [name for name, other in self.choices.items() if name in written or other.registers & written]:
            del self.choices[name]
        if choice is not None and not choice.registers & written:
            self.choices.update(dict.fromkeys(written, choice))
        return found

    def _selected(self, item: Instruction) -> _Choice | None:
        """Return the choice that a `selp` makes between pointers into two buffers; None for any other."""
        match item.operands[1:]:
            case (Register() as first, Register() as second, Register() as predicate):
                roots = [self._roots.get(register.name) for register in (first, second)]
                if TYPES.get(item.modifiers[-1]) == 64 and None not in roots and roots[0] != roots[1]:
                    return _Choice(first, second, predicate)
        return None

    def _moved(self, item: Instruction) -> tuple[list[Instruction], _Choice | None]:
        """Return an addition to a chosen pointer, and those to both; or its conversion, and those of both. With them
        comes the choice between the results.
        """
        _, *sources = item.operands
        chosen = [(at, choice) for at, source in enumerate(sources) if (choice := self._choice(source)) is not None]
        if len(chosen) != 1 or "cc" in item.modifiers:
            return [item], None
        [(at, choice)] = chosen
        lines, results = [item], list[Register]()
        for pointer in (choice.first, choice.second):
            result = Register(f"{pointer.name}$chosen{len(self.registers)}")
            self.registers[result.name] = self.registers[pointer.name]
            lines.append(replace(item, operands=(result, *sources[:at], pointer, *sources[at + 1 :])))
            results.append(result)
        return lines, _Choice(results[0], results[1], choice.predicate)

    def _accesses(self, item: Instruction) -> list[Instruction]:
        """Return an access, or two if its address is chosen."""
        at = 0 if item.opcode == "st" else 1
        place = item.operands[at]
        if not isinstance(place, Address) or len(item.operands) != 2:
            return [item]
        choice = self._choice(place.base)
        if choice is None or choice.predicate.name in defined(item):
            return [item]
        return [
            replace(
                item,
                operands=(*item.operands[:at], replace(place, base=pointer), *item.operands[at + 1 :]),
                guard=Guard(choice.predicate, negated=negated),
            )
            for pointer, negated in ((choice.first, False), (choice.second, True))
        ]

    def _choice(self, operand: Operand) -> _Choice | None:
        return self.choices.get(operand.name) if isinstance(operand, Register) else None
