"""Reads facts about a kernel's launch from its PTX: the number of dimensions, and the parameters that bound its
threads.
"""

from collections import defaultdict

from warploom.engine.ptx.tree import Address, Function, Instruction, Register, Symbol

_INDICES = ("tid", "ctaid")
_AXES = "xyz"
#: Instructions whose result varies with the thread index when an operand does.
_CARRIES = frozenset({"mov", "add", "sub", "mad", "mul", "cvt", "shl", "or", "and", "min", "max"})


def launch_rank(kernel: Function) -> int:
    """Return the number of dimensions of the thread index that a kernel reads, at least 1."""
    used = {name for instruction in kernel.instructions for name in _registers(instruction)}
    axes = [axis for axis in range(3) if any(f"%{index}.{_AXES[axis]}" in used for index in _INDICES)]
    return max(axes, default=0) + 1


def thread_bounds(kernel: Function) -> dict[str, int]:
    """Return the parameters that the kernel compares its thread indices with, each with the axis (0 for x).

    `if (i >= n) return;` makes n such a parameter.
    """
    axes: dict[str, set[int]] = defaultdict(set)
    loads: dict[str, set[str]] = defaultdict(set)
    for axis, letter in enumerate(_AXES):
        for index in _INDICES:
            axes[f"%{index}.{letter}"] = {axis}
    changed = True
    while changed:
        changed = False
        for instruction in kernel.instructions:
            target = instruction.operands[0] if instruction.operands else None
            if not isinstance(target, Register):
                continue
            found_axes: set[int] = set()
            found_loads: set[str] = set()
            if instruction.opcode in _CARRIES:
                for name in _registers(instruction)[1:]:
                    found_axes |= axes[name]
                    found_loads |= loads[name] if instruction.opcode in ("mov", "cvt") else set()
            elif instruction.opcode == "ld" and "param" in instruction.modifiers:
                found_loads |= _loaded(instruction)
            if not (found_axes <= axes[target.name] and found_loads <= loads[target.name]):
                axes[target.name] |= found_axes
                loads[target.name] |= found_loads
                changed = True
    bounds: dict[str, int] = {}
    for instruction in kernel.instructions:
        if instruction.opcode != "setp":
            continue
        sides = [operand.name for operand in instruction.operands[1:] if isinstance(operand, Register)]
        for one, other in (sides, sides[::-1]) if len(sides) == 2 else ():
            if len(axes[one]) == 1 and not axes[other]:
                bounds.update(dict.fromkeys(loads[other], next(iter(axes[one]))))
    return bounds


def _registers(instruction: Instruction) -> list[str]:
    return [operand.name for operand in instruction.operands if isinstance(operand, Register)]


def _loaded(instruction: Instruction) -> set[str]:
    addresses = [operand.base for operand in instruction.operands[1:] if isinstance(operand, Address)]
    return {base.name for base in addresses if isinstance(base, Symbol)}
