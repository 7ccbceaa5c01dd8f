"""The table of opcodes: which function writes which instruction."""

from __future__ import annotations

from collections.abc import Callable

from engine.device.host.translate.body import Body
from engine.device.host.translate.errors import error_at
from engine.ptx.tree import Instruction

Emit = Callable[[Body, Instruction], None]

OPCODES: dict[str, Emit] = {}


def opcode(*names: str) -> Callable[[Emit], Emit]:
    """Enter a function in the table under each name."""

    def enter(emit: Emit) -> Emit:
        for name in names:
            OPCODES[name] = emit
        return emit

    return enter


def emit(body: Body, instruction: Instruction) -> None:
    """Write an instruction, whose guard has been written already; to be called while `errors.reading` it."""
    function = OPCODES.get(instruction.opcode)
    if function is None:
        raise error_at(
            instruction.line,
            f"{instruction.text} is not an instruction that the host device runs; "
            "use plain CUDA C++ arithmetic, memory, atomic, barrier and shuffle operations instead",
        )
    function(body, instruction)
