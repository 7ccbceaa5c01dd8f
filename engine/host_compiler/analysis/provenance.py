"""Provenance: which allocation an address register points into, as far as that is known before the kernel runs.

A register has a root when it is computed from exactly one pointer: a kernel parameter or a module variable. The limits
of that allocation are looked up once per launch, and accesses are checked against them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from warploom.engine.host_compiler.analysis.control_flow import defined, registers
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Address, Float, Function, Instruction, Integer, Operand, Register, Symbol, Vector

Root = tuple[str, int]
"""("param", offset in the argument block) or ("symbol name", 0)."""

_UNKNOWN: Root = ("?", 0)
_SUMS = frozenset(("mov", "cvta", "add", "sub", "mad", "selp", "min", "max", "and"))


@dataclass(frozen=True)
class Provenance:
    """The roots of a function's address registers, and the module's variables."""

    registers: Mapping[str, Root]
    variables: Collection[str]

    def root(self, operand: Operand) -> Root | None:
        """Return the root of an address; None when it may be made from no pointer or from several."""
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Register):
            return self.registers.get(base.name)
        return (base.name, 0) if isinstance(base, Symbol) and base.name in self.variables else None


def provenance(function: Function, layout: MemoryLayout) -> Provenance:
    """Return the roots of the 64-bit registers that are computed from one pointer."""
    parameters, variables = layout.parameters, layout.module.keys()
    only_converted = any(
        instruction.opcode == "cvta" and "global" in instruction.modifiers for instruction in function.instructions
    )
    pointers = _converted_parameters(function, parameters) if only_converted else None
    found: dict[str, Root] = {}
    results = [(instruction, names) for instruction in function.instructions if (names := defined(instruction))]
    _spread(results, parameters, variables, pointers, found, is_final=False)
    # Which values have no root is known only now. Where such a value meets a pointer, it may be a pointer as well.
    _spread(results, parameters, variables, pointers, found, is_final=True)
    return Provenance({name: root for name, root in found.items() if root != _UNKNOWN}, variables)


def _spread(
    results: list[tuple[Instruction, set[str]]],
    parameters: dict[str, int],
    variables: Collection[str],
    pointers: set[int] | None,
    found: dict[str, Root],
    *,
    is_final: bool,
) -> None:
    """Propagate roots through the instructions to the registers that each one writes, until nothing changes."""
    changed = True
    while changed:
        changed = False
        for instruction, names in results:
            if instruction.opcode == "ld":
                root = _loaded(instruction, parameters, pointers)
            else:
                root = _computed(instruction, found, variables, is_final=is_final)
            for name in names:
                if root is None and not (is_final and name in found):
                    continue
                joined = root if root is not None and found.get(name, root) == root else _UNKNOWN
                if found.get(name) != joined:
                    found[name], changed = joined, True


def _computed(
    instruction: Instruction, found: dict[str, Root], variables: Collection[str], *, is_final: bool
) -> Root | None:
    """Return the root of an instruction's result; None when no pointer goes into it."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in ("atom", "shfl", "call"):
        return _UNKNOWN
    if opcode == "mov" and "b64" in modifiers and isinstance(instruction.operands[1], Vector):
        return _UNKNOWN  # perhaps the halves of a pointer
    if opcode == "cvta" and "to" not in modifiers and "global" not in modifiers:
        return _UNKNOWN  # shared, local, constant or parameter memory
    for operand in instruction.operands[1:]:
        if operand.name in found if isinstance(operand, Register) else not isinstance(operand, (Integer, Float)):
            break
    else:
        return None
    sources = [_operand_roots(operand, found, variables) for operand in instruction.operands[1:]]
    roots = {root for item in sources for root in item}
    if not roots:
        return None
    if opcode not in _SUMS or len(roots) > 1 or (opcode == "sub" and sources[1]):
        return _UNKNOWN
    if is_final and opcode in ("selp", "min", "max"):
        for operand, item in zip(instruction.operands[1:3], sources, strict=False):
            if not item and not isinstance(operand, Integer):
                return _UNKNOWN
    return roots.pop()


def _loaded(instruction: Instruction, parameters: dict[str, int], pointers: set[int] | None) -> Root | None:
    operand = instruction.operands[1]
    if not any(TYPES.get(item) == 64 for item in instruction.modifiers):
        return None
    if "param" not in instruction.modifiers:
        # If any 64-bit argument may be an offset, a loaded value may be the pointer that the offset is added to.
        return _UNKNOWN if pointers is None else None
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        offset = parameters.get(operand.base.name)
        if offset is None:
            return None
        offset += operand.offset
        return ("param", offset) if pointers is None or offset in pointers else None
    return None


def _operand_roots(operand: Operand, found: dict[str, Root], variables: Collection[str]) -> list[Root]:
    if isinstance(operand, Symbol):
        return [(operand.name, 0)] if operand.name in variables else []
    if isinstance(operand, Register):
        return [found[operand.name]] if operand.name in found else []
    return [found[name] for name in registers(operand) if name in found]


def _converted_parameters(function: Function, parameters: dict[str, int]) -> set[int]:
    """Return the argument-block offsets of parameters that reach a `cvta.to.global` or an address unchanged, perhaps as
    one of two.
    """
    loaded: dict[str, int] = {}
    chosen: dict[str, list[int]] = {}
    pointers: set[int] = set()
    for instruction in function.instructions:
        first = instruction.operands[0] if instruction.operands else None
        if instruction.opcode == "ld" and "param" in instruction.modifiers and isinstance(first, Register):
            source = instruction.operands[1]
            if isinstance(source, Address) and isinstance(source.base, Symbol) and source.base.name in parameters:
                loaded[first.name] = parameters[source.base.name] + source.offset
        if instruction.opcode == "selp" and isinstance(first, Register):
            names = [operand.name for operand in instruction.operands[1:3] if isinstance(operand, Register)]
            chosen[first.name] = [loaded[name] for name in names if name in loaded]
        if instruction.opcode == "cvta":
            for operand in instruction.operands[1:]:
                if isinstance(operand, Register) and operand.name in loaded:
                    pointers.add(loaded[operand.name])
                if isinstance(operand, Register):
                    pointers.update(chosen.get(operand.name, ()))
        for operand in instruction.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register) and operand.base.name in loaded:
                pointers.add(loaded[operand.base.name])
    return pointers
