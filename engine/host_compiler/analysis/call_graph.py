"""Calls: the function that one names, or those that a call through a pointer may reach."""

from collections.abc import Iterable, Mapping, Sequence

from warploom.engine.ptx.tree import Function, Instruction, Prototype, Register, Symbol, Variable


def target_of(call: Instruction) -> Register | None:
    """Return the register that a call takes its function from; None for a direct call and everything else."""
    if call.opcode != "call":
        return None
    return next((operand for operand in call.operands[:2] if isinstance(operand, Register)), None)


def callee_of(call: Instruction) -> str | None:
    """Return the name of the function that a direct call names; None for an indirect call and everything else."""
    if call.opcode != "call":
        return None
    return next((operand.name for operand in call.operands[:2] if isinstance(operand, Symbol)), None)


def candidates(
    call: Instruction,
    prototypes: Mapping[str, Prototype],
    targets: Mapping[str, Sequence[str]],
    functions: Mapping[str, Function],
) -> list[str]:
    """Return the names of the functions that an indirect call may reach: the listed ones, or all that fit."""
    last = call.operands[-1]
    if not isinstance(last, Symbol):
        return []
    if last.name in targets:
        return [name for name in targets[last.name] if name in functions]
    prototype = prototypes.get(last.name)
    return fitting(prototype.results, prototype.parameters, functions.values()) if prototype else []


def fitting(results: Sequence[Variable], parameters: Sequence[Variable], functions: Iterable[Function]) -> list[str]:
    """Return the names of the functions with bodies whose results and parameters have the same sizes as these."""
    wanted = _sizes(results, parameters)
    return [item.name for item in functions if item.body and _sizes(item.results, item.parameters) == wanted]


def _sizes(*lists: Sequence[Variable]) -> list[list[int]]:
    return [[item.size_bytes for item in items] for items in lists]
