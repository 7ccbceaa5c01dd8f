"""Web splitting: each write of a register that is written several times gets a separate register.

`add %r1, %r1, 4` becomes `add %t, %r1, 4; mov %r1, %t`. Where only that write of `%r1` can reach a read, `%t` is read
instead. So most registers are written once, and one instruction determines their contents: the start value of a loop's
index, or a pointer before the loop advances it.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import (
    BasicBlock,
    ControlFlow,
    defined,
    has_result,
    used,
    writes,
    written_once,
)
from warploom.engine.host_compiler.analysis.reachability import members
from warploom.engine.host_compiler.analysis.uniformity import PURE
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import (
    Address,
    Function,
    Guard,
    Instruction,
    Integer,
    Negated,
    Operand,
    Register,
    Statement,
)


def split_webs(function: Function, flow: ControlFlow) -> Function:
    """Return a function with the writes of its integer registers and predicates split."""
    assert function.body is not None
    several = {name for name, items in writes(function).items() if len(items) > 1}
    if not several:
        return function
    fresh = _fresh_names(function, several)
    reaching = _Reaching(flow, several)
    registers = dict(function.registers)
    registers |= {name: function.registers[item.operands[0].name] for item, name in fresh.values()}  # type: ignore[union-attr]
    written: dict[int, list[Instruction]] = {}
    for block in flow.blocks:
        state = reaching.at_start(block)
        for item in block.instructions:
            names: dict[str, str] = {}
            for name in used(item):
                found = reaching.writes(state, name)
                if len(found) == 1 and id(found[0]) in fresh:
                    names[name] = fresh[id(found[0])][1]
            written[id(item)] = _instruction(item, names, fresh.get(id(item)), registers)
            state = reaching.step(state, item)
    body: list[Statement] = []
    for statement in function.body:
        body += written.get(id(statement), [statement])
    return replace(function, body=tuple(body), registers=registers)


def with_immediate_operands(function: Function, wanted: Callable[[Instruction], bool]) -> Function:
    """Return a function in which the wanted instructions name numbers instead of registers that only hold these."""
    assert function.body is not None
    numbers = {
        name: item.operands[1]
        for name, item in written_once(function).items()
        if item.opcode == "mov" and isinstance(item.operands[1], Integer)
    }
    body = tuple(
        _by_numbers(item, numbers) if isinstance(item, Instruction) and wanted(item) else item for item in function.body
    )
    return replace(function, body=body)


def _by_numbers(item: Instruction, numbers: Mapping[str, Operand]) -> Instruction:
    first = int(has_result(item))
    sources = (
        numbers.get(operand.name, operand) if isinstance(operand, Register) else operand
        for operand in item.operands[first:]
    )
    return replace(item, operands=(*item.operands[:first], *sources))


def _fresh_names(function: Function, several: set[str]) -> dict[int, tuple[Instruction, str]]:
    """Return the writes that get a separate register, with its name, by the identity of the instruction."""
    found: dict[int, tuple[Instruction, str]] = {}
    for item in function.instructions:
        target = item.operands[0] if item.operands else None
        if isinstance(target, Register) and target.name in defined(item) & several:
            kind = function.registers.get(target.name, "")
            may_be = kind == "pred" or (kind[:1] in ("b", "u", "s") and TYPES[kind] in (32, 64))
            is_pure = item.guard is None and item.opcode in PURE and "cc" not in item.modifiers
            if may_be and is_pure:
                found[id(item)] = (item, f"{target.name}${len(found)}")
    return found


class _Reaching:
    """Reaching definitions: which writes of some registers may be the last ones before a place.

    A state is a set of writes, the bits of one integer. Each register also has a bit that is set while it may be
    unwritten.
    """

    def __init__(self, flow: ControlFlow, names: set[str]) -> None:
        #: The instruction behind each bit; None for a register that is not written yet.
        self._writes: list[Instruction | None] = []
        self._of = {name: self._bit(None) for name in sorted(names)}
        start = (1 << len(self._of)) - 1
        #: The bits that an instruction removes from a state, and those that it adds.
        self._steps: dict[int, tuple[int, int]] = {}
        writing = [(item, defined(item) & names) for block in flow.blocks for item in block.instructions]
        added = {id(item): {name: self._bit(item) for name in written} for item, written in writing if written}
        for bits in added.values():
            for name, bit in bits.items():
                self._of[name] |= bit
        for item, written in writing:
            if written:
                removed = 0 if item.guard is not None else sum(self._of[name] for name in written)
                self._steps[id(item)] = removed, sum(added[id(item)].values())
        #: The state at the start of each block; 0 where no path from the entry leads.
        self._starts = [0] * len(flow.blocks)
        self._starts[0] = start
        pending = {0: None}
        while pending:
            index = next(iter(pending))
            del pending[index]
            state = self._starts[index]
            for item in flow.blocks[index].instructions:
                state = self.step(state, item)
            for following in flow.blocks[index].successors:
                if state & ~self._starts[following]:
                    self._starts[following] |= state
                    pending[following] = None

    def _bit(self, item: Instruction | None) -> int:
        self._writes.append(item)
        return 1 << (len(self._writes) - 1)

    def at_start(self, block: BasicBlock) -> int:
        """Return the state at the start of a block."""
        return self._starts[block.index]

    def step(self, state: int, item: Instruction) -> int:
        """Return the state after an instruction."""
        removed, added = self._steps.get(id(item), (0, 0))
        return state & ~removed | added

    def writes(self, state: int, name: str) -> list[Instruction | None]:
        """Return the writes of a register in a state; None stands for no write."""
        return [self._writes[number] for number in members(state & self._of.get(name, 0))]


def _instruction(
    item: Instruction, names: dict[str, str], fresh: tuple[Instruction, str] | None, registers: dict[str, str]
) -> list[Instruction]:
    """Return the replacement of an instruction that reads registers by other names and whose result may have a fresh
    one.
    """
    item = with_other_sources(item, names)
    if fresh is None:
        return [item]
    target, result = item.operands[0], Register(fresh[1])
    copy = Instruction("mov", (registers[result.name],), (target, result), None, item.line, item.source)
    return [replace(item, operands=(result, *item.operands[1:])), copy]


def with_other_sources(item: Instruction, names: Mapping[str, str]) -> Instruction:
    """Return an instruction that reads registers by other names; its vectors keep theirs."""
    written = defined(item)
    operands = tuple(
        operand if index == 0 and written else _read(operand, names) for index, operand in enumerate(item.operands)
    )
    guard = item.guard
    if guard is not None and guard.register.name in names:
        guard = Guard(Register(names[guard.register.name]), guard.negated)
    if operands != item.operands or guard != item.guard:
        return replace(item, operands=operands, guard=guard)
    return item


def _read(operand: Operand, names: Mapping[str, str]) -> Operand:
    """Return an operand with its registers renamed; vectors, which address code does not use, stay as they are."""
    if isinstance(operand, Register):
        return Register(names.get(operand.name, operand.name))
    if isinstance(operand, Negated):
        return Negated(Register(names.get(operand.register.name, operand.register.name)))
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        return replace(operand, base=Register(names.get(operand.base.name, operand.base.name)))
    return operand
