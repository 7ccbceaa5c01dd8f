"""Uniformity: registers that all threads of a thread block have in common while they go from point to point together.

A register is *uniform* when all threads hold the same value in it: it is computed from values that are the same for
all, in blocks that none of the threads skips. It *drifts* from a base when each thread starts it at a different value,
which is cheap to compute again, and all change it by the same amounts: `base + something uniform`. The index of a loop
over a grid drifts, and so does a pointer that a loop over tiles advances.

Threads that diverge at a point, or leave a loop at different times, are no longer together. The scheduler then compares
their spilled values before it runs several of them as one.
"""

from dataclasses import dataclass

from warploom.engine.host_compiler.analysis.control_flow import (
    ControlFlow,
    control_flow,
    defined,
    fact,
    registers,
    used,
)
from warploom.engine.host_compiler.analysis.reachability import Reachability, members
from warploom.engine.host_compiler.analysis.rematerialise import reads_parameter, rematerialisable
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Address, Function, Instruction, Integer, Operand, Register, Symbol

#: Opcodes that do nothing but compute registers from registers.
PURE = frozenset(
    (
        *("mov", "cvta", "cvt", "add", "sub", "mul", "mad", "fma", "mul24", "mad24", "sad", "neg", "abs", "div", "rem"),
        *("min", "max", "shl", "shr", "shf", "and", "or", "xor", "not", "cnot", "lop3", "bfe", "bfi", "bfind", "bmsk"),
        *("brev", "clz", "popc", "prmt", "fns", "set", "setp", "selp", "slct", "testp", "copysign", "rcp", "sqrt"),
        *("rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "dp2a", "dp4a", "szext"),
    )
)
#: Prefixes of the special registers that have one value for all threads of a thread block.
_COMMON = ("%ntid", "%ctaid", "%nctaid", "%gridid", "%nwarpid", "%dynamic_smem", "%total_smem", "%cluster", "%ncluster")


@dataclass(frozen=True)
class Uniform:
    """The common part of a register in all threads: its value, or its distance from the register `base`."""

    base: str = ""


_Kind = Uniform | None
VARYING: _Kind = None
_UNDECIDED = Uniform("?")


@fact
def uniformity(function: Function) -> dict[str, Uniform]:
    """Return each register that is uniform or drifts."""
    return _Analysis(function, control_flow(function, is_suspension_point)).kinds()


class _Analysis:
    def __init__(self, function: Function, flow: ControlFlow) -> None:
        self._function = function
        self._flow = flow
        self._rematerialisable = rematerialisable(function)
        self._writes: dict[str, list[tuple[int, Instruction]]] = {}
        for block in flow.blocks:
            for instruction in block.instructions:
                for name in defined(instruction):
                    self._writes.setdefault(name, []).append((block.index, instruction))
        self._reachability = Reachability([[] if block.suspends else block.successors for block in flow.blocks])
        self._kinds: dict[str, _Kind] = {}
        self._unshared = _blocks_that_keep_shared(flow, self._reachability)

    def kinds(self) -> dict[str, Uniform]:
        """Start with every register uniform, and drop those whose writes contradict it until all agree."""
        self._kinds = dict.fromkeys(self._writes, _UNDECIDED)
        changed = True
        while changed:
            changed = False
            parting = {
                block.index
                for block in self._flow.blocks
                if len(block.successors) > 1 and not self._is_uniform_branch(block.instructions[-1])
            }
            skipped = _skipped(self._flow, self._reachability, parting)
            for name, writes in self._writes.items():
                before = self._kinds[name]
                if before is VARYING:
                    continue
                now: _Kind = _UNDECIDED
                for index, instruction in writes:
                    kind = VARYING if index in skipped else self._kind(name, instruction, index)
                    now = kind if now == _UNDECIDED else now if kind in (now, _UNDECIDED) else VARYING
                if now != before:
                    self._kinds[name], changed = now, True
        return {name: kind for name, kind in self._kinds.items() if kind is not None and kind != _UNDECIDED}

    def _is_uniform_branch(self, instruction: Instruction) -> bool:
        return all(self._of(name) in (Uniform(), _UNDECIDED) for name in used(instruction))

    def _of(self, name: str) -> _Kind:
        if name in self._kinds:
            return self._kinds[name]
        if name.startswith("%") and name not in self._function.registers:
            return Uniform() if name.startswith(_COMMON) else VARYING
        return VARYING

    def _kind(self, name: str, instruction: Instruction, index: int) -> _Kind:
        """Return the uniform part of the value that one write in a block gives."""
        if instruction.guard is not None and self._of(instruction.guard.register.name) not in (Uniform(), _UNDECIDED):
            return VARYING
        kind = self._value(instruction)
        if index in self._unshared and reads_shared_variable(instruction):
            kind = Uniform()
        drifts = instruction.opcode == "mad" and kind not in (Uniform(), _UNDECIDED)
        if (kind is VARYING or drifts) and name in self._rematerialisable and self._function.registers[name] != "pred":
            return Uniform(name)
        return kind

    def _value(self, instruction: Instruction) -> _Kind:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        if opcode == "ld":
            if reads_parameter(self._function, instruction):
                return Uniform()
            address = self._operand(instruction.operands[1])
            return address if reads_constant(instruction) and address in (Uniform(), _UNDECIDED) else VARYING
        if opcode in ("bar", "barrier"):  # a reduction gives all threads at one barrier the same result
            barrier = {self._operand(operand) for operand in instruction.operands[1:-1]}
            return Uniform() if barrier <= {Uniform()} else _UNDECIDED if VARYING not in barrier else VARYING
        if opcode not in PURE or "cc" in modifiers:
            return VARYING
        if opcode == "cvta" and "local" in modifiers and "to" not in modifiers:
            return VARYING  # each thread has its own local memory
        kinds = [self._operand(operand) for operand in instruction.operands[1:]]
        if VARYING in kinds:
            return VARYING
        if _UNDECIDED in kinds:
            return _UNDECIDED
        drifting = [index for index, kind in enumerate(kinds) if kind != Uniform()]
        if not drifting:
            return Uniform()
        # `uniform - drifting` moves against its base, and a product by another step, so they have no distance from it.
        moves = {"sub": [0], "mad": [2]}.get(opcode, drifting)
        if len(drifting) > 1 or drifting != moves or not self._is_sum(instruction):
            return VARYING
        return kinds[drifting[0]]

    def _operand(self, operand: Operand) -> _Kind:
        """Return the uniform part of a source operand; numbers and symbols are the same for all threads."""
        if isinstance(operand, Register):
            return self._of(operand.name)
        kinds = {self._of(name) for name in registers(operand)}
        if not kinds <= {Uniform(), _UNDECIDED}:
            return VARYING
        return _UNDECIDED if _UNDECIDED in kinds else Uniform()

    def _is_sum(self, instruction: Instruction) -> bool:
        """Whether an instruction moves or adds whole registers, so that distances from a base stay."""
        *others, kind = instruction.modifiers
        return (
            (instruction.opcode in ("mov", "add", "sub") and not others)
            or (instruction.opcode == "mad" and others == ["lo"])
        ) and (
            kind in TYPES
            and kind[0] in "bsu"
            and all(self._has_size(item, TYPES[kind]) for item in instruction.operands)
        )

    def _has_size(self, operand: Operand, bits: int) -> bool:
        """Whether an operand is a whole register of a number of bits, or the same for all threads."""
        if isinstance(operand, Register):
            return TYPES.get(self._function.registers.get(operand.name, "")) == bits
        return isinstance(operand, Integer | Symbol)


def _blocks_that_keep_shared(flow: ControlFlow, reachability: Reachability) -> set[int]:
    """Return the blocks that run only in phases in which no thread writes to shared memory."""
    changing = sum(
        1 << block.index for block in flow.blocks if any(may_change_shared(item) for item in block.instructions)
    )
    starts = (0, *(block.index + 1 for block in flow.blocks if block.suspends and block.index + 1 < len(flow.blocks)))
    lost = 0
    for start in starts:
        run = reachability.reachable(start)
        lost |= run if run & changing else 0
    return {block.index for block in flow.blocks if not lost >> block.index & 1}


def may_change_shared(instruction: Instruction) -> bool:
    """Whether an instruction may write to shared memory; at a suspension point others may."""
    if instruction.opcode in PURE or instruction.opcode in ("ld", "bra", "ret", "exit"):
        return False
    if is_suspension_point(instruction):
        return False
    return instruction.opcode != "st" or "global" not in instruction.modifiers


def reads_shared_variable(instruction: Instruction) -> bool:
    """Whether an instruction loads 32 or 64 bits from a place in shared memory that is the same for all threads.

    All threads get the same value if none writes there between two points.
    """
    return (
        instruction.opcode == "ld"
        and instruction.modifiers in (("shared", "u32"), ("shared", "s32"), ("shared", "b32"), ("shared", "u64"))
        and isinstance(instruction.operands[1], Address)
        and isinstance(instruction.operands[1].base, Symbol)
    )


def reads_constant(instruction: Instruction) -> bool:
    """Whether an instruction loads a number from global memory that no thread writes to while the kernel runs."""
    return (
        instruction.opcode == "ld"
        and {"global", "nc"} <= {*instruction.modifiers}
        and instruction.modifiers[-1] in ("u32", "s32", "b32", "u64", "s64", "b64")
        and isinstance(instruction.operands[0], Register)
        and isinstance(instruction.operands[1], Address)
    )


def _skipped(flow: ControlFlow, reachability: Reachability, parting: set[int]) -> set[int]:
    """Return the blocks that some threads skip and others don't, of those that reach one point together.

    Threads diverge at the branches of the blocks `parting`. Only paths between points count: a thread that waits
    elsewhere is not together with the others.
    """
    found, points = 0, sum(1 << block.index for block in flow.blocks if block.suspends)
    for source in parting:
        reached = shared = 0
        for following in reachability.successors[source]:
            way = reachability.reachable(following)
            shared |= reached & way
            reached |= way
        for point in members(shared & points):
            found |= reachability.divergent(source, point)
    return set(members(found))
