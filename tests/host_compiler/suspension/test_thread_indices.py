"""Kernels whose addresses are made from bits of thread numbers, between warp operations, compute what PTX defines.

Plain Python computes each thread's registers, one instruction after the other, by the rules of the PTX manual.
Addresses of matrix fragments are made like this: `shr.u32 %row, %lane, 2; mul.wide.u32 %bytes, %row, 32`.
"""

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.device.host.device import HostDevice

BITS = (1 << 32) - 1
#: Elements of the buffer that is read, and the number of thread blocks of each kernel.
ELEMENTS, BLOCKS = 4096, 2
SHAPES = ((32, 1), (64, 1), (96, 1), (256, 1), (16, 4), (8, 8), (32, 3))
KERNELS = 6


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def quotient(a, b):
    """Return a quotient rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def of_signed(function):
    return lambda *values: function(*map(signed, values))


#: Each instruction's result for unsigned 32-bit numbers, before it is truncated to 32 bits.
OPERATIONS = {
    "add.u32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "mad.lo.s32": lambda a, b, c: a * b + c,
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "mul.hi.s32": of_signed(lambda a, b: a * b >> 32),
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "not.b32": lambda a: ~a,
    "neg.s32": lambda a: -a,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
    "shr.u32": lambda a, b: a >> min(b, 32),
    "shr.b32": lambda a, b: a >> min(b, 32),
    "shr.s32": lambda a, b: signed(a) >> min(b, 32),
    "div.u32": lambda a, b: a // b,
    "rem.u32": lambda a, b: a % b,
    "div.s32": of_signed(quotient),
    "rem.s32": of_signed(lambda a, b: a - b * quotient(a, b)),
    "min.u32": min,
    "max.u32": max,
    "min.s32": of_signed(min),
    "max.s32": of_signed(max),
    "bfe.u32": lambda a, b, c: a >> (b & 255) & ((1 << (c & 255)) - 1),
    "popc.b32": lambda a: a.bit_count(),
}
ORDERS = {
    "lt.u32": lambda a, b: a < b,
    "ge.s32": of_signed(lambda a, b: a >= b),
    "eq.s32": lambda a, b: a == b,
    "hi.u32": lambda a, b: a > b,
}
#: Opcodes with which compilers extract parts of thread numbers.
PARTS = ("shr.u32", "shr.s32", "shl.b32", "and.b32", "div.u32", "rem.u32", "mul.lo.u32", "add.u32", "or.b32")


def shuffled(mode, values, lane, by, bound):
    """Return the result of `shfl.sync` in a lane of a whole warp, by the manual's pseudo-code."""
    segments, clamp = bound >> 8 & 31, bound & 31
    last, first = (lane & segments) | (clamp & ~segments & 31), lane & segments
    source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": first | (by & ~segments & 31)}[mode]
    return values[source if (source >= last if mode == "up" else source <= last) else lane]


