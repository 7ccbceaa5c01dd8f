"""The statements of random PTX programs, each with its PTX lines and a reference that changes numpy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from warploom.engine.types import Array

#: Rounds after which a loop gets a limit.
_ROUNDS = 6


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


#: Registers with the same value in all threads of a thread block, and registers that differ.
COMMON = ("%p", "%q", "%ntid.x", "%ctaid.x")


OWN = ("%t", "%x", "%tid.x", "%laneid")


#: The name of a thread's own word of shared memory among its registers.
OWN_WORD = "own"


@dataclass
class Launch:
    """The number of threads and the parameters of a launch."""

    blocks: int
    threads: int
    p: int
    q: int

    @property
    def size(self) -> int:
        """The number of all threads."""
        return self.blocks * self.threads

    @property
    def x(self) -> Array:
        """The array that every kernel reads."""
        return ((np.arange(self.size) * 37 + 11) % 23 - 7).astype(np.int32)


@dataclass
class State:
    """The registers of one thread block's threads; predicates are booleans."""

    launch: Launch
    registers: dict[str, Array]

    def read(self, operand: str) -> Array:
        """Return a register's values, or a number repeated for all threads."""
        if operand in self.registers:
            return self.registers[operand]
        return np.full(self.launch.threads, signed(int(operand, 0)), np.int64)

    def write(self, name: str, value: Array, mask: Array) -> None:
        """Assign a 32-bit value to the threads of a mask."""
        before = self.registers.get(name, np.zeros_like(value))
        self.registers[name] = np.where(mask, value if value.dtype == bool else wrapped(value), before)


def signed(value: int) -> int:
    """Return a number as a signed 32-bit integer."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def wrapped(value: Array) -> Array:
    """Return 64-bit values wrapped to signed 32-bit integers."""
    return value.astype(np.int32).astype(np.int64)


class Statement(Protocol):
    """A part of a program: `lines` returns its PTX, and `run` is the reference."""

    def lines(self) -> list[str]: ...

    def run(self, state: State, mask: Array) -> None: ...


OPERATIONS: dict[str, Callable[..., Array]] = {
    "add.s32": np.add,
    "add.u32": np.add,
    "sub.s32": np.subtract,
    "sub.u32": np.subtract,
    "mul.lo.s32": np.multiply,
    "min.s32": np.minimum,
    "max.s32": np.maximum,
    "and.b32": np.bitwise_and,
    "or.b32": np.bitwise_or,
    "xor.b32": np.bitwise_xor,
    "mad.lo.s32": lambda a, b, c: a * b + c,
    "shl.b32": lambda a, b: np.where((b & 0xFFFFFFFF) > 31, 0, a << (b & 31)),
    "shr.s32": lambda a, b: a >> np.minimum(b & 0xFFFFFFFF, 31),
    "neg.s32": np.negative,
    "not.b32": np.invert,
    "mov.b32": lambda a: a,
}


SUMS = ("add.s32", "add.u32", "sub.s32", "sub.u32", "sub.s32")


OPERANDS = {"mad.lo.s32": 3, "neg.s32": 1, "not.b32": 1, "mov.b32": 1}


@dataclass
class Compute:
    """One instruction with or without a guard."""

    opcode: str
    target: str
    sources: list[str]
    guard: str = ""

    def lines(self) -> list[str]:
        return [f"{self.guard}{self.opcode} {self.target}, {', '.join(self.sources)};"]

    def run(self, state: State, mask: Array) -> None:
        value = OPERATIONS[self.opcode](*(state.read(item) for item in self.sources))
        state.write(self.target, value, mask & guarded(state, self.guard))


def guarded(state: State, guard: str) -> Array:
    """Return which threads satisfy a guard."""
    if not guard:
        return np.ones(state.launch.threads, bool)
    name = guard.strip("@! ")
    return state.registers[name] != guard.startswith("@!")


@dataclass
class Halves:
    """Unpack a register into a vector, and pack it again with its halves exchanged."""

    target: str
    source: str
    parts: tuple[str, str]

    def lines(self) -> list[str]:
        low, high = self.parts
        return [f"mov.b32 {{{low}, {high}}}, {self.source};", f"mov.b32 {self.target}, {{{high}, {low}}};"]

    def run(self, state: State, mask: Array) -> None:
        value = state.read(self.source) & 0xFFFFFFFF
        state.write(self.target, value >> 16 | (value & 0xFFFF) << 16, mask)


#: What an access of a thread's own word leaves in it, of what was there and one or two operands, as unsigned numbers.
ACCESSES: dict[str, Callable[..., Array]] = {
    "ld.shared.b32": lambda old: old,
    "ld.volatile.shared.u32": lambda old: old,
    "st.shared.b32": lambda old, a: a,
    "st.volatile.shared.u32": lambda old, a: a,
    "red.shared.add.u32": np.add,
    "atom.shared.add.u32": np.add,
    "atom.shared.exch.b32": lambda old, a: a,
    "atom.shared.and.b32": np.bitwise_and,
    "atom.shared.or.b32": np.bitwise_or,
    "atom.shared.xor.b32": np.bitwise_xor,
    "atom.shared.min.u32": np.minimum,
    "atom.shared.max.u32": np.maximum,
    "atom.shared.min.s32": lambda old, a: np.minimum(wrapped(old), wrapped(a)),
    "atom.shared.max.s32": lambda old, a: np.maximum(wrapped(old), wrapped(a)),
    "atom.shared.inc.u32": lambda old, a: np.where(old >= a, 0, old + 1),
    "atom.shared.dec.u32": lambda old, a: np.where((old == 0) | (old > a), a, old - 1),
    "atom.shared.cas.b32": lambda old, a, b: np.where(old == a, b, old),
}


@dataclass
class Access:
    """An access of the thread's own word of shared memory; all but `st` and `red` return what was there."""

    opcode: str
    name: str
    target: str
    sources: list[str]

    @property
    def returns(self) -> bool:
        return self.opcode[:2] not in ("st", "re")

    def lines(self) -> list[str]:
        n = self.name
        place = [f"mov.b32 %d{n}, own;", f"mad.lo.s32 %e{n}, %tid.x, 4, %d{n};"]
        operands = ", ".join([*([self.target] if self.returns else []), f"[%e{n}]", *self.sources])
        return [*place, f"{self.opcode} {operands};"]

    def run(self, state: State, mask: Array) -> None:
        old = state.read(OWN_WORD)
        new = ACCESSES[self.opcode](*(each & 0xFFFFFFFF for each in (old, *map(state.read, self.sources))))
        state.write(OWN_WORD, new, mask)
        if self.returns:
            state.write(self.target, old, mask)


