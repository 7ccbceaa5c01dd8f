"""Small thread blocks: a version of a kernel in which branches are decided that go one way in all small thread blocks.

A tile is loaded by `for (i = t; i < 1024; i += 256)`. A compiler that unrolls this loop by four computes how many turns
come first, from `max(t, 768) - t`. Each thread has its own number, so the loop seems to be one that threads leave at
different times. But in a thread block of up to 256 threads the number is the same for all of them, and a constant.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import control_flow, defined, used, writes
from warploom.engine.ptx.tree import Function, Instruction, Integer, Operand, Register, Statement

#: The least and the greatest value of a register: of a predicate 0 and 1, of another register as a signed number.
_Interval = tuple[int, int]
_END = 1 << 31
#: How many threads along x the greatest thread block has, by CUDA's limits; versions are for whole warps.
_MOST, _WARP = 1024, 32
#: How many sizes are tried, and how often an interval may grow: that of a loop's index would grow in each turn.
_MOST_SIZES, _MOST_CHANGES = 4, 8
_MIRRORED = {"gt": "lt", "ge": "le", "hi": "lo", "hs": "ls"}


def for_small_thread_blocks(kernel: Function) -> tuple[Function, int] | None:
    """Return a version of a kernel for thread blocks of up to a number of threads along x, and that number.

    It is the number, of those to try, for which the most branches that depend on a minimum or maximum leave out a
    block; None when there is no such branch.
    """
    sizes = _sizes_to_try(kernel)
    always = _Intervals(kernel, _MOST).decided.keys() if sizes else ()
    most, found = 0, None
    for size in sizes:
        intervals = _Intervals(kernel, size)
        new = [index for index in intervals.decided if index not in always and intervals.spares_block(index)]
        count = sum(_follows_from_clamp(kernel, intervals.branch(index)) for index in new)
        if count > most:
            most, found = count, (intervals.version(), size)
    return found


def _sizes_to_try(kernel: Function) -> list[int]:
    """Return the sizes of thread blocks for which a kernel might gain, the largest first; most kernels have none.

    These are the steps of its indices, if it has minima or maxima with constants, from which turns are counted.
    """
    if not any(_is_clamp(item) for item in kernel.instructions):
        return []
    sums = (item.operands for item in kernel.instructions if item.opcode == "add" and item.modifiers == ("s32",))
    steps = {operand.value for operands in sums for operand in operands if isinstance(operand, Integer)}
    return sorted(steps.intersection(range(_WARP, _MOST, _WARP)), reverse=True)[:_MOST_SIZES]


def _is_clamp(item: Instruction) -> bool:
    if item.opcode not in ("min", "max") or item.modifiers not in (("s32",), ("u32",)):
        return False
    return any(isinstance(operand, Integer) for operand in item.operands)


def _follows_from_clamp(kernel: Function, branch: Instruction) -> bool:
    """Whether the predicate of a branch is computed from a minimum or maximum with a constant."""
    written, pending, seen = writes(kernel), used(branch), set[str]()
    while pending:
        name = pending.pop()
        seen.add(name)
        for item in written.get(name, ()):
            if _is_clamp(item):
                return True
            pending |= used(item) - seen
    return False


class _Intervals:
    """The intervals of predicates and of registers of 32 bits in thread blocks of up to `size` threads along x.

    A register that is written several times has one interval at the start of each block, any other a single one. They
    cover the values that are written in the blocks that may run. Which blocks these are is found at the same time: a
    branch leads nowhere until its predicate has an interval.

    `decided` has, by block, whether the branch at the block's end is always taken or never.
    """

    def __init__(self, kernel: Function, size: int) -> None:
        self._kernel, self._flow = kernel, control_flow(kernel)
        self._several = {name for name, items in writes(kernel).items() if len(items) > 1}
        # Special registers, and registers that may be read before they are written.
        start = {name: self._any(name) for name in self._flow.live_in(0)}
        start |= {"%tid.x": (0, size - 1), "%tid.y": (0, _MOST - 1), "%tid.z": (0, 63)}
        self._starts, self._once, self._now = {0: start}, start.copy(), start
        self._changes: dict[tuple[int, str], int] = {}
        self.decided: dict[int, bool] = {}
        self._is_changed = True
        while self._is_changed:
            self._is_changed = False
            for index in sorted(self._starts):
                self._run(index)

    def branch(self, index: int) -> Instruction:
        """Return the branch that ends a block."""
        return self._flow.blocks[index].instructions[-1]

    def spares_block(self, index: int) -> bool:
        """Whether one of the two blocks after a block's branch never runs."""
        return not set(self._flow.blocks[index].successors) <= self._starts.keys()

    def version(self) -> Function:
        """Return the kernel without the blocks that never run and without the tests of decided branches."""
        blocks = self._flow.blocks
        places = iter(
            [(block.index, item is block.instructions[-1]) for block in blocks for item in block.instructions]
        )
        body: list[Statement] = []
        for item in self._kernel.body or ():
            if isinstance(item, Instruction):
                index, is_last = next(places)
                is_taken = self.decided.get(index) if is_last else None
                if index not in self._starts or is_taken is False:
                    continue
                item = replace(item, guard=None) if is_taken else item
            body.append(item)
        return replace(self._kernel, body=tuple(body))

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _run(self, index: int) -> None:
        """Compute the intervals that a block writes, and those with which the blocks after it start."""
        block, self._now = self._flow.blocks[index], dict(self._starts[index])
        for item in block.instructions:
            names = defined(item)
            value = self._value(item) if names else None
            if value is None:
                continue
            for name in names:
                result = value if len(names) == 1 else self._any(name)
                if name not in self._several:
                    self._widen(self._once, -1, name, result)
                elif item.guard is None or name not in self._now:
                    self._now[name] = result
                else:
                    self._now[name] = _hull(self._now[name], result)
        following = block.successors
        if block.instructions and (item := self.branch(index)).opcode == "bra" and item.guard is not None:
            low, high = self._operand(item.guard.register) or (1, 0)
            self.decided.pop(index, None)
            if low == high:
                self.decided[index] = is_taken = bool(low) != item.guard.negated
                following = following[:1] if is_taken else following[1:]
            following = following if low <= high else []
        for other in following:
            self._is_changed |= other not in self._starts
            start = self._starts.setdefault(other, {})
            for name in self._several & self._now.keys():
                self._widen(start, other, name, self._now[name])

    def _widen(self, known: dict[str, _Interval], place: int, name: str, value: _Interval) -> None:
        """Extend a register's interval at a place to cover another."""
        now = _hull(known.get(name, value), value)
        if now != known.get(name):
            self._changes[place, name] = count = self._changes.get((place, name), 0) + 1
            known[name] = now if count <= _MOST_CHANGES else self._any(name)
            self._is_changed = True

    def _any(self, name: str) -> _Interval:
        return (0, 1) if self._kernel.registers.get(name) == "pred" else (-_END, _END - 1)

    # -- instructions ----------------------------------------------------------------------------------------------

    def _value(self, item: Instruction) -> _Interval | None:
        """Return the interval of a result; None as long as one of an operand is not known yet."""
        anything = self._any(next(iter(defined(item))))
        kind = item.modifiers[-1] if item.modifiers else ""
        if kind not in ("s32", "u32", "b32", "pred"):
            return anything
        operands = [self._operand(operand) for operand in item.operands[1:]]
        values = [value for value in operands if value is not None]
        if len(values) < len(operands):
            return None
        if item.opcode == "setp":
            return _compared(item.modifiers, values) if len(item.modifiers) == len(values) == 2 else anything
        found = _computed(item.opcode, item.modifiers, values) if values else None
        return found if found is not None and anything[0] <= found[0] and found[1] <= anything[1] else anything

    def _operand(self, operand: Operand) -> _Interval | None:
        if isinstance(operand, Integer):
            value = (operand.value + _END) % (2 * _END) - _END
            return value, value
        if not isinstance(operand, Register):
            return -_END, _END - 1
        return self._now.get(operand.name, self._once.get(operand.name))


