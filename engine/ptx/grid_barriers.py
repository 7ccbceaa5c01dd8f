"""Finds the kernels in which all thread blocks of the grid wait for each other, as `cooperative_groups` lets them."""

from warploom.engine.diagnostics import KernelError
from warploom.engine.ptx.parser import parse
from warploom.engine.ptx.signature import reachable_functions
from warploom.engine.ptx.tree import Instruction, Register

#: The special registers with the address of the grid's barrier, which a GPU provides in a cooperative launch.
REGISTERS = frozenset({"%envreg1", "%envreg2"})


def kernels_with_grid_barrier(text: str) -> frozenset[str]:
    """Return the entry points of PTX that use the grid's barrier, also in functions that they call.

    The result is empty if the PTX can't be parsed.
    """
    if not any(register in text for register in REGISTERS):
        return frozenset()
    try:
        module = parse(text)
    except KernelError:
        return frozenset()
    return frozenset(
        name
        for name, entry in module.functions.items()
        if entry.is_entry
        and any(
            _reads_barrier(instruction)
            for function in reachable_functions(entry, module.functions, module.variables)
            for instruction in function.instructions
        )
    )


def _reads_barrier(instruction: Instruction) -> bool:
    return any(isinstance(operand, Register) and operand.name in REGISTERS for operand in instruction.operands)
