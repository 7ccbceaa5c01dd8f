"""Loops that wait for a value which another thread writes.

The threads of a thread block take turns on one core, so a thread that spins must let the others run. A back edge gets
a `wl.yield` when a branch in its loop depends on a value that other threads may change: the result of an atomic, of a
volatile, relaxed or acquire load, or of a test of an mbarrier. A retry loop around compare-and-swap, whose compared
value is made in the loop, needs none: it fails only when another thread has got on.
"""

from __future__ import annotations

from dataclasses import replace

from engine.device.host.translate.flow import Flow, build, defined, registers, used
from engine.device.host.translate.loops import loops
from engine.ptx.tree import Function, Guard, Instruction, Integer, Label, Register, Statement, Symbol

#: How often a thread goes round before it lets others run: most loops that might spin do not.
ROUNDS = 32
_ORDERED = frozenset(("volatile", "relaxed", "acquire", "mmio"))


def with_yields(function: Function) -> Function:
    """Return the function with a `wl.yield` at the back edges of loops that may spin."""
    assert function.body is not None
    if not any(_is_racy(item) for item in function.instructions):
        return function
    flow = build(function, lambda _instruction: False)
    found = [loop.latch for loop in loops(flow) if _may_spin(sorted(loop.blocks), flow)]
    if not found:
        return function
    branches = {id(flow.blocks[source].instructions[-1]) for source in found}
    known = dict(function.registers)
    count, ready = Register("%wl$rounds"), Register("%wl$ready")
    low = Register("%wl$low")
    known |= {count.name: "b32", low.name: "b32", ready.name: "pred"}
    body: list[Statement] = []
    for item in function.body:
        if not isinstance(item, Label) and id(item) in branches:
            at = (item.line, item.source)
            body += [
                Instruction("add", ("u32",), (count, count, Integer(1)), None, *at),
                Instruction("and", ("b32",), (low, count, Integer(ROUNDS - 1)), None, *at),
                Instruction("setp", ("eq", "u32"), (ready, low, Integer(0)), None, *at),
                Instruction("wl", ("yield",), (), Guard(ready, False), *at),
            ]
        body.append(item)
    return replace(function, body=tuple(body), registers=known)


def _is_racy(instruction: Instruction) -> bool:
    if instruction.opcode == "atom":
        return True
    if instruction.opcode == "mbarrier":
        return instruction.modifiers[0] in ("test_wait", "try_wait")
    return instruction.opcode == "ld" and bool(_ORDERED & set(instruction.modifiers))


def _may_spin(loop: list[int], flow: Flow) -> bool:
    body = [item for index in loop for item in flow.blocks[index].instructions]
    made = {name for item in body if not _is_constant(item) for name in defined(item)}
    tainted: set[str] = set()
    for item in body:
        if _is_racy(item) and not (item.opcode == "atom" and "cas" in item.modifiers and _retries(item, made)):
            tainted |= defined(item)
    changed = True
    while changed:
        changed = False
        for item in body:
            names = defined(item)
            if not names <= tainted and used(item) & tainted:
                tainted |= names
                changed = True
    return any(item.guard is not None and item.guard.register.name in tainted for item in body)


def _is_constant(instruction: Instruction) -> bool:
    return instruction.opcode == "mov" and isinstance(instruction.operands[1], Integer)


def _retries(instruction: Instruction, made: set[str]) -> bool:
    """Whether a compare-and-swap compares with a value that the loop reads or computes anew."""
    compared = instruction.operands[2]
    return not isinstance(compared, Symbol) and bool(set(registers(compared)) & made)