@dataclass
class Kernel:
    """A random kernel, and the value of every register in each of its threads."""

    seed: int
    name: str
    x: np.ndarray
    lines: list[str] = field(default_factory=list)
    known: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self):
        self.rng, self.count = random.Random(self.seed), 0
        self.shape = self.rng.choice(SHAPES)
        nx, ny = self.shape
        self.threads = range(BLOCKS * nx * ny)
        inside = [number % (nx * ny) for number in self.threads]
        self.known = {
            "%tid.x": [item % nx for item in inside],
            "%tid.y": [item // nx for item in inside],
            "%ntid.x": [nx] * len(inside),
            "%ctaid.x": [number // (nx * ny) for number in self.threads],
            "%laneid": [item % 32 for item in inside],
            "%linear": inside,
            "%n": [37] * len(inside),
        }
        self.total = "%zero"
        self.known[self.total] = [0] * len(inside)
        for _ in range(self.rng.randint(2, 4)):
            value = self.loaded() if self.rng.random() < 0.8 else self.from_shared()
            self.total = self.made("mad.lo.s32", self.total, "31", self.exchanged(value))
        self.total = self.made("mad.lo.s32", self.total, "31", self.index())

    def new(self, values):
        self.count += 1
        name = f"%r{self.count}"
        self.known[name] = [value & BITS for value in values]
        return name

    def of(self, operand):
        return self.known[operand] if operand in self.known else [int(operand) & BITS] * len(self.threads)

    def made(self, opcode, *sources):
        values = zip(*map(self.of, sources), strict=True)
        target = self.new([OPERATIONS[opcode](*item) for item in values])
        self.lines.append(f"{opcode} {target}, {', '.join(sources)};")
        return target

    def leaf(self):
        numbers = [str(self.rng.choice((0, 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 24, 28, 31, 32, 63, 64, 100, -1, -4)))]
        return self.rng.choice(numbers * 3 + ["%tid.x", "%tid.y", "%ntid.x", "%ctaid.x", "%n", "%laneid"])

    def index(self):
        """Return a register that random instructions compute from the thread's number."""
        value = self.rng.choice(("%tid.x", "%tid.x", "%tid.x", "%laneid", "%linear", "%tid.y"))
        for _ in range(self.rng.randint(1, 4)):
            opcode = self.rng.choice(PARTS if self.rng.random() < 0.7 else tuple(OPERATIONS))
            other = self.leaf() if self.rng.random() < 0.8 else self.made(self.rng.choice(PARTS[3:5]), "%tid.x", "3")
            count = OPERATIONS[opcode].__code__.co_argcount if hasattr(OPERATIONS[opcode], "__code__") else 2
            if opcode in ("not.b32", "neg.s32", "popc.b32"):
                value = self.made(opcode, value)
            elif count == 3 or opcode.startswith(("mad", "bfe")):
                value = self.made(opcode, value, "3" if opcode.startswith("bfe") else other, "2")
            elif opcode.startswith(("div", "rem")):  # division by 0 is undefined
                value = self.made(opcode, value, self.made("or.b32", other, "1"))
            else:
                value = self.made(opcode, *((value, other) if self.rng.random() < 0.8 else (other, value)))
            if self.rng.random() < 0.2:
                value = self.selected(value)
        return value

    def selected(self, value):
        order, other = self.rng.choice(list(ORDERS)), self.leaf()
        sides = list(zip(self.of(value), self.of(other), strict=True))
        self.lines.append(f"setp.{order} %p, {value}, {other};")
        target = self.new([item[0] if ORDERS[order](*item) else item[1] for item in sides])
        self.lines.append(f"selp.b32 {target}, {value}, {other}, %p;")
        return target

    def loaded(self):
        """Return the value that a thread loads at an index, which is masked only if it would be out of bounds."""
        index, step, count = self.index(), self.rng.choice((1, 1, 2, 4, 8)), self.rng.choice((1, 1, 2, 4))
        most = (ELEMENTS - 4) // step
        if max(self.of(index)) > most:
            index = self.made("and.b32", index, str((1 << most.bit_length() - 1) - 1))
        step = max(step, count)
        if max(self.of(index)) * step > ELEMENTS - count:
            index = self.made("and.b32", index, "255")
        wide = self.rng.choice(("mul.wide.u32", "mul.wide.s32"))
        self.count += 1
        names = [self.new([int(self.x[step * item + part]) for item in self.of(index)]) for part in range(count)]
        target = f"{{{', '.join(names)}}}" if count > 1 else names[0]
        vector = f".v{count}" if count > 1 else ""
        self.lines += [f"{wide} %d1, {index}, {4 * step};", "add.s64 %d2, %x, %d1;"]
        self.lines.append(f"ld.global{vector}.u32 {target}, [%d2];")
        value = names[0]
        for name in names[1:]:
            value = self.made("xor.b32", value, name)
        return value

    def from_shared(self):
        """Return a value that another thread of the thread block stored in shared memory."""
        size = self.shape[0] * self.shape[1]
        own, index = self.index(), self.made("rem.u32", self.index(), str(size))
        self.lines += ["bar.sync 0;", "mul.wide.u32 %d1, %linear, 4;", "add.s64 %d2, %tile, %d1;"]
        self.lines += [f"st.shared.u32 [%d2], {own};", "bar.sync 0;"]
        stored, first = self.of(own), [number - number % size for number in self.threads]
        target = self.new([stored[at + item] for at, item in zip(first, self.of(index), strict=True)])
        self.lines += [f"mul.wide.u32 %d1, {index}, 4;", "add.s64 %d2, %tile, %d1;", f"ld.shared.u32 {target}, [%d2];"]
        return target

    def exchanged(self, value):
        """Return a value of another lane of the warp."""
        kind, lanes = self.rng.random(), self.known["%laneid"]
        if kind < 0.1:
            return value
        values = self.of(value)
        warps = [values[number - lane : number - lane + 32] for number, lane in zip(self.threads, lanes, strict=True)]
        if kind < 0.2:
            self.lines.append(f"setp.ne.u32 %p, {value}, 0;")
            target = self.new([sum(1 << lane for lane, item in enumerate(warp) if item) for warp in warps])
            self.lines.append(f"vote.sync.ballot.b32 {target}, %p, -1;")
            return target
        mode, by = self.rng.choice(("idx", "up", "down", "bfly")), self.rng.randrange(32)
        bound = (0 if mode == "up" else 31) | self.rng.choice((0, 0, 24, 28)) << 8
        target = self.new([shuffled(mode, warp, lane, by, bound) for warp, lane in zip(warps, lanes, strict=True)])
        self.lines.append(f"shfl.sync.{mode}.b32 {target}, {value}, {by}, {bound}, -1;")
        return target

    def text(self):
        body = "\n".join(self.lines)
        return f""".visible .entry {self.name}(.param .u64 x, .param .u64 out, .param .u32 n) {{
        .reg .b32 %r<{self.count + 1}>, %n, %linear, %zero, %g; .reg .b64 %x, %x0, %o, %tile, %d1, %d2; .reg .pred %p;
        .shared .align 16 .b8 memory[1024];
        ld.param.u64 %x0, [x]; cvta.to.global.u64 %x, %x0; ld.param.u32 %n, [n]; mov.u32 %zero, 0;
        mad.lo.u32 %linear, %tid.y, %ntid.x, %tid.x; mov.u64 %tile, memory;
        {body}
        mov.u32 %g, %ntid.x; mul.lo.u32 %g, %g, %ntid.y; mad.lo.u32 %g, %g, %ctaid.x, %linear;
        ld.param.u64 %o, [out]; mad.wide.u32 %o, %g, 4, %o; st.global.u32 [%o], {self.total}; ret; }}"""


def check(device, numbers):
    """Compare the results of random kernels, one per seed, with the values that Python computed for each thread."""
    x = np.random.default_rng(3).integers(0, 1 << 32, ELEMENTS, np.uint32)
    kernels = [Kernel(seed, f"k{seed}", x) for seed in numbers]
    for first in range(0, len(kernels), KERNELS):
        several = kernels[first : first + KERNELS]
        source = ".version 8.0\n.target sm_75\n.address_size 64\n" + "\n".join(item.text() for item in several)
        module, buffer = device.load_module(source), device.upload(x)
        for item in several:
            out = device.upload(np.zeros(len(item.threads), np.uint32))
            device.launch(module.kernel(item.name), (BLOCKS,), item.shape, [buffer, out, 37])
            assert out.download().tolist() == item.known[item.total], item.text()
            out.free()
        buffer.free()
        module.unload()


def test_addresses_from_bits_of_thread_numbers_are_those_of_the_manual(host):
    """Random addresses made by shifts, masks, divisions, products, minima and selects are those of the manual."""
    check(host, seeds(24))


def test_optimised_code_uses_the_same_addresses(optimised_host):
    """Random addresses equal the reference's in optimised code, which relies on the translator's facts about them."""
    check(optimised_host, seeds(3))


@pytest.mark.parametrize("step", [1, 2, 4, 32])
def test_rows_of_a_matrix_fragment_are_addressed(host, step):
    """A thread reads the row whose number is its lane divided by 4, at that number times a distance in bytes."""
    text = f""".version 8.0\n.target sm_80\n.address_size 64
    .visible .entry k(.param .u64 x, .param .u64 out) {{ .reg .b32 %r<5>; .reg .b64 %d<7>;
    ld.param.u64 %d1, [x]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 2;
    mul.wide.u32 %d3, %r2, {4 * step}; add.s64 %d4, %d1, %d3; ld.global.u32 %r3, [%d4];
    shfl.sync.idx.b32 %r4, %r3, 5, 31, -1; mul.wide.u32 %d5, %r1, 4; add.s64 %d6, %d2, %d5;
    add.u32 %r4, %r4, %r3; st.global.u32 [%d6], %r4; ret; }}"""
    device: HostDevice = host
    x, out = device.upload(np.arange(7 * step + 1, dtype=np.uint32)), device.upload(np.zeros(32, np.uint32))
    device.launch(device.load_module(text).kernel("k"), (1,), (32,), [x, out])
    assert out.download().tolist() == [step * (lane // 4) + step for lane in range(32)]
    x.free()
    out.free()
