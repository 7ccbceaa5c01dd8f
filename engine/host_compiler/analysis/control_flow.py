"""Control flow of a PTX function: basic blocks, the registers that they read and write, and the registers that are live
between them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from warploom.engine.host_compiler.analysis.reachability import members
from warploom.engine.host_compiler.errors import error_at
from warploom.engine.ptx import tree as ptx

# Opcodes whose first operand is read.
_NO_RESULT = frozenset(
    (
        *("st", "red", "bra", "brx", "ret", "exit", "membar", "fence", "trap", "brkpt", "nanosleep"),
        *("prefetch", "prefetchu", "cp", "pmevent", "discard", "applypriority", "griddepcontrol", "setmaxnreg"),
    )
)


def registers(operand: ptx.Operand) -> Iterator[str]:
    """Yield the names of the registers in an operand."""
    if isinstance(operand, ptx.Register):
        yield operand.name
    elif isinstance(operand, ptx.Negated | ptx.RegisterPart):
        yield operand.register.name
    elif isinstance(operand, ptx.Address):
        if isinstance(operand.base, ptx.Register):
            yield operand.base.name
        for item in operand.coordinates:
            yield from registers(item)
    elif isinstance(operand, ptx.Vector | ptx.OperandList):
        for item in operand.elements:
            yield from registers(item)
    elif isinstance(operand, ptx.Pair):
        yield from registers(operand.first)
        yield from registers(operand.second)


def elements_of(operand: ptx.Operand) -> tuple[ptx.Operand, ...]:
    """Return the elements of a vector; any other operand is its own single element."""
    return operand.elements if isinstance(operand, ptx.Vector) else (operand,)


def has_result(instruction: ptx.Instruction) -> bool:
    """Whether an instruction writes its first operand."""
    if instruction.opcode in ("bar", "barrier"):
        return "red" in instruction.modifiers
    if not instruction.operands or isinstance(instruction.operands[0], ptx.Address):
        return False
    if instruction.opcode == "call":
        return isinstance(instruction.operands[0], ptx.OperandList)
    return instruction.opcode not in _NO_RESULT


def defined(instruction: ptx.Instruction) -> set[str]:
    """Return the registers an instruction writes."""
    if not has_result(instruction):
        return set()
    first = instruction.operands[0]
    return {first.name} if isinstance(first, ptx.Register) else set(registers(first))


def used(instruction: ptx.Instruction) -> set[str]:
    """Return the registers an instruction reads."""
    operands = instruction.operands[1:] if has_result(instruction) else instruction.operands
    found: set[str] = set()
    for operand in operands:
        if isinstance(operand, ptx.Register):
            found.add(operand.name)
        elif not isinstance(operand, (ptx.Integer, ptx.Float)):
            found.update(registers(operand))
    if instruction.guard is not None:
        found.add(instruction.guard.register.name)
    return found


@dataclass
class BasicBlock:
    """Statements that run one after the other; `suspends` is true when the last one waits for other threads."""

    index: int
    instructions: list[ptx.Instruction] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    suspends: bool = False


@dataclass(frozen=True)
class ControlFlow:
    """A function's blocks, the entry block first, and the block that each label starts."""

    blocks: list[BasicBlock]
    labels: dict[str, int]
    _live_in: dict[int, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    def live_in(self, index: int) -> frozenset[str]:
        """Return the registers that a block, or one after it, reads before they are written again."""
        if index not in self._live_in:
            names, live = self._liveness
            self._live_in[index] = frozenset(names[number] for number in members(live[index]))
        return self._live_in[index]

    @cached_property
    def _liveness(self) -> tuple[list[str], list[int]]:
        """All registers, and for each block the numbers of those that are live there, as the bits of one integer."""
        numbers: dict[str, int] = {}
        generated: list[int] = []
        killed: list[int] = []

        def bits(names: set[str]) -> int:
            return sum(1 << numbers.setdefault(name, len(numbers)) for name in names)

        for block in self.blocks:
            reads = writes = 0
            for instruction in block.instructions:
                reads |= bits(used(instruction)) & ~writes
                if instruction.guard is None:
                    writes |= bits(defined(instruction))
            generated.append(reads)
            killed.append(writes)
        live = [0] * len(self.blocks)
        before = predecessors(self.blocks)
        pending = dict.fromkeys(range(len(self.blocks)))  # the last block first
        while pending:
            index, _ = pending.popitem()
            after = 0
            for following in self.blocks[index].successors:
                after |= live[following]
            now = generated[index] | after & ~killed[index]
            if now != live[index]:
                live[index] = now
                pending.update(dict.fromkeys(before[index]))
        return list(numbers), live


def predecessors(blocks: Sequence[BasicBlock]) -> list[list[int]]:
    """Return the blocks from which each block is reached directly."""
    found: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for following in block.successors:
            found[following].append(block.index)
    return found


def control_flow(
    function: ptx.Function, suspends: Callable[[ptx.Instruction], bool] = lambda _instruction: False
) -> ControlFlow:
    """Split a function's body into blocks; an instruction that `suspends` ends its block."""
    blocks = [BasicBlock(0)]
    labels: dict[str, int] = {}
    fresh = True
    for item in function.body or ():
        if isinstance(item, ptx.Label):
            if not fresh:
                blocks.append(BasicBlock(len(blocks)))
                fresh = True
            labels[item.name] = len(blocks) - 1
            continue
        blocks[-1].instructions.append(item)
        blocks[-1].suspends = suspends(item)
        fresh = False
        if blocks[-1].suspends or item.opcode in ("bra", "brx", "ret", "exit", "trap"):
            blocks.append(BasicBlock(len(blocks)))
            fresh = True
    for block in blocks:
        block.successors = _successors(block, labels, function, len(blocks))
    return ControlFlow(blocks, labels)


def _successors(block: BasicBlock, labels: dict[str, int], function: ptx.Function, count: int) -> list[int]:
    following = [block.index + 1] if block.index + 1 < count else []
    if not block.instructions:
        return following
    last = block.instructions[-1]
    if len(last.operands) < {"bra": 1, "brx": 2}.get(last.opcode, 0):
        raise error_at(last.line, f"{last.text} must name where to go")
    if last.opcode == "bra" and isinstance(last.operands[0], ptx.Symbol):
        target = [_target(labels, last.operands[0].name, last)]
        return target if last.guard is None else target + following
    if last.opcode == "brx" and isinstance(last.operands[1], ptx.Symbol):
        table = function.targets.get(last.operands[1].name, ())
        return [_target(labels, name, last) for name in table] + (following if last.guard else [])
    if last.opcode in ("ret", "exit", "trap"):
        return following if last.guard is not None else []
    return following


def _target(labels: dict[str, int], name: str, instruction: ptx.Instruction) -> int:
    if name not in labels:
        raise error_at(instruction.line, f"branch must go to a label of its function, got {name}")
    return labels[name]


# -- facts about a function that are computed once and kept with it ----------------------------------------------------


Fact = TypeVar("Fact")


def fact(compute: Callable[[ptx.Function], Fact]) -> Callable[[ptx.Function], Fact]:
    """Memoise an analysis of a PTX function in the function itself; callers must not change the result."""
    name = f"{compute.__module__}.{compute.__qualname__}"

    def get(function: ptx.Function) -> Fact:
        kept = vars(function)  # as for a cached property: PTX functions are never changed
        if name not in kept:
            kept[name] = compute(function)
        found: Fact = kept[name]
        return found

    get.__doc__ = compute.__doc__
    return get


@fact
def writes(function: ptx.Function) -> dict[str, list[ptx.Instruction]]:
    """Return the instructions that write each register, in order."""
    found: dict[str, list[ptx.Instruction]] = {}
    for instruction in function.instructions:
        for name in defined(instruction):
            found.setdefault(name, []).append(instruction)
    return found


@fact
def written_once(function: ptx.Function) -> dict[str, ptx.Instruction]:
    """Return the registers that one instruction without a guard writes, as its whole result, and no other."""
    return {
        name: items[0]
        for name, items in writes(function).items()
        if len(items) == 1 and items[0].guard is None and items[0].operands[0] == ptx.Register(name)
    }


@fact
def unwritten(function: ptx.Function) -> frozenset[str]:
    """Return the registers that may be read before they are written; they hold zero then."""
    return control_flow(function).live_in(0)


def local_registers(function: ptx.Function, flow: ControlFlow) -> frozenset[str]:
    """Return the registers that one instruction without a guard writes, and only later ones of its block read."""
    written: set[str] = set()
    others: set[str] = set()
    for block in flow.blocks:
        here: set[str] = set()
        for instruction in block.instructions:
            others |= used(instruction) - here
            names = defined(instruction)
            others |= names if instruction.guard is not None else names & written
            written |= names
            here |= names
    return frozenset(written & function.registers.keys() - others)


# -- loops -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """A back edge from block `latch` to block `header`, with all blocks between them."""

    header: int
    latch: int
    blocks: frozenset[int]

    def exits(self, flow: ControlFlow) -> list[tuple[int, int]]:
        """Return the edges that leave the loop."""
        return [
            (index, following)
            for index in sorted(self.blocks)
            for following in flow.blocks[index].successors
            if following not in self.blocks
        ]


def loops(flow: ControlFlow) -> list[Loop]:
    """Return a loop for each branch that goes back in the text; every cycle has such a branch."""
    before = predecessors(flow.blocks)
    return [
        Loop(following, block.index, between(before, following, block.index))
        for block in flow.blocks
        if block.instructions and block.instructions[-1].opcode in ("bra", "brx")
        for following in block.successors
        if following <= block.index
    ]


def between(before: list[list[int]], header: int, latch: int) -> frozenset[int]:
    """Return the blocks on the ways from a loop's header to its latch, from the predecessors of each block."""
    found, pending = {latch, header}, [latch]
    while pending:
        index = pending.pop()
        if index == header:
            continue
        for item in before[index]:
            if item not in found:
                found.add(item)
                pending.append(item)
    return frozenset(found)
