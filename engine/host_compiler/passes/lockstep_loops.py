"""Lockstep loops: loops that the threads of a thread block go round together.

A GPU runs an iteration of a loop for all threads of a warp at once. If one thread ran all its iterations before the
next thread started, memory would be read in long strides and nothing would be vectorised. So a loop that all threads
leave at the same time, or nearly, gets suspension points at its header and its exits. The pieces between them are free
of loops.

That pays when the threads stay together. It does not for loops whose end depends on data, or that few threads enter.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import (
    BasicBlock,
    ControlFlow,
    Loop,
    between,
    control_flow,
    defined,
    loops,
    predecessors,
    writes,
)
from warploom.engine.host_compiler.analysis.reachability import Reachability
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.analysis.uniformity import Uniform, uniformity
from warploom.engine.host_compiler.opcodes.reductions import is_rarely_reduced
from warploom.engine.ptx.tree import Function, Instruction, Operand, Register, Statement

Predicate = Callable[[Instruction], bool]

_RANGES = frozenset(("lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"))


def with_lockstep_loops(kernel: Function, is_simple: Predicate) -> Function:
    """Return the kernel with a `wl.lockstep` at the headers and exits of its lockstep loops.

    `is_simple` is true for instructions that may run for many threads at once.
    """
    flow = control_flow(kernel, is_suspension_point)
    chosen = {_key(flow, loop) for loop in _loops(flow) if _may_run_in_lockstep(flow, loop, is_simple)}
    while chosen:
        marked = _marked(kernel, flow, chosen)
        kept = _Choice(marked, is_simple).kept(chosen)
        if kept == chosen:
            return marked
        chosen = kept
    return kernel


def has_atomics_in_loops(kernel: Function) -> bool:
    """Whether lockstep loops decide the order of a kernel's atomics, and so the bits of a sum of floats."""
    has_atomics = any(item.opcode in ("atom", "red") for item in kernel.instructions)
    return has_atomics and bool(loops(control_flow(kernel)))


def _loops(flow: ControlFlow) -> list[Loop]:
    """Return the loops that have one entry, wherever compilers put their blocks: each threads enter at its header.

    A loop of an odd number of turns that a compiler has unrolled may begin in the middle of its text, and what comes
    first in a turn may be written last.
    """
    before = predecessors(flow.blocks)
    dominators = Reachability(before).postdominators(0)
    return [
        Loop(header, block.index, between(before, header, block.index))
        for block in flow.blocks
        for header in block.successors
        if block.instructions and dominators.get(block.index, 0) >> header & 1
    ]


_Key = tuple[int, int]


def _key(flow: ControlFlow, loop: Loop) -> _Key:
    """Return the identity of a loop for inserting points: its header's first instruction, and its latch's last."""
    return id(_first(flow, loop.header)), id(flow.blocks[loop.latch].instructions[-1])


def _first(flow: ControlFlow, index: int) -> Instruction | None:
    """Return the first instruction of a block, or of those after it, that is not a lockstep point."""
    while index < len(flow.blocks):
        for item in flow.blocks[index].instructions:
            if not _is_lockstep_point(item):
                return item
        index += 1
    return None


def _is_lockstep_point(instruction: Instruction) -> bool:
    return instruction.opcode == "wl" and instruction.modifiers == ("lockstep",)


def _may_run_in_lockstep(flow: ControlFlow, loop: Loop, is_simple: Predicate) -> bool:
    body = [item for index in loop.blocks for item in flow.blocks[index].instructions]
    return bool(flow.blocks[loop.header].instructions) and all(
        is_simple(item) or is_suspension_point(item) or item.opcode in ("atom", "red") for item in body
    )


def _marked(kernel: Function, flow: ControlFlow, chosen: set[_Key]) -> Function:
    """Return the kernel with lockstep points at the headers and exits of the chosen loops."""
    assert kernel.body is not None
    places: dict[int, Instruction] = {}
    for loop in _loops(flow):
        if _key(flow, loop) in chosen:
            for index in (loop.header, *(target for _, target in loop.exits(flow))):
                first = _first(flow, index)
                if first is not None and not is_suspension_point(first):
                    places[id(first)] = first
    body: list[Statement] = []
    for item in kernel.body:
        before = places.get(id(item))
        if before is not None:
            body.append(Instruction("wl", ("lockstep",), (), None, before.line, before.source))
        body.append(item)
    return replace(kernel, body=tuple(body))


@dataclass(frozen=True)
class _Exit:
    """How threads leave a loop: all at once, one stride apart, or each by its own data."""

    is_regular: bool
    is_strided: bool = False