def _hull(a: _Interval, b: _Interval) -> _Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _compared(modifiers: Sequence[str], values: Sequence[_Interval]) -> _Interval:
    """Return the interval of a comparison's result."""
    order, kind = modifiers
    a, b = values
    if order in ("eq", "ne"):
        if a[1] < b[0] or b[1] < a[0] or a[0] == a[1] == b[0] == b[1]:
            holds = (a == b) == (order == "eq")
            return int(holds), int(holds)
        return 0, 1
    if order in _MIRRORED:
        a, b, order = b, a, _MIRRORED[order]
    if (kind[0] == "u" or order in ("lo", "ls")) and min(a[0], b[0]) < 0:
        return 0, 1
    if order in ("lt", "lo"):
        return int(a[1] < b[0]), int(a[0] < b[1])
    return (int(a[1] <= b[0]), int(a[0] <= b[1])) if order in ("le", "ls") else (0, 1)


def _computed(opcode: str, modifiers: Sequence[str], values: Sequence[_Interval]) -> _Interval | None:
    """Return the interval of a result before it is cut off to 32 bits; None when it is not known."""
    (low, high), (first, last) = values[0], values[-1]
    is_signed = modifiers[-1][0] == "s"
    if modifiers[:-1] == ("lo",) and opcode in ("mul", "mad"):
        products = [a * b for a in values[0] for b in values[1]]
        low, high = min(products), max(products)
        return (low + first, high + last) if opcode == "mad" else (low, high)
    if len(modifiers) > 1:
        return None
    match opcode:
        case "mov":
            return low, high
        case "add":
            return low + first, high + last
        case "sub":
            return low - last, high - first
        case "min" | "max" if is_signed or min(low, first) >= 0:
            better = min if opcode == "min" else max
            return better(low, first), better(high, last)
        case "shl" if first == last and 0 <= first < 32:
            return low << first, high << first
        case "shr" if first == last and 0 <= first < 32 and (is_signed or low >= 0):
            return low >> first, high >> first
        case "and" if first == last >= 0:
            is_lowest = not first & (first + 1)
            return (low & first, high & first) if is_lowest and low & ~first == high & ~first else (0, first)
        case "and" if first == last:
            return (low & first, high & first) if not -first & (-first - 1) else None
    return None
