"""Indices of every shape access exactly the elements of a reference."""

import random

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelFault
from warploom.engine.host_compiler.analysis.provenance import provenance
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.ptx import parse
from warploom.engine.ptx.tree import Register


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code."""
    return quick_host


HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
SIZE = 2000


def signed(values):
    return (values + (1 << 31)) % (1 << 32) - (1 << 31)


def shifted(kind):
    return lambda a, b: (a if kind == "s" else a % (1 << 32)) >> (b % (1 << 32))


def divided(kind, part):
    def apply(a, b):
        a, b = (a, b) if kind == "s" else (a % (1 << 32), b % (1 << 32))
        quotient = np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)
        return quotient if part == "div" else a - quotient * b

    return apply


OPERATIONS = {
    "add.s32": np.add,
    "sub.s32": np.subtract,
    "mul.lo.s32": np.multiply,
    "and.b32": np.bitwise_and,
    "or.b32": np.bitwise_or,
    "xor.b32": np.bitwise_xor,
    "min.s32": np.minimum,
    "max.s32": np.maximum,
    "shr.s32": shifted("s"),
    "shr.u32": shifted("u"),
    "shr.b32": shifted("u"),
    "mul.hi.u32": lambda a, b: ((a % (1 << 32)) * (b % (1 << 32)).astype(object) >> 32).astype(np.int64),
    **{f"{part}.{kind}32": divided(kind, part) for part in ("div", "rem") for kind in "su"},
}


class Kernel:
    """A kernel that sums elements at random indices, in a loop in which the threads may wait."""

    def __init__(self, seed, blocks, threads, turns, name):
        self.random, self.lines, self.count, self.name = random.Random(seed), [], 0, name
        thread = np.tile(np.arange(threads, dtype=np.int64), blocks)
        block = np.repeat(np.arange(blocks, dtype=np.int64), threads)
        data = np.arange(SIZE, dtype=np.int64) * 7 + 3
        self.sum = np.zeros_like(thread)
        self.waits = self.random.random() < 0.6
        text, before = [], thread
        for turn in range(turns):
            state, self.lines, self.count = random.Random(seed + 1), [], 0
            self.random = state
            self.known = {"%t": thread, "%b": block, "%turn": np.full_like(thread, turn)}
            self.known |= {"%p": np.full_like(thread, 37), "%n": np.full_like(thread, threads)}
            indices = []
            for _ in range(3):
                index, values = self.index()
                indices.append((index, self.load(index), values))
                self.add(data, values)
                if self.waits:
                    self.lines.append("bar.sync 0;")
            index, address, values = self.random.choice(indices)  # used after the next turn's number is set
            self.lines += ["add.s32 %turn, %turn, 1;", *(["bar.sync 0;"] if self.waits else [])]
            self.access(index, address)
            self.add(data, values)
            index, address, values = self.random.choice(indices)  # used before the next turn computes the index
            rest, self.lines = self.lines, [f"setp.eq.s32 %q, %turn, 0; @%q bra N{self.name};"]
            self.access(index, address)
            self.lines += [f"N{self.name}:", *rest]
            if turn:
                self.add(data, before)
            before = values
            text = self.lines
        self.turns, self.lines = turns, text

    def index(self):
        value = self.random.choice(("%t", "%t", "%g"))
        if value == "%g":
            value = self.new("mad.lo.s32", "%b", "%n", "%t")
        elif self.random.random() < 0.3:
            value = self.halved(value)
        if self.random.random() < 0.4:  # one row of an array
            value = self.new("mad.lo.s32", "%turn", self.random.choice(("%p", "%n", "5", "-3")), value)
            return value, self.known[value]
        for _ in range(self.random.randint(1, 4)):
            other = self.leaf()
            name = self.random.choice(list(OPERATIONS))
            if self.random.random() < 0.5:
                other = self.new(self.random.choice(list(OPERATIONS)), other, self.leaf())
            value = self.new(name, *((value, other) if self.random.random() < 0.85 else (other, value)))
            if self.random.random() < 0.2:
                value = self.halved(value)
            if self.random.random() < 0.2:
                value = self.cut_off(value)
        return value, self.known[value]

    def cut_off(self, value):
        """Return the low half of a number that was extended, and perhaps multiplied, in 64 bits."""
        kind, factor = self.random.choice("su"), self.random.choice((1, 1, -1, 3, (1 << 32) + 1, (1 << 62) + 1))
        self.count += 1
        wide, target = f"%w{self.count}", f"%r{self.count}"
        self.lines += [f"cvt.{kind}64.{kind}32 {wide}, {value};", f"mul.lo.s64 {wide}m, {wide}, {factor};"]
        self.lines.append(f"cvt.u32.u64 {target}, {wide}{'m' if factor != 1 else ''};")
        self.known[target] = signed(self.known[value] * np.int64(factor % (1 << 32)))
        return target

    def halved(self, value):
        """Return a quotient or remainder by a power of two, as compilers write it for signed numbers."""
        bits = self.random.choice((1, 3, 4, 5, 6))
        correction = self.made("shr.u32", self.made("shr.s32", value, "31"), str(32 - bits))
        raised = self.made("add.s32", value, correction)
        if self.random.random() < 0.5:
            return self.made("shr.s32", raised, str(bits))
        return self.made("sub.s32", value, self.made("and.b32", raised, str(-1 << bits)))

    def leaf(self):
        return self.random.choice(
            ("%b", "%p", "%n", "%turn", "%turn", "1", "2", "3", "5", "15", "31", "64", "-1", "1000")
        )

    def of(self, name):
        return self.known[name] if name in self.known else np.full_like(self.sum, int(name))

    def new(self, opcode, *sources):
        if opcode.startswith(("div", "rem")):  # division by 0 is undefined
            divisor = self.made("or.b32", sources[1], "1")
            divisor = self.made("and.b32", divisor, "1023")
            sources = (sources[0], divisor)
        if opcode.startswith("shr"):
            sources = (sources[0], self.made("and.b32", sources[1], "31"))
        return self.made(opcode, *sources)

    def made(self, opcode, *sources):
        self.count += 1
        target = f"%r{self.count}"
        self.lines.append(f"{opcode} {target}, {', '.join(sources)};")
        values = [self.of(item) for item in sources]
        rest = values[2:]
        result = values[0] * values[1] + rest[0] if rest else OPERATIONS[opcode](*values)
        self.known[target] = signed(result)
        return target

    def add(self, data, index):
        inside = (index >= 0) & (index < SIZE)
        self.sum = signed(self.sum + np.where(inside, data[np.clip(index, 0, SIZE - 1)], 0))

    def load(self, index):
        self.count += 1
        address = f"%w{self.count}"
        wide = self.random.choice(("mul.wide.s32", "mul.wide.u32"))
        self.lines += [f"{wide} {address}, {index}, 4;", f"add.s64 {address}, %x, {address};"]
        self.access(index, address)
        return address

    def access(self, index, address):
        self.count += 1
        after = f"S{self.name}_{self.count}"
        self.lines += [f"setp.ge.u32 %q, {index}, {SIZE};", f"@%q bra {after};"]
        self.lines += [f"ld.global.s32 %v, [{address}];", "add.s32 %sum, %sum, %v;", f"{after}:"]

    def text(self):
        names = ", ".join(sorted({word.strip(",;[]") for line in self.lines for word in line.split() if "%r" in word}))
        wide = ", ".join(sorted({word.strip(",;[]") for line in self.lines for word in line.split() if "%w" in word}))
        body = "\n".join(self.lines)
        again = f"setp.lt.s32 %again, %turn, {self.turns}; @%again bra LOOP;"
        if self.turns == 1:  # a single turn needs no loop
            again = ""
        return f""".visible .entry {self.name}(.param .u64 x, .param .u64 out, .param .u32 p) {{
        .reg .b32 %t, %b, %n, %p, %g, %turn, %sum, %v, {names}; .reg .b64 %x, %x0, %o, {wide}; .reg .pred %q, %again;
        mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; ld.param.u32 %p, [p];
        ld.param.u64 %x0, [x]; cvta.to.global.u64 %x, %x0; mov.u32 %sum, 0; mov.u32 %turn, 0;
        LOOP: {body}
        {again}
        mad.lo.s32 %g, %b, %n, %t; ld.param.u64 %o, [out]; mad.wide.s32 %o, %g, 4, %o;
        st.global.s32 [%o], %sum; ret; }}"""


def check(run, threads, turns, numbers):
    """Compare the kernels of some seeds with the reference."""
    blocks = 3
    kernels = [Kernel(seed, blocks, threads, turns, f"k{seed}") for seed in numbers]
    source = HEAD + "\n".join(item.text() for item in kernels)
    data = np.arange(SIZE, dtype=np.int32) * 7 + 3
    for item in kernels:
        found = run(source, item.name, blocks, threads, data, np.zeros(blocks * threads, np.int32), 37)[1]
        assert np.array_equal(found, item.sum), item.text()


@pytest.mark.parametrize("threads", [32, 100])
@pytest.mark.parametrize("turns", [1, 3])
def test_random_indices_are_those_of_a_reference(run, threads, turns):
    """Indices made from uniform values, thread numbers and loop turns, by every operation, match the reference."""
    check(run, threads, turns, seeds(8))


def test_optimised_code_of_random_indices_does_the_same(run_optimised):
    """Random indices match the reference even if the optimiser relies on the translator's facts about indices."""
    check(run_optimised, 100, 3, seeds(3))


