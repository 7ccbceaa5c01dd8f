"""Which allocation an address register points into, as far as that can be told before the kernel runs.

A register has a root when it was made from exactly one pointer: a kernel parameter or a module variable. The limits of
the allocation that the root points into are then looked up once per launch, and every access is checked against them
without a branch to other code.
"""

from __future__ import annotations

from engine.device.host.translate.flow import defined, registers
from engine.ptx.tree import Address, Function, Operand, Register, Symbol

Root = tuple[str, int]
"""("param", offset in the argument block) or ("symbol name", 0)."""

_UNKNOWN: Root = ("?", 0)
_SUMS = frozenset(("mov", "cvta", "add", "sub", "mad", "selp", "min", "max", "and"))


def roots(function: Function, parameters: dict[str, int], variables: set[str]) -> dict[str, Root | None]:
    """Return the root of each 64-bit register that is made from pointers; None where several or unknown ones meet."""
    only_converted = any(
        instruction.opcode == "cvta" and "global" in instruction.modifiers for instruction in function.instructions
    )
    pointers = _converted_parameters(function, parameters) if only_converted else None
    found: dict[str, Root] = {}
    changed = True
    while changed:
        changed = False
        for instruction in function.instructions:
            names = defined(instruction)
            if not names:
                continue
            root = _UNKNOWN if instruction.opcode in ("atom", "shfl") else None
            if instruction.opcode == "ld":
                root = _loaded(instruction.operands[1], "param" in instruction.modifiers, parameters, pointers)
            elif instruction.opcode == "call":
                root = _UNKNOWN
            else:
                for operand in instruction.operands[1:]:
                    for source in _operand_roots(operand, found, variables):
                        root = source if root is None or root == source else _UNKNOWN
                if root is not None and instruction.opcode not in _SUMS:
                    root = _UNKNOWN
            if root is None:
                continue
            for name in names:
                joined = root if found.get(name, root) == root else _UNKNOWN
                if found.get(name) != joined:
                    found[name], changed = joined, True
    return {name: None if root == _UNKNOWN else root for name, root in found.items()}


def _loaded(operand: Operand, is_param: bool, parameters: dict[str, int], pointers: set[int] | None) -> Root | None:
    if is_param and isinstance(operand, Address) and isinstance(operand.base, Symbol):
        offset = parameters.get(operand.base.name)
        if offset is None:
            return None
        offset += operand.offset
        return ("param", offset) if pointers is None or offset in pointers else None
    return None


def _operand_roots(operand: Operand, found: dict[str, Root], variables: set[str]) -> list[Root]:
    if isinstance(operand, Symbol):
        return [(operand.name, 0)] if operand.name in variables else []
    if isinstance(operand, Register):
        return [found[operand.name]] if operand.name in found else []
    return [found[name] for name in registers(operand) if name in found]


def _converted_parameters(function: Function, parameters: dict[str, int]) -> set[int]:
    """Return the argument-block offsets of parameters that reach a `cvta.to.global` or an address unchanged."""
    loaded: dict[str, int] = {}
    pointers: set[int] = set()
    for instruction in function.instructions:
        first = instruction.operands[0] if instruction.operands else None
        if instruction.opcode == "ld" and "param" in instruction.modifiers and isinstance(first, Register):
            source = instruction.operands[1]
            if isinstance(source, Address) and isinstance(source.base, Symbol) and source.base.name in parameters:
                loaded[first.name] = parameters[source.base.name] + source.offset
        if instruction.opcode == "cvta":
            for operand in instruction.operands[1:]:
                if isinstance(operand, Register) and operand.name in loaded:
                    pointers.add(loaded[operand.name])
        for operand in instruction.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register) and operand.base.name in loaded:
                pointers.add(loaded[operand.base.name])
    return pointers
