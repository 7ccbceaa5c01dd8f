"""Registers that are cheaper to compute again after a wait than to spill: thread numbers, parameters, addresses."""

from collections.abc import Iterator, Mapping

from warploom.engine.host_compiler.analysis.control_flow import fact, used, writes, written_once
from warploom.engine.host_compiler.special_registers import SPECIAL
from warploom.engine.ptx.tree import Address, Function, Instruction, Integer, Operand, Register, Symbol

PURE = frozenset(
    [
        "mov",
        "cvta",
        "add",
        "sub",
        "mul",
        "mad",
        "shl",
        "shr",
        "and",
        "or",
        "xor",
        "cvt",
        "not",
        "neg",
        "min",
        "max",
        "setp",
    ]
)
_VOLATILE = ("%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi")


@fact
def rematerialisable(function: Function) -> dict[str, Instruction]:
    """Return the registers that are cheap to compute from constants, parameters and each other only, in order."""
    return _computable(function, PURE)


@fact
def computable(function: Function) -> dict[str, Instruction]:
    """Return the registers that are rematerialisable, or would be if divisions were cheap."""
    return _computable(function, PURE | {"div", "rem"})


@fact
def masked(function: Function) -> dict[str, Instruction]:
    """Return the registers that hold masked bits of an unknown number, or lie between two that are computable.

    They are written once, by an `and` with a constant, by a minimum or maximum with a computable number, or from other
    such registers and computable ones.
    """
    known = computable(function)
    found: dict[str, Instruction] = {}
    for name, instruction in computed_once(function):
        if (
            name not in known
            and instruction.opcode != "ld"
            and (
                (instruction.opcode == "and" and any(isinstance(item, Integer) for item in instruction.operands))
                or (instruction.opcode in ("min", "max") and _has_bound(instruction, known))
                or all(source in found or source in known or source in SPECIAL for source in used(instruction))
            )
        ):
            found[name] = instruction
    return found


def _has_bound(instruction: Instruction, known: Mapping[str, Instruction]) -> bool:
    """Whether a source of a minimum or maximum is a number or a known register."""
    sources = instruction.operands[1:]
    return any(isinstance(item, Integer) or (isinstance(item, Register) and item.name in known) for item in sources)


def _computable(function: Function, opcodes: frozenset[str]) -> dict[str, Instruction]:
    """Return the registers that are written once, by some opcodes from constants, parameters and each other only."""
    found: dict[str, Instruction] = {}
    for name, instruction in computed_once(function, opcodes):
        if all(source in found or source in SPECIAL for source in used(instruction)):
            found[name] = instruction
    return found


def computed_once(function: Function, opcodes: frozenset[str] = PURE) -> Iterator[tuple[str, Instruction]]:
    """Yield each register that one pure instruction without a guard writes, in order, unless it reads a clock."""
    for name, instruction in written_once(function).items():
        if is_pure(function, instruction, opcodes) and used(instruction).isdisjoint(_VOLATILE):
            yield name, instruction


def is_pure(function: Function, instruction: Instruction, opcodes: frozenset[str] = PURE) -> bool:
    """Whether an instruction only computes its result from its operands, at little cost."""
    if instruction.opcode == "ld":
        return reads_parameter(function, instruction)
    return instruction.opcode in opcodes and "cc" not in instruction.modifiers


def reads_parameter(function: Function, instruction: Instruction) -> bool:
    """Whether a load reads one of the kernel's parameters at a constant address."""
    source = instruction.operands[1]
    return (
        "param" in instruction.modifiers
        and isinstance(source, Address)
        and isinstance(source.base, Symbol)
        and any(parameter.name == source.base.name for parameter in function.parameters)
    )


def holds_parameter(function: Function, operand: Operand) -> bool:
    """Whether an operand is a register that only ever holds one of the kernel's parameters."""
    written = writes(function).get(operand.name, []) if isinstance(operand, Register) else []
    return len(written) == 1 and written[0].opcode == "ld" and reads_parameter(function, written[0])
