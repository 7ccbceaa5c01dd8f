"""Fences, waits and traps."""

from __future__ import annotations

from engine.device.host.translate import abi
from engine.device.host.translate.accesses import report
from engine.device.host.translate.body import Body
from engine.device.host.translate.points import is_point
from engine.device.host.translate.resolvers import ARRIVED
from engine.device.host.translate.table import opcode
from engine.ptx.tree import Instruction


@opcode("membar", "fence")
def _fence(body: Body, instruction: Instruction) -> None:
    if "proxy" not in instruction.modifiers:
        body.code.do("fence seq_cst")


@opcode("nanosleep", "pmevent", "griddepcontrol", "setmaxnreg")
def _nothing(body: Body, instruction: Instruction) -> None:
    """Hints to a scheduler that the host does not have."""


@opcode("bar", "barrier")
def _arrive(body: Body, instruction: Instruction) -> None:
    """Count this thread at a barrier where it does not wait; all other forms are waits."""
    if not any(is_point(item) for item in body.function.instructions):
        return  # nobody waits
    code, line = body.code, instruction.line
    number, count = (body.read(operand, "b32", line) for operand in instruction.operands[:2])
    index = code.value(f"and i32 {number}, 15")
    counters = code.value(f"getelementptr i8, ptr %scratch, i64 {ARRIVED}")
    place = code.value(f"getelementptr i32, ptr {counters}, i32 {index}")
    arrived = code.value(f"add i32 {code.value(f'load i32, ptr {place}')}, 1")
    # A barrier that only arrivals complete begins anew.
    complete = code.value(f"icmp uge i32 {arrived}, {count}")
    rest = code.value(f"select i1 {complete}, i32 0, i32 {arrived}")
    code.do(f"store i32 {rest}, ptr {place}")


@opcode("brkpt")
def _breakpoint(body: Body, instruction: Instruction) -> None:
    """There is no debugger to stop for."""


@opcode("trap")
def _trap(body: Body, instruction: Instruction) -> None:
    report(body, abi.TRAP, instruction.line, "0")
    body.code.jump(body.exit_label)
