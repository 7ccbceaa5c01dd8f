"""Warp-synchronous code from before Volta: threads of a warp share values through volatile memory, with no barrier.

Such code expects the threads of a warp to run in step, so that one thread's store comes before another's next load. The
accesses are volatile; otherwise the compiler would keep values in registers. A `bar.warp.sync` for all active threads
goes between two volatile accesses if at least one is a store, unless both are to the same address.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import ControlFlow, control_flow, defined
from warploom.engine.ptx.tree import Address, Function, Instruction, Label, Register, Statement, Symbol

_SPACES = frozenset(("shared", "global", "local", "param", "const"))
_SYNCHRONISE = frozenset(("bar", "barrier", "shfl", "vote", "match", "redux"))

MemoryAccess = tuple[str, object]
"""Opcode and address of a volatile access; the address is unique where it may not be the same every time."""


def in_lockstep(function: Function, *, generic: bool) -> Function:
    """Return the function with its warps together at volatile accesses to shared memory that follow each other.

    `generic` says whether addresses without a space may be shared memory.
    """
    assert function.body is not None
    volatile = _accesses(function, generic=generic)
    if {opcode for opcode, _ in volatile.values()} != {"ld", "st"}:
        return function
    places = _places(control_flow(function), volatile)
    body: list[Statement] = []
    for item in function.body:
        if not isinstance(item, Label) and id(item) in places:
            body.append(Instruction("bar", ("warp", "sync", "wl"), (), None, item.line, item.source))
        body.append(item)
    return replace(function, body=tuple(body))


def generic_functions(functions: Mapping[str, Function]) -> set[str]:
    """Return the functions whose generic addresses may be shared memory and whose threads may wait.

    Threads cannot wait in functions that are called through pointers.
    """
    instructions = [item for function in functions.values() for item in function.instructions]
    if not any(
        item.opcode == "cvta" and "shared" in item.modifiers and "to" not in item.modifiers for item in instructions
    ):
        return set()
    called, taken = set[str](), set[str]()
    for item in instructions:
        names = {operand.name for operand in item.operands if isinstance(operand, Symbol)}
        (called if item.opcode == "call" else taken).update(names)
    return {name for name, item in functions.items() if item.is_entry or name in called - taken}


def _accesses(function: Function, *, generic: bool) -> dict[int, MemoryAccess]:
    """Return the volatile accesses that may be to shared memory, by the id of their instructions."""
    written: dict[str, int] = {}
    for item in function.instructions:
        for name in defined(item):
            written[name] = written.get(name, 0) + 1
    found: dict[int, MemoryAccess] = {}
    for item in function.instructions:
        if item.opcode not in ("ld", "st") or "volatile" not in item.modifiers:
            continue
        space = next((word.split("::")[0] for word in item.modifiers if word.split("::")[0] in _SPACES), "")
        if space != "shared" and (space or not generic):
            continue
        address = next((operand for operand in item.operands if isinstance(operand, Address)), None)
        if address is None:
            continue
        is_fixed = not isinstance(address.base, Register) or written.get(address.base.name) == 1
        found[id(item)] = (item.opcode, address if is_fixed else id(item))
    return found


def _places(flow: ControlFlow, volatile: Mapping[int, MemoryAccess]) -> set[int]:
    """Return the ids of the accesses before which the threads must be together."""
    before: list[frozenset[MemoryAccess]] = [frozenset() for _ in flow.blocks]
    places: set[int] = set()
    pending = list(range(len(flow.blocks)))
    while pending:
        index = pending.pop()
        state = before[index]
        for item in flow.blocks[index].instructions:
            access = volatile.get(id(item))
            if access is not None:
                if any(_conflict(access, other) for other in state):
                    places.add(id(item))
                state = frozenset((access,)) if id(item) in places else state | {access}
            elif item.opcode in _SYNCHRONISE and "arrive" not in item.modifiers:
                state = frozenset()
        for following in flow.blocks[index].successors:
            if not state <= before[following]:
                before[following] |= state
                pending.append(following)
    return places


def _conflict(one: MemoryAccess, other: MemoryAccess) -> bool:
    return "st" in (one[0], other[0]) and (one[1] != other[1] or isinstance(one[1], int))
