"""What is known of registers where a block runs: the comparisons on the way to it.

`if (i < n)` keeps the threads away from an access whose address would be outside its buffer, so the range of `i` that
counts there ends below `n`.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.device.host.translate.flow import Block, Flow, defined
from engine.ptx.tree import Instruction, Operand, Register, Symbol

#: (register, comparison that holds, the other side, of unsigned numbers); comparisons are lt, le, gt, ge and eq.
Guard = tuple[Register, str, Operand, bool]

_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def guards(flow: Flow, start: int, pieces: Iterable[int]) -> dict[int, tuple[Guard, ...]]:
    """Return what holds in each of the pieces that run from `start`; nothing where several ways lead to one."""
    pieces = set(pieces)
    before: dict[int, set[int]] = {index: set() for index in pieces}
    for index in pieces:
        if not flow.blocks[index].suspends:
            for following in flow.blocks[index].successors:
                before[following].add(index)
    setters = _setters(flow)
    found: dict[int, tuple[Guard, ...]] = {}

    def known(index: int, depth: int = 0) -> tuple[Guard, ...]:
        if index not in found:
            found[index] = ()
            if index != start and len(before[index]) == 1 and depth < 50:
                (source,) = before[index]
                found[index] = known(source, depth + 1) + _edge(flow, flow.blocks[source], index, setters)
        return found[index]

    return {index: known(index) for index in pieces}


def _setters(flow: Flow) -> dict[str, Instruction]:
    """Return the instruction that writes each predicate which is written once."""
    writes: dict[str, list[Instruction]] = {}
    for block in flow.blocks:
        for instruction in block.instructions:
            for name in defined(instruction):
                writes.setdefault(name, []).append(instruction)
    return {name: items[0] for name, items in writes.items() if len(items) == 1 and items[0].guard is None}


def _edge(flow: Flow, source: Block, target: int, setters: dict[str, Instruction]) -> tuple[Guard, ...]:
    last = source.instructions[-1] if source.instructions else None
    if last is None or last.guard is None or last.opcode not in ("bra", "ret", "exit"):
        return ()
    taken = (
        last.opcode == "bra" and isinstance(last.operands[0], Symbol) and flow.labels[last.operands[0].name] == target
    )
    if taken and source.index + 1 == target:
        return ()
    return _holds(last.guard.register.name, taken != last.guard.negated, setters)


def _holds(predicate: str, is_true: bool, setters: dict[str, Instruction], depth: int = 0) -> tuple[Guard, ...]:
    """Return the comparisons that follow from a predicate's value."""
    setter = setters.get(predicate)
    if setter is None or depth > 8:
        return ()
    if setter.opcode in ("and", "or") and is_true == (setter.opcode == "and"):
        parts = [item.name for item in setter.operands[1:] if isinstance(item, Register)]
        return tuple(guard for name in parts for guard in _holds(name, is_true, setters, depth + 1))
    if setter.opcode != "setp" or len(setter.operands) != 3 or len(setter.modifiers) != 2:
        return ()
    comparison, kind = setter.modifiers
    is_unsigned = kind[0] == "u" or comparison in _UNSIGNED
    comparison = _UNSIGNED.get(comparison, comparison)
    if kind not in ("s32", "u32", "s64", "u64", "b32", "b64") or comparison not in _OPPOSITE:
        return ()
    if not is_true:
        comparison = _OPPOSITE[comparison]
    _, left, right = setter.operands
    found: list[Guard] = []
    if isinstance(left, Register):
        found.append((left, comparison, right, is_unsigned))
    if isinstance(right, Register):
        found.append((right, _MIRRORED[comparison], left, is_unsigned))
    return tuple(guard for guard in found if guard[1] != "ne")
