"""Random PTX programs: loops whose starts, bounds and steps are numbers, uniform values, or each thread's own values.

A program works on 32-bit registers of each thread. Every form of operand occurs in every position: numbers as first or
second operand, special registers, negated predicates, vectors. The reference runs a thread block's threads in lockstep
in numpy, with a mask of active threads. It also removes statements that a random program may not have: a barrier that
some threads skip is deleted, and a loop of many rounds gets a limit.

Several programs share a kernel, one after the other, since most of the time is spent on a kernel's fixed costs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.host_compiler.ptx_statements import (
    ACCESSES,
    COMMON,
    HALVES,
    OPERANDS,
    OPERATIONS,
    OWN,
    OWN_WORD,
    SUMS,
    Access,
    Array,
    Both,
    Branch,
    Compare,
    Compute,
    HalfNumbers,
    Halves,
    Launch,
    Load,
    Loop,
    State,
    Statement,
    Together,
    wrapped,
)

_HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


@dataclass
class Program:
    """A random program for one launch: `settle` must run first and returns the results; `lines` returns the PTX."""

    seed: int
    name: str

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._count = 0
        self._indices: list[str] = []
        #: The register in which a program accumulates, and the other registers that it writes.
        self._sum = f"%s{self.name}"
        self._values = [self._sum, f"%u{self.name}"]
        start = [Compute("mov.b32", item, [self._random.choice((*COMMON, *OWN, "7"))]) for item in self._values]
        self._inner: list[Statement] = []
        body: list[Statement] = [self._loop(0)]
        if self._random.random() < 0.3:
            body += [self._together(), *self._statements(0)]
        first = Access("st.shared.b32", self._new(), "", ["%x"])
        self._body: list[Statement] = [*start, first, *self._inner, *body]

    def settle(self, launch: Launch) -> Array:
        """Remove statements that the launch may not run, and return the program's results."""
        for _ in range(20):
            before = self.lines()
            found = self._run(launch)
            if self.lines() == before:
                return found
        raise AssertionError("a program must settle")

    def lines(self) -> list[str]:
        """Return the program's instructions, which end with the result in the register `%z` plus the program's name."""
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
            known |= {name: np.full_like(thread, value) for name, value in zip(COMMON, common, strict=True)}
            known |= {
                OWN_WORD: np.zeros_like(thread),
                "%size": np.full_like(thread, launch.size),
                "%neven": thread % 2 == 0,
                "%nfirst": thread < 5,
            }
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
            elif kind < 0.85:
                found.append(self._access())
            elif kind < 0.88:
                source = self._random.choice((*self._values, *self._indices, "%x"))
                target = self._random.choice(self._values)
                found.append(HalfNumbers(self._random.choice(HALVES), self._new(), target, source))
            elif kind < 0.9:
                n = self._new()
                target, source = self._random.choice(self._values), self._operand(0.4)
                found.append(Halves(target, source if source[0] == "%" else "%q", (f"%o{n}", f"%w{n}")))
            elif kind < 0.95 and depth < 2:
                body = self._statements(depth + 1)
                found.append(Branch(self._new(), self._compare(), self._random.random() < 0.5, body))
            elif depth < 2:
                found.append(self._loop(depth + 1))
        return found

    def _loop(self, depth: int) -> Loop:
        n = self._new()
        index = f"%j{n}"
        start = self._compute(index, SUMS if self._random.random() < 0.8 else tuple(OPERATIONS))
        self._indices.append(index)
        if depth:  # later code reads the index, even if the loop does not run
            self._inner.append(Compute("mov.b32", index, ["0"]))
        step_by = self._operand(0.6)
        sources = [index, step_by] if self._random.random() < 0.85 else [step_by, index]
        step = Compute(self._random.choice(SUMS), index, sources)
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

    def _access(self) -> Access:
        opcode = self._random.choice(tuple(ACCESSES))
        count = 0 if opcode.startswith("ld") else 2 if "cas" in opcode else 1
        sources = [self._operand(0.4) for _ in range(count)]
        return Access(opcode, self._new(), self._random.choice(self._values), sources)

    def _together(self) -> Statement:
        kind = self._random.choice(("barrier", "barrier", "shuffle", "exchange", "reduction", "sum"))
        n, target, source = self._new(), self._random.choice(self._values), self._random.choice(self._values)
        if kind != "reduction":
            return Together(kind, n, target, source)
        test = self._compare()
        return Both(test, Together(kind, n, target, test.target))

    def _compute(self, target: str, opcodes: Sequence[str] = tuple(OPERATIONS)) -> Compute:
        opcode = self._random.choice(opcodes)
        sources = [self._operand(0.5) for _ in range(OPERANDS.get(opcode, 2))]
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
        """Return a number, a uniform value or, less often, a register of the thread."""
        if self._random.random() < common:
            number = self._random.choice((0, 1, 2, 3, 7, 8, -1, -2, -5, 16, 33))
            kind = self._random.random()
            if kind < 0.45:
                return str(number)
            return hex(number & 0xFFFFFFFF) if kind < 0.55 else self._random.choice(COMMON)
        return self._random.choice((*OWN, *self._values, *self._indices))


#: Types of registers by the first letters of their names; other registers have 32 bits.
_KINDS = {"pred": "nymi", "b64": "abc", "b16": "ow"}


_REGISTER = re.compile(r"%[a-z]\w*(?![\w.])")


def module(kernels: Sequence[Sequence[Program]], launch: Launch, word: str) -> str:
    """Return PTX with the kernels k0, k1, and so on; each runs its programs and stores their results in order.

    `word` is the type of 32-bit registers.
    """
    text = [_HEAD, *(f".shared .align 4 .b8 {name}[{4 * launch.threads}];" for name in ("tile", "own", "common"))]
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