#: Arithmetic of f16 numbers of small exponents, which is exact in f64. A minimum or maximum has -0 below 0.
_HALVES: dict[str, Callable[..., Array]] = {
    "add.rn.f16": np.add,
    "sub.rn.f16": np.subtract,
    "mul.rn.f16": np.multiply,
    "fma.rn.f16": lambda a, b: a * b + a,
    "min.f16": lambda a, b: np.where((a < b) | (a == b) & np.signbit(a), a, b),
    "max.f16": lambda a, b: np.where((a > b) | (a == b) & np.signbit(b), a, b),
}
HALVES = tuple(_HALVES)


@dataclass
class HalfNumbers:
    """Arithmetic of a register's two halves as f16, and a comparison of the result with one of them."""

    opcode: str
    name: str
    target: str
    source: str

    def lines(self) -> list[str]:
        low, high, made, word = (f"%o{self.name}{end}" for end in "abcd")
        more = f", {low}" if self.opcode.startswith("fma") else ""
        return [
            f"and.b32 %l{self.name}, {self.source}, 0xCFFFCFFF;",  # below 2^5: no infinity and no NaN
            f"mov.b32 {{{low}, {high}}}, %l{self.name};",
            f"{self.opcode} {made}, {low}, {high}{more};",
            f"setp.lt.f16 %n{self.name}, {made}, {low};",
            f"selp.b16 {word}, {made}, {high}, %n{self.name};",
            f"mov.b32 {self.target}, {{{made}, {word}}};",
        ]

    def run(self, state: State, mask: Array) -> None:
        bits = (state.read(self.source) & 0xCFFFCFFF).astype(np.uint32).view(np.uint16).reshape(-1, 2)
        low, high = (half.view(np.float16).astype(np.float64) for half in np.ascontiguousarray(bits.T))
        made = _HALVES[self.opcode](low, high).astype(np.float16)
        word = np.where(made < low, made, high.astype(np.float16))
        found = np.stack([made, word], -1).view(np.uint32).reshape(-1)
        state.write(self.target, found.astype(np.int64), mask)


