"""Random PTX: loops whose starts, bounds and steps are numbers, what all threads know, or each thread's own.

A program works on 32-bit registers of each thread. Operands of every form stand in every place: numbers first and
second, special registers, negated predicates, vectors. The reference runs all threads of a thread block in step, in
numpy, with a mask of those that take part. It also finds out what a random program may not do: where it sees a barrier
that some threads skip, the barrier goes, and a loop of many rounds gets a limit.

Several programs are written into one kernel, one after the other, since most of the time goes to what a kernel needs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]
#: Rounds after which a loop gets a limit.
_ROUNDS = 6
_HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
#: What is the same for all threads of a thread block, and what is not.
_COMMON = ("%p", "%q", "%ntid.x", "%ctaid.x")
_OWN = ("%t", "%x", "%tid.x", "%laneid")


@dataclass
class Launch:
    """How many threads run, and with which parameters."""

    blocks: int
    threads: int
    p: int
    q: int

    @property
    def size(self) -> int:
        """All threads."""
        return self.blocks * self.threads

    @property
    def x(self) -> Array:
        """The array that every kernel reads."""
        return ((np.arange(self.size) * 37 + 11) % 23 - 7).astype(np.int32)


@dataclass
class State:
    """The registers of the threads of one thread block; predicates are booleans."""

    launch: Launch
    registers: dict[str, Array]

    def read(self, operand: str) -> Array:
        """Return a register's values, or a number as all threads see it."""
        if operand in self.registers:
            return self.registers[operand]
        return np.full(self.launch.threads, signed(int(operand, 0)), np.int64)

    def write(self, name: str, value: Array, mask: Array) -> None:
        """Give the threads of a mask a 32-bit value."""
        before = self.registers.get(name, np.zeros_like(value))
        self.registers[name] = np.where(mask, value if value.dtype == bool else wrapped(value), before)