ROOTS = (
    HEAD
    + """.visible .entry roots(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  min.u32 %r3, %r1, %r2;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r4, [%rd3];
  ld.param.u32 %r5, [y];
  ld.param.u32 %r6, [y+4];
  mov.b64 %rd4, {%r5, %r6};
  add.s64 %rd5, %rd4, %rd2;
  add.s64 %rd6, %rd1, %rd4;
  st.global.u32 [%rd5], %r4;
  ret;
}"""
)


def test_an_address_belongs_to_the_one_pointer_that_it_is_made_from(run):
    """A sum of a pointer and a count belongs to the pointer; a sum with two 32-bit halves has no known root."""
    layout = MemoryLayout({}, {}, {}, parameters={"x": 0, "y": 8, "n": 16})
    known = provenance(parse(ROOTS).functions["roots"], layout)
    assert known.root(Register("%rd3")) == ("param", 0)
    assert known.root(Register("%rd5")) is None and known.root(Register("%rd6")) is None
    x, y = np.arange(1, 33, dtype=np.uint32), np.zeros(32, np.uint32)
    _, found = run(ROOTS, "roots", 1, 32, x, y, 40)
    np.testing.assert_array_equal(found, x)


OVERFLOWING = (
    HEAD
    + """.visible .entry overflowing(.param .u64 x) {
  .reg .b32 %t, %i; .reg .b64 %w, %x0, %x, %a;
  mov.u32 %t, %tid.x; cvt.u64.u32 %w, %t; mul.lo.s64 %w, %w, 0x5555555555555556; NARROW
  ld.param.u64 %x0, [x]; cvta.to.global.u64 %x, %x0; add.s64 %x, %x, %a; st.global.u32 [%x], %t; ret;
}"""
)