@dataclass
class Compare:
    """A `setp` with one or two results, and optionally with a predicate to combine with."""

    order: str
    kind: str
    target: str
    left: str
    right: str
    other: str = ""
    combined: str = ""

    def lines(self) -> list[str]:
        targets = self.target + (f"|{self.other}" if self.other else "")
        join, end = (".and", f", {self.combined}") if self.combined else ("", "")
        return [f"setp.{self.order}{join}.{self.kind} {targets}, {self.left}, {self.right}{end};"]

    def run(self, state: State, mask: Array) -> None:
        left, right = state.read(self.left), state.read(self.right)
        if self.kind == "u32":
            left, right = left & 0xFFFFFFFF, right & 0xFFFFFFFF
        found = _COMPARISONS[_UNSIGNED.get(self.order, self.order)](left, right)
        also = guarded(state, "@" + self.combined) if self.combined else np.ones_like(found)
        state.write(self.target, found & also, mask)
        if self.other:
            state.write(self.other, ~found & also, mask)


@dataclass
class Load:
    """Add an element of `x` to a register if its index is within bounds, by a guard or a branch."""

    target: str
    index: str
    name: str
    tests: list[Compare]
    branches: bool
    offset: int

    def lines(self) -> list[str]:
        n = self.name
        done = [line for test in self.tests for line in test.lines()]
        if len(self.tests) > 1:
            done.append(f"and.pred %i{n}, {self.tests[0].target}, {self.tests[1].target};")
        inside = f"%i{n}" if len(self.tests) > 1 else self.tests[0].target
        address = [f"mul.wide.s32 %a{n}, {self.index}, 4;", f"add.s64 %b{n}, %a{n}, {-4 * self.offset};"]
        address += [f"add.s64 %c{n}, %buffer, %b{n};"]
        load = f"ld.global.b32 %l{n}, [%c{n}+{4 * self.offset}];"
        if self.branches:
            step = f"add.s32 {self.target}, {self.target}, %l{n};"
            return [*done, f"@!{inside} bra S{n};", *address, load, step, f"S{n}:"]
        step = f"@{inside} add.s32 {self.target}, {self.target}, %l{n};"
        return [*done, f"mov.b32 %l{n}, 0;", *address, f"@{inside} {load}", step]

    def run(self, state: State, mask: Array) -> None:
        for test in self.tests:
            test.run(state, mask)
        inside = mask.copy()
        for test in self.tests:
            inside &= state.registers[test.target]
        at = state.read(self.index)
        assert ((at[inside] >= 0) & (at[inside] < state.launch.size)).all()
        value = state.launch.x[np.clip(at, 0, state.launch.size - 1)]
        state.write(self.target, state.read(self.target) + value, inside)