def signed(value: int) -> int:
    """Return a number as 32 signed bits."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def wrapped(value: Array) -> Array:
    """Return 64-bit values cut to 32 signed bits."""
    return value.astype(np.int32).astype(np.int64)


class Statement(Protocol):
    """A part of a program: its text, and what it does."""

    def lines(self) -> list[str]: ...

    def run(self, state: State, mask: Array) -> None: ...


_OPERATIONS: dict[str, Callable[..., Array]] = {
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
_SUMS = ("add.s32", "add.u32", "sub.s32", "sub.u32", "sub.s32")
_OPERANDS = {"mad.lo.s32": 3, "neg.s32": 1, "not.b32": 1, "mov.b32": 1}


@dataclass
class Compute:
    """One instruction, with a guard or without."""

    opcode: str
    target: str
    sources: list[str]
    guard: str = ""

    def lines(self) -> list[str]:
        return [f"{self.guard}{self.opcode} {self.target}, {', '.join(self.sources)};"]

    def run(self, state: State, mask: Array) -> None:
        value = _OPERATIONS[self.opcode](*(state.read(item) for item in self.sources))
        state.write(self.target, value, mask & guarded(state, self.guard))


def guarded(state: State, guard: str) -> Array:
    """Return which threads a guard lets through."""
    if not guard:
        return np.ones(state.launch.threads, bool)
    name = guard.strip("@! ")
    return state.registers[name] != guard.startswith("@!")


@dataclass
class Halves:
    """Takes a register apart into a vector, and puts it together the other way round."""

    target: str
    source: str
    parts: tuple[str, str]

    def lines(self) -> list[str]:
        low, high = self.parts
        return [f"mov.b32 {{{low}, {high}}}, {self.source};", f"mov.b32 {self.target}, {{{high}, {low}}};"]

    def run(self, state: State, mask: Array) -> None:
        value = state.read(self.source) & 0xFFFFFFFF
        state.write(self.target, value >> 16 | (value & 0xFFFF) << 16, mask)


@dataclass
class Compare:
    """`setp`, with one result or two, and perhaps with a predicate to combine with."""

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
    """Loads `x` where an index is inside, with a guard or behind a branch; adds it to a register."""

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
    """A barrier, an exchange through shared memory, or a shuffle; nothing where not all threads come."""

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
        value = state.read(self.source)[np.arange(len(mask)) ^ 1]
        state.write(self.target, value ^ 5 if self.kind == "shuffle" else value, mask)


@dataclass
class Branch:
    """`if` around statements."""

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
    """A loop that tests first or last; `limit` is its most rounds, 0 for no limit."""

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
class Program:
    """A random program for one launch: `text` after `settle` is PTX, `run` what it computes."""

    seed: int
    name: str

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._count = 0
        self._indices: list[str] = []
        #: The register that a program adds up in, and others that it writes.
        self._sum = f"%s{self.name}"
        self._values = [self._sum, f"%u{self.name}"]
        start = [Compute("mov.b32", item, [self._random.choice((*_COMMON, *_OWN, "7"))]) for item in self._values]
        self._inner: list[Statement] = []
        body: list[Statement] = [self._loop(0)]
        if self._random.random() < 0.3:
            body += [self._together(), *self._statements(0)]
        self._body: list[Statement] = [*start, *self._inner, *body]

    def settle(self, launch: Launch) -> Array:
        """Make the program one that the launch may run; return what it computes."""
        for _ in range(20):
            before = self.lines()
            found = self._run(launch)
            if self.lines() == before:
                return found
        raise AssertionError("a program must settle")

    def lines(self) -> list[str]:
        """Return the program's instructions, at the end of which register `%z` with its name holds the result."""
        z, (first, *others) = f"%z{self.name}", (*self._values, *self._indices)
        total = [f"mov.b32 {z}, {first};", *(f"mad.lo.s32 {z}, {z}, 31, {item};" for item in others)]
        return [line for item in self._body for line in item.lines()] + total

    def _run(self, launch: Launch) -> Array:
        found = []
        for block in range(launch.blocks):
            thread = np.arange(launch.threads, dtype=np.int64)
            x = launch.x[block * launch.threads : (block + 1) * launch.threads].astype(np.int64)
            known = {"%tid.x": thread, "%laneid": thread & 31, "%t": block * launch.threads + thread, "%x": x}
            common = (launch.p, launch.q, launch.threads, block)
            known |= {name: np.full_like(thread, value) for name, value in zip(_COMMON, common, strict=True)}
            known |= {"%size": np.full_like(thread, launch.size), "%neven": thread % 2 == 0, "%nfirst": thread < 5}
            state = State(launch, known)
            for item in self._body:
                item.run(state, np.ones(launch.threads, bool))
            total = np.zeros_like(thread)
            for item in (*self._values, *self._indices):
                total = wrapped(total * 31 + state.registers[item])
            found.append(total)
        return np.concatenate(found).astype(np.int32)

    # -- statements --------------------------------------------------------------------------------------------------

    def _new(self) -> str:
        self._count += 1
        return f"{self.name}_{self._count}"

    def _statements(self, depth: int) -> list[Statement]:
        found: list[Statement] = []
        for _ in range(self._random.choice((1, 1, 1, 2))):
            kind = self._random.random()
            if kind < 0.4:
                found.append(self._compute(self._random.choice(self._values)))
            elif kind < 0.6:
                found.append(self._load())
            elif kind < 0.75:
                found.append(self._together())
            elif kind < 0.8:
                n = self._new()
                target, source = self._random.choice(self._values), self._operand(0.4)
                found.append(Halves(target, source if source[0] == "%" else "%q", (f"%o{n}", f"%w{n}")))
            elif kind < 0.9 and depth < 2:
                body = self._statements(depth + 1)
                found.append(Branch(self._new(), self._compare(), self._random.random() < 0.5, body))
            elif depth < 2:
                found.append(self._loop(depth + 1))
        return found

    def _loop(self, depth: int) -> Loop:
        n = self._new()
        index = f"%j{n}"
        start = self._compute(index, _SUMS if self._random.random() < 0.8 else tuple(_OPERATIONS))
        self._indices.append(index)
        if depth:  # it is read later, whether the loop has run or not
            self._inner.append(Compute("mov.b32", index, ["0"]))
        step_by = self._operand(0.6)
        sources = [index, step_by] if self._random.random() < 0.85 else [step_by, index]
        step = Compute(self._random.choice(_SUMS), index, sources)
        test = self._compare(index)
        body = [Compute("add.s32", self._sum, [self._sum, index]), *self._statements(depth)]
        return Loop(n, start, step, test, self._random.random() < 0.5, self._random.random() < 0.5, body)

    def _load(self) -> Load:
        n, index = self._new(), self._random.choice((*self._values, *self._indices, "%t", "%tid.x"))
        first = f"%n{n}"
        if self._random.random() < 0.5:
            inside = self._random.choice([("lt", "u32", index, "%size"), ("hi", "u32", "%size", index)])
            tests = [Compare(inside[0], inside[1], first, inside[2], inside[3])]
        else:
            low = self._random.choice([("ge", index, "0"), ("gt", index, "-1"), ("lt", "0xFFFFFFFF", index)])
            high = self._random.choice([("lt", index, "%size"), ("gt", "%size", index)])
            tests = [Compare(order, "s32", first + end, *sides) for (order, *sides), end in ((low, "a"), (high, "b"))]
        return Load(self._sum, index, n, tests, self._random.random() < 0.7, self._random.choice((0, 0, 3, -2)))

    def _together(self) -> Statement:
        kind = self._random.choice(("barrier", "barrier", "shuffle", "exchange", "reduction"))
        n, target, source = self._new(), self._random.choice(self._values), self._random.choice(self._values)
        if kind != "reduction":
            return Together(kind, n, target, source)
        test = self._compare()
        return Both(test, Together(kind, n, target, test.target))

    def _compute(self, target: str, opcodes: Sequence[str] = tuple(_OPERATIONS)) -> Compute:
        opcode = self._random.choice(opcodes)
        sources = [self._operand(0.5) for _ in range(_OPERANDS.get(opcode, 2))]
        return Compute(opcode, target, sources)

    def _compare(self, left: str = "") -> Compare:
        n = self._new()
        kind = self._random.choice(("s32", "s32", "u32"))
        orders = ["lt", "le", "gt", "ge", "eq", "ne"] + (["lo", "ls", "hi", "hs"] if kind == "u32" else [])
        sides = [left or self._operand(0.3), self._operand(0.7)]
        if self._random.random() < 0.4:
            sides.reverse()
        other = f"%y{n}" if self._random.random() < 0.2 else ""
        target = f"%n{n}"
        if other and self._random.random() < 0.5:
            target, other = other, target
        combined = (
            self._random.choice(("%neven", "!%neven", "%nfirst", "!%nfirst")) if self._random.random() < 0.15 else ""
        )
        return Compare(self._random.choice(orders), kind, target, sides[0], sides[1], other, combined)

    def _operand(self, common: float) -> str:
        """Return a number, what all threads know or, less often, a register of the thread."""
        if self._random.random() < common:
            number = self._random.choice((0, 1, 2, 3, 7, 8, -1, -2, -5, 16, 33))
            kind = self._random.random()
            if kind < 0.45:
                return str(number)
            return hex(number & 0xFFFFFFFF) if kind < 0.55 else self._random.choice(_COMMON)
        return self._random.choice((*_OWN, *self._values, *self._indices))


