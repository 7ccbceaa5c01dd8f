"""Loops that count: they end whatever other threads do."""

from __future__ import annotations

from engine.device.host.translate.flow import Flow, defined, used
from engine.device.host.translate.loops import Loop
from engine.ptx.tree import Instruction

_STEPS = frozenset(("add", "sub"))
#: Opcodes that compute a register from others, or load what no other thread is expected to write.
_STEADY = frozenset(
    ("mov", "cvt", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "min", "max", "setp", "ld")
)
_ORDERED = frozenset(("volatile", "relaxed", "acquire", "mmio"))

Makers = dict[str, list[tuple[int, Instruction]]]
"""The instructions of a loop that write a register, with their blocks."""


def counts(loop: Loop, flow: Flow) -> bool:
    """Whether every round comes to an exit whose condition steps on, made by arithmetic and plain loads alone."""
    always = {index for index in loop.blocks if _is_on_every_way(loop, flow, index)}
    makers: Makers = {}
    for index in loop.blocks:
        for item in flow.blocks[index].instructions:
            for name in defined(item):
                makers.setdefault(name, []).append((index, item))
    ends = (flow.blocks[index].instructions[-1] for index, _ in loop.exits(flow) if index in always)
    return any(item.guard is not None and _steps_on(item.guard.register.name, makers, always) for item in ends)


def _steps_on(condition: str, makers: Makers, always: set[int]) -> bool:
    """Whether a condition is made from a register that a number is added to in every round, and nothing unsteady."""
    names = _sources(condition, makers) | {condition}
    steps = False
    for name in names & makers.keys():
        (index, item), *others = makers[name]
        if others or index not in always or item.guard is not None or not _is_steady(item):
            return False
        steps |= item.opcode in _STEPS and name in _sources(name, makers)
    return steps


def is_ordered(instruction: Instruction) -> bool:
    """Whether a load asks for what other threads have written."""
    return instruction.opcode == "ld" and bool(_ORDERED.intersection(instruction.modifiers))


def _is_steady(instruction: Instruction) -> bool:
    return instruction.opcode in _STEADY and not is_ordered(instruction)


def _sources(name: str, makers: Makers) -> set[str]:
    """Return the registers that a register is made from in the loop, over all rounds."""
    found: set[str] = set()
    pending = [name]
    while pending:
        for _, item in makers.get(pending.pop(), ()):
            pending += used(item) - found
            found |= used(item)
    return found


def _is_on_every_way(loop: Loop, flow: Flow, index: int) -> bool:
    """Whether every way from the loop's header to its latch goes through a block."""
    if index in (loop.header, loop.latch):
        return True
    found, pending = {loop.header}, [loop.header]
    while pending:
        for following in flow.blocks[pending.pop()].successors:
            if following in loop.blocks and following != index and following not in found:
                if following == loop.latch:
                    return False
                found.add(following)
                pending.append(following)
    return True