@dataclass
class Together:
    """A barrier, an exchange or a sum through shared memory, or a shuffle; removed if not all threads reach it."""

    kind: str
    name: str
    target: str
    source: str
    is_legal: bool = True

    def lines(self) -> list[str]:
        n = self.name
        if not self.is_legal:
            return []
        if self.kind == "shuffle":
            return [f"shfl.sync.bfly.b32 %l{n}, {self.source}, 1, 31, -1;", f"xor.b32 {self.target}, %l{n}, 5;"]
        if self.kind == "exchange":
            return [
                f"mov.b32 %d{n}, tile;",
                f"mad.lo.s32 %e{n}, %tid.x, 4, %d{n};",
                f"st.shared.b32 [%e{n}], {self.source};",
                "bar.sync 0;",
                f"xor.b32 %f{n}, %tid.x, 1;",
                f"shl.b32 %g{n}, %f{n}, 2;",
                f"add.s32 %h{n}, %d{n}, %g{n};",
                f"ld.shared.b32 {self.target}, [%h{n}];",
                "bar.sync 0;",
            ]
        if self.kind == "reduction":
            return [f"bar.red.popc.u32 {self.target}, 0, !{self.source};"]
        if self.kind == "sum":
            return [
                "bar.sync 0;",
                f"setp.eq.u32 %n{n}, %tid.x, 0;",
                f"@%n{n} st.shared.b32 [common], 0;",
                "bar.sync 0;",
                f"atom.shared.add.u32 %l{n}, [common], {self.source};",
                "bar.sync 0;",
                f"ld.shared.b32 {self.target}, [common];",
            ]
        return ["bar.sync 0;"]

    def run(self, state: State, mask: Array) -> None:
        if not mask.all():
            self.is_legal = False
        if not self.is_legal or self.kind == "barrier":
            return
        if self.kind == "reduction":
            count = np.count_nonzero(~state.registers[self.source])
            state.write(self.target, np.full(len(mask), count, np.int64), mask)
            return
        if self.kind == "sum":
            state.write(self.target, np.full(len(mask), state.read(self.source).sum()), mask)
            return
        value = state.read(self.source)[np.arange(len(mask)) ^ 1]
        state.write(self.target, value ^ 5 if self.kind == "shuffle" else value, mask)


@dataclass
class Branch:
    """An `if` around statements."""

    name: str
    test: Compare
    negated: bool
    body: list[Statement]

    def lines(self) -> list[str]:
        inner = [line for item in self.body for line in item.lines()]
        skip = f"@{'' if self.negated else '!'}{self.test.target} bra B{self.name};"
        return [*self.test.lines(), skip, *inner, f"B{self.name}:"]

    def run(self, state: State, mask: Array) -> None:
        self.test.run(state, mask)
        taken = mask & (state.registers[self.test.target] != self.negated)
        for item in self.body if taken.any() else ():
            item.run(state, taken)


@dataclass
class Loop:
    """A loop that tests first or last; `limit` is its maximum number of rounds, or 0 for no limit."""

    name: str
    start: Compute
    step: Compute
    test: Compare
    leaves_when: bool
    tests_first: bool
    body: list[Statement]
    limit: int = 0

    def lines(self) -> list[str]:
        n = self.name
        inner = [line for item in self.body for line in item.lines()]
        leave = [*self.test.lines(), f"@{'' if self.leaves_when else '!'}{self.test.target} bra E{n};"]
        count = (
            [f"add.s32 %k{n}, %k{n}, 1;", f"setp.ge.s32 %m{n}, %k{n}, {self.limit};", f"@%m{n} bra E{n};"]
            if self.limit
            else []
        )
        again = f"bra L{n};"
        if not self.tests_first:
            leave[-1:] = []
            again = f"@{'!' if self.leaves_when else ''}{self.test.target} bra L{n};"
        first, last = (leave, []) if self.tests_first else ([], leave)
        begin = [*self.start.lines(), f"mov.u32 %k{n}, 0;"]
        return [*begin, f"L{n}:", *first, *inner, *self.step.lines(), *count, *last, again, f"E{n}:"]

    def run(self, state: State, mask: Array) -> None:
        self.start.run(state, mask)
        rounds = 0
        while mask.any():
            if self.tests_first:
                mask = self._on(state, mask)
                if not mask.any():
                    break
            for item in self.body:
                item.run(state, mask)
            self.step.run(state, mask)
            rounds += 1
            if not self.limit and rounds > _ROUNDS:
                self.limit = _ROUNDS
            if self.limit and rounds >= self.limit:
                break
            if not self.tests_first:
                mask = self._on(state, mask)

    def _on(self, state: State, mask: Array) -> Array:
        self.test.run(state, mask)
        return mask & (state.registers[self.test.target] != self.leaves_when)


@dataclass
class Both:
    """Two statements in sequence."""

    first: Statement
    second: Statement

    def lines(self) -> list[str]:
        second = self.second.lines()
        return [*self.first.lines(), *second] if second else []

    def run(self, state: State, mask: Array) -> None:
        self.first.run(state, mask)
        self.second.run(state, mask)
