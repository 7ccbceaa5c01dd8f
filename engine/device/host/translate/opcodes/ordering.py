"""Fences, waits and traps."""

from __future__ import annotations

from engine.device.host.translate import abi
from engine.device.host.translate.accesses import report
from engine.device.host.translate.body import Body
from engine.device.host.translate.table import opcode
from engine.ptx.tree import Instruction


@opcode("membar", "fence")
def _fence(body: Body, instruction: Instruction) -> None:
    if "proxy" not in instruction.modifiers:
        body.code.do("fence seq_cst")


@opcode("nanosleep", "pmevent", "griddepcontrol")
def _nothing(body: Body, instruction: Instruction) -> None:
    """Hints to a scheduler that the host does not have."""


@opcode("trap", "brkpt")
def _trap(body: Body, instruction: Instruction) -> None:
    report(body, abi.TRAP, instruction.line, "0")
    body.code.jump(body.exit_label)
