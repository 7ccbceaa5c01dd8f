"""Atomic operations whose old value no instruction reads become reductions, whose order among threads is free."""

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import used
from warploom.engine.host_compiler.opcodes.reductions import is_reduction
from warploom.engine.ptx.tree import Function, Instruction, Register, Sink, Statement


def without_unread_results(kernel: Function) -> Function:
    """Return a kernel with a `red` in the place of each such `atom`."""
    read = {name for item in kernel.instructions for name in used(item)}

    def rewritten(item: Statement) -> Statement:
        if not isinstance(item, Instruction) or item.opcode != "atom" or not is_reduction("red", item.modifiers):
            return item
        target = item.operands[0]
        is_unread = isinstance(target, Sink) or (isinstance(target, Register) and target.name not in read)
        return replace(item, opcode="red", operands=item.operands[1:]) if is_unread else item

    return replace(kernel, body=tuple(map(rewritten, kernel.body or ())))
