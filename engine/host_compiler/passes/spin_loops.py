"""Spin loops: loops that wait for a value which another thread writes.

The threads of a thread block take turns on one core, so a thread that spins must let the others run. A back edge gets
a `wl.yield` when a branch in its loop depends on a value that other threads may change: the result of an atomic, of a
volatile, relaxed or acquire load, of a test of an mbarrier, or of a function with one of these; or a value in shared
memory that was computed from such a result.

Two kinds of loops need no yield: a retry loop around a compare-and-swap whose compared value is read or computed in the
loop, because it fails only when another thread has succeeded; and a counting loop whose exits don't depend on such
values.
"""

from collections.abc import Mapping, Set

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import (
    ControlFlow,
    Loop,
    control_flow,
    defined,
    loops,
    registers,
    used,
)
from warploom.engine.ptx import tree as ptx

# -- counting loops: they end independently of other threads
# ----------------------------------------------------------------


_STEPS = frozenset(("add", "sub"))
#: Opcodes that compute a register from others, or load what no other thread is expected to write.
_STEADY = frozenset(
    ("mov", "cvt", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "min", "max", "setp", "ld")
)
_ORDERED = frozenset(("volatile", "relaxed", "acquire", "mmio"))

Makers = dict[str, list[tuple[int, ptx.Instruction]]]
"""The instructions of a loop that write a register, with their blocks."""


def counts(loop: Loop, flow: ControlFlow) -> bool:
    """Whether every round reaches an exit whose condition makes progress, by arithmetic and plain loads alone."""
    always = {index for index in loop.blocks if _is_on_every_path(loop, flow, index)}
    makers: Makers = {}
    for index in loop.blocks:
        for item in flow.blocks[index].instructions:
            for name in defined(item):
                makers.setdefault(name, []).append((index, item))
    ends = (flow.blocks[index].instructions[-1] for index, _ in loop.exits(flow) if index in always)
    return any(item.guard is not None and _makes_progress(item.guard.register.name, makers, always) for item in ends)


def _makes_progress(condition: str, makers: Makers, always: set[int]) -> bool:
    """Whether a condition depends on a register that every round adds to, and on no memory that others may change."""
    names = _origins(condition, makers) | {condition}
    steps = False
    for name in names & makers.keys():
        (index, item), *others = makers[name]
        if others or index not in always or item.guard is not None or not _is_steady(item):
            return False
        steps |= item.opcode in _STEPS and name in _origins(name, makers)
    return steps


def is_ordered(instruction: ptx.Instruction) -> bool:
    """Whether a load reads writes of other threads."""
    return instruction.opcode == "ld" and bool(_ORDERED.intersection(instruction.modifiers))


def _is_steady(instruction: ptx.Instruction) -> bool:
    return instruction.opcode in _STEADY and not is_ordered(instruction)


def _origins(name: str, makers: Makers) -> set[str]:
    """Return the registers from which the loop computes a register, over all rounds."""
    found: set[str] = set()
    pending = [name]
    while pending:
        for _, item in makers.get(pending.pop(), ()):
            pending += used(item) - found
            found |= used(item)
    return found


def _is_on_every_path(loop: Loop, flow: ControlFlow, index: int) -> bool:
    """Whether every path from the loop's header to its latch goes through a block."""
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


#: After how many rounds a thread lets others run: most loops that might spin end earlier.
ROUNDS = 32
_OTHER_SPACES = frozenset(("global", "local", "const", "param", "param::entry", "param::func"))
_SHARED = "shared memory"


def racy_functions(functions: Mapping[str, ptx.Function]) -> frozenset[str]:
    """Return the functions that read memory which other threads may change, also through calls."""
    found: frozenset[str] = frozenset()
    while True:
        more = {name for name, item in functions.items() if any(_is_racy(entry, found) for entry in item.instructions)}
        if more <= found:
            return found
        found |= more


