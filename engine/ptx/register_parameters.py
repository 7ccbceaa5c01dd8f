"""Functions of old PTX take and return values in registers: the same functions with `.param` variables."""

from __future__ import annotations

from dataclasses import replace

from engine.ptx.tree import Address, Instruction, Operand, Register, Statement, Symbol, Variable, type_size


def formal_registers(variables: tuple[Variable, ...]) -> dict[str, str]:
    """Return the registers among parameters or results, with their types; a vector's are its components."""
    found: dict[str, str] = {}
    for variable in variables:
        if variable.space == "reg":
            names = [variable.name] if variable.count == 1 else [f"{variable.name}.{part}" for part in "xyzw"]
            found |= dict.fromkeys(names[: variable.count], variable.ptx_type)
    return found


def renamed(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Return parameters or results with registers turned into `.param` variables of other names."""
    return tuple(
        replace(item, name=_stored(item.name), space="param") if item.space == "reg" else item for item in variables
    )


def moved(
    body: tuple[Statement, ...], parameters: dict[str, str], results: dict[str, str], line: int
) -> tuple[Statement, ...]:
    """Return a body that loads its register parameters first and stores its register results before it returns."""
    if not parameters and not results:
        return body
    done: list[Statement] = [
        _move("ld", kind, Register(name), _place(name, kind), line) for name, kind in parameters.items()
    ]
    stores = [_move("st", kind, _place(name, kind), Register(name), line) for name, kind in results.items()]
    for item in body:
        if isinstance(item, Instruction) and item.opcode == "ret":
            done += stores  # harmless when a guard lets the thread go on
        done.append(item)
    return (*done, *stores)


def _stored(name: str) -> str:
    return f"{name}$param"


def _place(name: str, kind: str) -> Address:
    """Return where a register, or a vector's component, lies in the variable that stands for it."""
    base, _, part = name.rpartition(".")
    if not base:
        return Address(Symbol(_stored(name)))
    return Address(Symbol(_stored(base)), "xyzw".index(part) * type_size(kind))


def _move(opcode: str, kind: str, first: Operand, second: Operand, line: int) -> Instruction:
    return Instruction(opcode, ("param", kind), (first, second), None, line)