class _Choice:
    """Judges the loops of a kernel that has its lockstep points already."""

    def __init__(self, kernel: Function, is_simple: Predicate) -> None:
        self._kernel = kernel
        self._is_simple = is_simple
        self._flow = control_flow(kernel, is_suspension_point)
        self._loops = _loops(self._flow)
        self._kinds = uniformity(kernel)
        self._writes = writes(kernel)

    def kept(self, chosen: set[_Key]) -> set[_Key]:
        """Return the chosen loops that threads go round together and whose inner loops are lockstep loops or wait."""
        known = {_key(self._flow, loop): loop for loop in self._loops}
        scattered = self._scattered()
        good = {key for key in chosen if key in known and self._is_regular(known[key], scattered)}
        return {key for key in good if self._is_open(known[key], good)}

    def _is_open(self, loop: Loop, good: set[_Key]) -> bool:
        """Whether every loop inside a loop is a lockstep loop too, or waits."""
        return all(
            inner.blocks == loop.blocks
            or not inner.blocks < loop.blocks
            or _key(self._flow, inner) in good
            or any(self._flow.blocks[index].suspends for index in inner.blocks)
            for inner in self._loops
        )

    def _is_regular(self, loop: Loop, scattered: Callable[[Loop], bool]) -> bool:
        exits = [self._exit(loop, self._flow.blocks[source]) for source, _ in loop.exits(self._flow)]
        body = [item for index in loop.blocks for item in self._flow.blocks[index].instructions]
        has_atomics = not is_rarely_reduced(body) or not all(
            self._is_simple(item) or is_suspension_point(item) for item in body
        )
        return (
            bool(exits)
            and all(item.is_regular for item in exits)
            and (not has_atomics or any(item.is_strided for item in exits))
            and not scattered(loop)
        )

    def _scattered(self) -> Callable[[Loop], bool]:
        """Return the test for loops that only scattered threads of a thread block enter."""
        back = {(loop.latch, loop.header) for loop in self._loops}
        end = len(self._flow.blocks)
        following: list[list[int]] = []
        for block in self._flow.blocks:
            onward = [item for item in block.successors if (block.index, item) not in back]
            last = block.instructions[-1] if block.instructions else None
            leaves = last is not None and last.opcode in ("ret", "exit", "trap")
            following.append([*onward, end] if leaves or not onward else onward)
        reachability = Reachability([*following, []])
        apart = {
            block.index: reachability.divergent(block.index, end)
            for block in self._flow.blocks
            if len(following[block.index]) > 1 and not self._is_range(block.instructions[-1])
        }

        def test(loop: Loop) -> bool:
            return any(source not in loop.blocks and blocks >> loop.header & 1 for source, blocks in apart.items())

        return test

    def _is_range(self, branch: Instruction) -> bool:
        """Whether a branch goes the same way in all threads, or in a row of neighbours."""
        return branch.guard is not None and self._holds(branch.guard.register.name, self._compares_range)

    def _compares_range(self, setter: Instruction) -> bool:
        kinds = [self._kind(item) for item in setter.operands[1:]]
        return None not in kinds and (Uniform() in kinds) and bool(_RANGES & set(setter.modifiers))

    def _exit(self, loop: Loop, block: BasicBlock) -> _Exit:
        branch = block.instructions[-1]
        if branch.guard is None:
            return _Exit(is_regular=False)
        name = branch.guard.register.name
        if self._is_uniform(name):
            return _Exit(is_regular=True)
        strided = self._holds(name, lambda setter: self._compares_stride(setter, loop))
        return _Exit(strided, strided)

    def _holds(self, predicate: str, test: Predicate) -> bool:
        """Whether every varying comparison from which a predicate is computed passes a test."""
        if self._is_uniform(predicate):
            return True
        written = self._writes.get(predicate, [])
        for item in written:
            if item.opcode in ("and", "or", "not", "mov"):
                names = [operand.name for operand in item.operands[1:] if isinstance(operand, Register)]
                if predicate in names or not all(self._holds(name, test) for name in names):
                    return False
            elif item.opcode != "setp" or len(item.operands) != 3 or not test(item):
                return False
        return bool(written)

    def _is_uniform(self, name: str) -> bool:
        return self._kinds.get(name) == Uniform()

    def _kind(self, operand: Operand) -> Uniform | None:
        if isinstance(operand, Register):
            return self._kinds.get(operand.name)
        return Uniform()

    def _compares_stride(self, setter: Instruction, loop: Loop) -> bool:
        """Whether a comparison is between a uniform number and an index that takes uniform steps in the loop."""
        kinds = [self._kind(item) for item in setter.operands[1:]]
        bases = [kind for kind in kinds if kind is not None and kind.base]
        if len(bases) != 1 or Uniform() not in kinds:
            return False
        return any(
            item.opcode in ("add", "sub")
            and any(self._kinds.get(name) == bases[0] for name in defined(item))
            and any(self._kind(operand) == Uniform() for operand in item.operands[1:])
            for index in loop.blocks
            for item in self._flow.blocks[index].instructions
        )