@pytest.mark.parametrize("narrow", ["cvt.u32.u64 %i, %w; mul.wide.u32 %a, %i, 4;", "shl.b64 %a, %w, 2;"])
def test_an_index_that_overflows_64_bits_is_checked_by_each_thread(optimised_host, narrow):
    """The first and the last of four threads write inside the buffer, and those between them far outside."""
    kernel = optimised_host.load_module(OVERFLOWING.replace("NARROW", narrow)).kernel("overflowing")
    with pytest.raises(KernelFault, match=r"thread \(1, 0, 0\)"):
        optimised_host.launch(kernel, (1,), (4,), [optimised_host.upload(np.zeros(16, np.uint32))])


DIVIDED = """.visible .entry divided_KIND(.param .u64 a, .param .u64 b, .param .u64 out) {
  .reg .b32 %t, %n; .reg .bBITS %x, %y, %q, %r; .reg .b64 %a, %b, %o, %at;
  mov.u32 %t, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %t, %t, %n, 0; mov.u32 %n, %tid.x; add.u32 %t, %t, %n;
  mul.wide.u32 %at, %t, BYTES;
  ld.param.u64 %a, [a]; add.s64 %a, %a, %at; ld.global.KIND %x, [%a];
  ld.param.u64 %b, [b]; add.s64 %b, %b, %at; ld.global.KIND %y, [%b];
  div.KIND %q, %x, %y; rem.KIND %r, %x, %y;
  ld.param.u64 %o, [out]; add.s64 %o, %o, %at; add.s64 %o, %o, %at;
  st.global.v2.bBITS [%o], {%q, %r}; ret;
}"""


def test_quotients_of_many_threads_at_once_are_exact(run_optimised):
    """Quotients and remainders are those of whole numbers, even beside multiples and at the ends of each type."""
    random = np.random.default_rng(21)
    for dtype in (np.uint32, np.int32, np.uint16, np.int16):
        kind, limits = np.dtype(dtype).str[1].replace("i", "s"), np.iinfo(dtype)
        kind += str(limits.bits)
        source = DIVIDED.replace("KIND", kind).replace("BITS", kind[1:]).replace("BYTES", str(limits.bits // 8))
        ends = np.array([limits.min, limits.min + 1, limits.max - 1, limits.max, 1, 2, 3, -1 if limits.min else 5])
        rest = random.integers(limits.min, limits.max, (2, 4096 - ends.size**2), endpoint=True)
        rest >>= random.integers(0, limits.bits, rest.shape)  # of every size
        b = np.concatenate([ends.repeat(ends.size), rest[1]])
        b[b == 0] = 7
        near = rest[0] // b[ends.size**2 :] * b[ends.size**2 :] + random.integers(-1, 2, rest.shape[1])
        near = np.where(random.random(near.size) < 0.5, near, rest[0]).clip(limits.min, limits.max)
        a = np.concatenate([np.tile(ends, ends.size), near])
        out = np.zeros((a.size, 2), dtype)
        found = run_optimised(HEAD + source, f"divided_{kind}", 32, 128, a.astype(dtype), b.astype(dtype), out)[2]
        quotients = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))  # towards zero
        np.testing.assert_array_equal(found, np.stack([quotients, a - quotients * b], 1).astype(dtype))
