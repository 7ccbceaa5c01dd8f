"""cudaGraphSetConditional: on the host, the handle of a condition is the address of its value."""

from __future__ import annotations

from engine.device.host.translate.lowering.writer import Writer, lowers, refused
from engine.ptx.tree import Address, Group, Instruction, Operand, Symbol

NAME = "cudaGraphSetConditional"


@lowers("call")
def _set_condition(writer: Writer, instruction: Instruction) -> None:
    """Write a store, which is checked as every store is: a handle that is none ends the kernel."""
    target, *groups = instruction.operands
    if not isinstance(target, Symbol) or target.name != NAME:
        writer.done.append(instruction)
        return
    given = groups[0].elements if groups and isinstance(groups[0], Group) else ()
    if len(given) != 2:
        raise refused(instruction, f"pass a handle and a value to {NAME}")
    handle, value = _value(writer, given[0], "b64"), _value(writer, given[1], "b32")
    writer.emit("st.global.b32", Address(writer.value("mov.b64", handle)), value)


def _value(writer: Writer, operand: Operand, kind: str) -> Operand:
    """Return an argument as an operand: what is passed in a `.param` variable is loaded."""
    return writer.value(f"ld.param.{kind}", Address(operand)) if isinstance(operand, Symbol) else operand