@dataclass
class Both:
    """One statement after the other."""

    first: Statement
    second: Statement

    def lines(self) -> list[str]:
        second = self.second.lines()
        return [*self.first.lines(), *second] if second else []

    def run(self, state: State, mask: Array) -> None:
        self.first.run(state, mask)
        self.second.run(state, mask)


#: Types of registers by the first letters of their names; all others have 32 bits.
_KINDS = {"pred": "nymi", "b64": "abc", "b16": "ow"}
_REGISTER = re.compile(r"%[a-z]\w*(?![\w.])")


def module(kernels: Sequence[Sequence[Program]], launch: Launch, word: str) -> str:
    """Return PTX with the kernels k0, k1, ...; each runs its programs, and writes the results one after the other.

    `word` is the type of 32-bit registers.
    """
    text = [_HEAD, f".shared .align 4 .b8 tile[{4 * launch.threads}];"]
    for number, programs in enumerate(kernels):
        body = _BEGIN.splitlines()
        for place, program in enumerate(programs):
            body += program.lines()
            body.append(f"st.global.b32 [%bresult+{4 * launch.size * place}], %z{program.name};")
        names = sorted(set(_REGISTER.findall("\n".join(body))) - {"%laneid"})
        kinds = {letter: kind for kind, letters in _KINDS.items() for letter in letters}
        declared = [f".reg .{kinds.get(name[1], word)} {name};" for name in names]
        parameters = ".param .u64 x, .param .u64 out, .param .u32 p, .param .u32 q, .param .u32 size"
        text += [f".visible .entry k{number}({parameters}) {{", *declared, *body, "ret;", "}"]
    return "\n".join(text)


_BEGIN = """ld.param.u64 %ax, [x];
cvta.to.global.u64 %buffer, %ax;
ld.param.u64 %aout, [out];
cvta.to.global.u64 %cout, %aout;
ld.param.u32 %p, [p];
ld.param.u32 %q, [q];
ld.param.u32 %size, [size];
mad.lo.s32 %t, %ctaid.x, %ntid.x, %tid.x;
mul.wide.s32 %at, %t, 4;
add.s64 %bresult, %cout, %at;
add.s64 %bx, %buffer, %at;
ld.global.b32 %x, [%bx];
and.b32 %teven, %tid.x, 1;
setp.eq.s32 %neven, %teven, 0;
setp.gt.u32 %nfirst, 5, %tid.x;"""
