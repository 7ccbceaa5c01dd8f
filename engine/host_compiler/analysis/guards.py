"""Guards: the comparisons that hold where a block runs.

`if (i < n)` keeps threads away from accesses outside a buffer, so the range of `i` inside it ends below `n`.
"""

from collections.abc import Callable, Collection, Iterable

from warploom.engine.host_compiler.analysis.control_flow import BasicBlock, ControlFlow, written_once
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Function, Guard, Instruction, Integer, Operand, Register, Symbol

#: (register, comparison that holds, the other side, whether unsigned); comparisons are lt, le, gt, ge, eq and ne.
Comparison = tuple[Register, str, Operand, bool]
_SetComparison = tuple[Register, str, Operand, bool, Instruction]

_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
#: The comparison that holds after its two sides are exchanged.
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def opposite(comparison: Comparison) -> Comparison:
    """Return the comparison that holds where another does not."""
    register, order, other, is_unsigned = comparison
    return register, _OPPOSITE[order], other, is_unsigned


class Guards:
    """The comparisons that hold in the blocks `pieces` of a kernel, which run from block `start`.

    `is_fresh` says whether a register that an instruction compares still has its known value there. The pieces go on
    past the points at the ends of the blocks `passed`.
    """

    def __init__(
        self,
        function: Function,
        flow: ControlFlow,
        start: int,
        pieces: Iterable[int],
        is_fresh: Callable[[Register, Instruction], bool],
        passed: Collection[int] = (),
    ) -> None:
        self._flow, self._start, self._is_fresh = flow, start, is_fresh
        self._setters = written_once(function)
        self._before: dict[int, set[int]] = {index: set() for index in pieces}
        for index in self._before:
            if not flow.blocks[index].suspends or index in passed:
                for following in flow.blocks[index].successors:
                    if following in self._before:
                        self._before[following].add(index)

    def of_blocks(self) -> dict[int, tuple[Comparison, ...]]:
        """Return the comparisons that hold in each piece: those that hold on every way to it."""
        found: dict[int, tuple[Comparison, ...]] = {self._start: ()}
        changed = True
        while changed:  # blocks without a result so far contradict nothing
            changed = False
            for index in sorted(self._before.keys() - {self._start}):
                ways = [
                    found[source] + self._edge(self._flow.blocks[source], index)
                    for source in sorted(self._before[index])
                    if source in found
                ]
                if ways:
                    known = tuple(item for item in ways[0] if all(item in other for other in ways[1:]))
                    changed |= found.get(index) != known
                    found[index] = known
        return {index: found.get(index, ()) for index in self._before}

    def comparison(self, taken: Guard) -> Comparison | None:
        """Return a comparison that holds when an instruction with this guard runs; None if none is known."""
        setter = self._setters.get(taken.register.name)
        if setter is None or setter.opcode != "setp":
            return None
        found = self._fresh(_holds(taken.register.name, not taken.negated, self._setters))
        return found[0] if found else None

    def outcome(self, setter: Instruction, known: Collection[Comparison]) -> bool | None:
        """Return the result of a `setp` in threads for which comparisons are known to hold; None when it may vary."""
        for is_true in (True, False):
            if set(self._fresh(_comparisons(setter, is_true=is_true))) & set(known):
                return is_true
        return None

    def _edge(self, source: BasicBlock, target: int) -> tuple[Comparison, ...]:
        last = source.instructions[-1] if source.instructions else None
        if last is None or last.guard is None or last.opcode not in ("bra", "ret", "exit"):
            return ()
        label = last.operands[0] if last.opcode == "bra" else None
        taken = isinstance(label, Symbol) and self._flow.labels[label.name] == target
        if taken and source.index + 1 == target:
            return ()
        return self._fresh(_holds(last.guard.register.name, taken != last.guard.negated, self._setters))

    def _fresh(self, found: Iterable[_SetComparison]) -> tuple[Comparison, ...]:
        return tuple(
            (register, comparison, other, is_unsigned)
            for register, comparison, other, is_unsigned, setter in found
            if all(not isinstance(item, Register) or self._is_fresh(item, setter) for item in (register, other))
        )


def _holds(
    predicate: str, is_true: bool, setters: dict[str, Instruction], depth: int = 0
) -> tuple[_SetComparison, ...]:
    """Return the comparisons that follow from a predicate's value, with the instructions that make them."""
    setter = setters.get(predicate)
    if setter is None or depth > 8:
        return ()
    if setter.opcode == "not" and isinstance(setter.operands[1], Register):
        return _holds(setter.operands[1].name, not is_true, setters, depth + 1)
    if setter.opcode in ("and", "or") and is_true == (setter.opcode == "and"):
        parts = [item.name for item in setter.operands[1:] if isinstance(item, Register)]
        return tuple(guard for name in parts for guard in _holds(name, is_true, setters, depth + 1))
    return _comparisons(setter, is_true=is_true)


def _comparisons(setter: Instruction, *, is_true: bool) -> tuple[_SetComparison, ...]:
    """Return the comparisons that are the same as the result of a `setp`: either side may come first."""
    if setter.opcode != "setp" or len(setter.operands) != 3 or len(setter.modifiers) != 2:
        return ()
    comparison, kind = setter.modifiers
    is_unsigned = kind[0] == "u" or comparison in _UNSIGNED
    comparison = _UNSIGNED.get(comparison, comparison)
    if kind not in ("s32", "u32", "s64", "u64", "b32", "b64") or comparison not in _OPPOSITE:
        return ()
    if not is_true:
        comparison = _OPPOSITE[comparison]
    left, right = (_typed(item, TYPES[kind], is_unsigned=is_unsigned) for item in setter.operands[1:])
    found: list[_SetComparison] = []
    if isinstance(left, Register):
        found.append((left, comparison, right, is_unsigned, setter))
    if isinstance(right, Register):
        found.append((right, MIRRORED[comparison], left, is_unsigned, setter))
    return tuple(found)


def _typed(operand: Operand, bits: int, *, is_unsigned: bool) -> Operand:
    """Return an operand as a comparison of a type reads it: to one of s32, 0xFFFFFFFF is -1."""
    if not isinstance(operand, Integer):
        return operand
    value = operand.value & ((1 << bits) - 1)
    return Integer(value - (1 << bits) if not is_unsigned and value >> (bits - 1) else value)