def with_yields(function: ptx.Function, racy: Set[str]) -> ptx.Function:
    """Return the function with a `wl.yield` at the back edges of loops that may spin; `racy` are `racy_functions`."""
    assert function.body is not None
    if not any(_is_racy(item, racy) for item in function.instructions):
        return function
    flow = control_flow(function)
    found = [loop.latch for loop in loops(flow) if _may_spin(loop, flow, racy)]
    if not found:
        return function
    branches = {id(flow.blocks[source].instructions[-1]) for source in found}
    known = dict(function.registers)
    count, ready = ptx.Register("%wl$rounds"), ptx.Register("%wl$ready")
    low = ptx.Register("%wl$low")
    known |= {count.name: "b32", low.name: "b32", ready.name: "pred"}
    body: list[ptx.Statement] = []
    for item in function.body:
        if not isinstance(item, ptx.Label) and id(item) in branches:
            at = (item.line, item.source)
            body += [
                ptx.Instruction("add", ("u32",), (count, count, ptx.Integer(1)), None, *at),
                ptx.Instruction("and", ("b32",), (low, count, ptx.Integer(ROUNDS - 1)), None, *at),
                ptx.Instruction("setp", ("eq", "u32"), (ready, low, ptx.Integer(0)), None, *at),
                ptx.Instruction("wl", ("yield",), (), ptx.Guard(ready, False), *at),
            ]
        body.append(item)
    return replace(function, body=tuple(body), registers=known)


def _is_racy(instruction: ptx.Instruction, racy: Set[str]) -> bool:
    if instruction.opcode == "atom":
        return True
    if instruction.opcode == "mbarrier":
        return not {"test_wait", "try_wait"}.isdisjoint(instruction.modifiers)
    if instruction.opcode == "call":
        return any(isinstance(item, ptx.Symbol) and item.name in racy for item in instruction.operands[:2])
    return is_ordered(instruction)


def _may_spin(loop: Loop, flow: ControlFlow, racy: Set[str]) -> bool:
    body = [item for index in sorted(loop.blocks) for item in flow.blocks[index].instructions]
    made = {name for item in body if not _is_constant(item) for name in defined(item)}
    tainted: set[str] = set()
    for item in body:
        is_retry = item.opcode == "atom" and "cas" in item.modifiers and _retries(item, made)
        if _is_racy(item, racy) and not is_retry:
            tainted |= _results(item)
    changed = True
    while changed:
        changed = False
        for item in body:
            names = _targets(item)
            if not names <= tainted and _sources(item) & tainted:
                tainted |= names
                changed = True
    decided = [item for item in body if item.guard is not None and item.guard.register.name in tainted]
    leaving = {id(flow.blocks[index].instructions[-1]) for index, _ in loop.exits(flow)}
    ends = any(id(item) in leaving or item.opcode in ("ret", "exit") for item in decided)
    return bool(decided) and (ends or not counts(loop, flow))


def _results(instruction: ptx.Instruction) -> set[str]:
    """Return the registers that an instruction writes, or the variables that take a call's results."""
    first = instruction.operands[0] if instruction.operands else None
    if instruction.opcode == "call" and isinstance(first, ptx.OperandList):
        return {item.name for item in first.elements if isinstance(item, ptx.Symbol | ptx.Register)}
    return defined(instruction)


def _targets(instruction: ptx.Instruction) -> set[str]:
    """Return the registers that an instruction writes, or shared memory as a whole."""
    return {_SHARED} if instruction.opcode == "st" and _may_be_shared(instruction) else defined(instruction)


def _sources(instruction: ptx.Instruction) -> set[str]:
    """Return the registers whose values an instruction passes on, and the variable that it loads from."""
    if instruction.opcode == "st":
        return {name for operand in instruction.operands[1:] for name in registers(operand)}
    found = used(instruction)
    if instruction.opcode == "ld":
        if _may_be_shared(instruction):
            found.add(_SHARED)
        for operand in instruction.operands[1:]:
            if isinstance(operand, ptx.Address) and isinstance(operand.base, ptx.Symbol):
                found.add(operand.base.name)
    return found


def _may_be_shared(instruction: ptx.Instruction) -> bool:
    return not _OTHER_SPACES.intersection(instruction.modifiers)


def _is_constant(instruction: ptx.Instruction) -> bool:
    return instruction.opcode == "mov" and isinstance(instruction.operands[1], ptx.Integer)


def _retries(instruction: ptx.Instruction, made: set[str]) -> bool:
    """Whether a compare-and-swap compares with a value that the loop reads or computes again."""
    compared = instruction.operands[2]
    return not isinstance(compared, ptx.Symbol) and bool(set(registers(compared)) & made)
