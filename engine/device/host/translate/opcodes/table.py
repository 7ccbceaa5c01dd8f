"""The table of opcodes: which function writes which instruction."""

from __future__ import annotations

from collections.abc import Callable

from engine.device.host.translate.body import Body
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
