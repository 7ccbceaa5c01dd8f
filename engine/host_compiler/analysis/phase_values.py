"""Registers with known values within one phase, besides those computed from thread numbers and parameters.

A phase starts by reloading spilled registers, some of which are uniform or drift from a base. Until they are written
again, they are as good as parameters, and so are values that the phase computes from them.

A register is *available* where it still has the value that its instruction would compute again. Compilers compute an
address once and use it behind several barriers. There it is reloaded, but it follows from the loop's index, which is
uniform.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from warploom.engine.host_compiler.analysis.control_flow import (
    ControlFlow,
    control_flow,
    defined,
    fact,
    predecessors,
    used,
    written_once,
)
from warploom.engine.host_compiler.analysis.rematerialise import PURE, is_pure, rematerialisable
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.analysis.uniformity import (
    may_change_shared,
    reads_constant,
    reads_shared_variable,
)
from warploom.engine.host_compiler.special_registers import SPECIAL
from warploom.engine.ptx.tree import Function, Instruction, Register

#: The opcodes by which a phase may compute a known value from others.
_DERIVED = PURE | {"selp"}
#: The most steps between an address and known facts.
_DEPTH = 20


@dataclass(frozen=True)
class Restored:
    """A reloaded register: `base`, a register that is computed again ("" for none), plus an i64 `value`."""

    base: str
    value: str


@dataclass(frozen=True)
class PhaseValues:
    """The registers `restored` at the start of a phase, and `derived`: the instructions that compute others from them.

    `stale` are the restored registers that may have been written again before an instruction, by the instruction's
    identity; instructions of other phases are not in it.
    """

    restored: dict[str, Restored] = field(default_factory=dict)
    derived: dict[str, Instruction] = field(default_factory=dict)
    stale: dict[int, frozenset[str]] = field(default_factory=dict)

    @cached_property
    def looked_up(self) -> frozenset[str]:
        """The derived registers that follow from numbers in global memory."""
        found = set[str]()
        for name, item in self.derived.items():  # sources come first
            if reads_constant(item) or not found.isdisjoint(used(item)):
                found.add(name)
        return frozenset(found)

    def is_fresh(self, register: Register, at: Instruction) -> bool:
        """Whether a register still has its known value where an instruction reads it."""
        if register.name in self.restored:
            return id(at) in self.stale and register.name not in self.stale[id(at)]
        return register.name not in self.derived or id(at) in self.stale


def phase_values(
    function: Function,
    flow: ControlFlow,
    pieces: Sequence[int],
    start: int,
    restored: dict[str, Restored],
    available: Callable[[str], Instruction | None],
    passed: Collection[int] = (),
) -> PhaseValues:
    """Return the known facts in the phase that runs the blocks `pieces` from block `start`.

    `available` gives the instruction by which the phase might compute a register again at its start. A chain of phases
    continues past the points at the ends of the blocks `passed`.
    """
    stale = _stale(flow, pieces, restored, passed)
    known = rematerialisable(function)
    derived: dict[str, Instruction] = {}
    before = flow.live_in(start)
    own = {name for index in pieces for item in flow.blocks[index].instructions for name in defined(item)}

    unknown = set[str]()

    def derives(name: str, depth: int = 0) -> bool:
        """Whether a register is known; known sources are recorded before it."""
        if name in known or name in restored or name in SPECIAL or name in derived:
            return True
        item = available(name)
        if item is None or name in own or name in unknown or depth > _DEPTH:
            return False
        if not all(derives(source, depth + 1) for source in used(item)):
            unknown.add(name)
            return False
        derived[name] = item
        return True

    for name in before:
        derives(name)
    keeps_shared = not any(may_change_shared(item) for index in pieces for item in flow.blocks[index].instructions)
    once = written_once(function)
    for item in (item for index in pieces for item in flow.blocks[index].instructions):
        name = next(iter(defined(item)), "")
        if (
            once.get(name) is item
            and name not in known
            and name not in before
            and (
                is_pure(function, item, _DERIVED)
                or reads_constant(item)
                or (keeps_shared and reads_shared_variable(item))
            )
            and all(
                source in known
                or source in derived
                or source in SPECIAL
                or (source in restored and source not in stale[id(item)])
                for source in used(item)
            )
        ):
            derived[name] = item
    return PhaseValues(restored, derived, stale)


def _stale(
    flow: ControlFlow, pieces: Sequence[int], restored: Collection[str], passed: Collection[int]
) -> dict[int, frozenset[str]]:
    """Return the restored registers that may have been written again before each instruction."""
    at_start: dict[int, frozenset[str]] = {index: frozenset() for index in pieces}
    changed = True
    found: dict[int, frozenset[str]] = {}
    while changed:
        changed = False
        for index in pieces:
            written = at_start[index]
            for item in flow.blocks[index].instructions:
                found[id(item)] = written
                again = {name for name in defined(item) if name in restored}
                written = written | again if again else written
            if flow.blocks[index].suspends and index not in passed:
                continue
            for following in flow.blocks[index].successors:
                if following in at_start and not written <= at_start[following]:
                    at_start[following] |= written
                    changed = True
    return found


@fact
def availability(function: Function) -> Callable[[int, str], Instruction | None]:
    """Return a function that gives the instruction of a register that is available at the start of a block, or None.

    Blocks end at suspension points.
    """
    flow = control_flow(function, is_suspension_point)
    candidates = [item for item in written_once(function).values() if is_pure(function, item)]
    numbers = {id(item): number for number, item in enumerate(candidates)}
    readers: dict[str, int] = {}
    for number, item in enumerate(candidates):
        for name in used(item):
            readers[name] = readers.get(name, 0) | 1 << number
    kept, added = [], []
    for block in flow.blocks:
        lost = gained = 0
        for item in block.instructions:
            for name in defined(item):
                lost |= readers.get(name, 0)
                gained &= ~readers.get(name, 0)
            if id(item) in numbers:
                lost &= ~(1 << numbers[id(item)])
                gained |= 1 << numbers[id(item)]
        kept.append(~lost)
        added.append(gained)
    before = predecessors(flow.blocks)
    everything = (1 << len(candidates)) - 1
    ends = [everything] * len(flow.blocks)
    starts = [everything] * len(flow.blocks)
    pending = dict.fromkeys(range(len(flow.blocks)))
    while pending:
        index = next(iter(pending))
        del pending[index]
        start = everything if index and before[index] else 0
        for source in before[index] if index else ():
            start &= ends[source]
        starts[index] = start
        end = start & kept[index] | added[index]
        if end != ends[index]:
            ends[index] = end
            pending.update(dict.fromkeys(flow.blocks[index].successors))

    by_name = {name: number for number, item in enumerate(candidates) for name in defined(item)}

    def at(index: int, name: str) -> Instruction | None:
        number = by_name.get(name)
        return candidates[number] if number is not None and starts[index] >> number & 1 else None

    return at
