"""Consecutive shuffles by constants and by registers, for threads in lockstep, in pieces, or scattered."""

import random

import numpy as np
import pytest

from tests.fuzzing import seeds


@pytest.fixture
def host(either_host):
    """The device of `run`: both ways to translate waiting threads."""
    return either_host


HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
MODES = ("up", "down", "bfly", "idx")


def shuffled(x, mode, step, clamp):
    """Return each thread's value and predicate; a thread that names a missing lane gets its own value."""
    thread = np.arange(len(x))
    lane, first = thread % 32, thread // 32 * 32
    segment, last = clamp >> 8 & 31, clamp & 31
    low = lane & segment
    high = low | (last & ~segment)
    other = {"up": lane - step, "down": lane + step, "bfly": lane ^ step, "idx": low | (step & ~segment)}[mode]
    fits = other >= high if mode == "up" else other <= high
    source = first + np.where(fits, other, lane)
    return x[np.where(source < len(x), source, thread)], fits


class Program:
    """Random PTX on %x of each thread, with its expected results."""

    def __init__(self, seed, threads):
        self.random, self.lines, self.count = random.Random(seed), [], 0
        self.x = np.arange(threads, dtype=np.uint32) * np.uint32(2654435761) % np.uint32(1000003)
        self.here = np.ones(threads, bool)
        for _ in range(self.random.randint(2, 5)):
            self.step(0)

    def step(self, depth):
        choices = [self.shuffle] * 4 + [self.scattered, self.loop]
        if not depth:
            choices += [self.piece] * 3 + [self.barrier, self.counted]
        self.random.choice(choices)(depth)

    def label(self):
        self.count += 1
        return f"L{self.count}"

    def shuffle(self, _depth):
        mode, step = self.random.choice(MODES), self.random.choice((0, 1, 2, 3, 4, 8, 16, 31))
        width = self.random.choice((32, 32, 32, 16, 8, 4))
        clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
        if self.random.random() < 0.3:
            self.lines += [f"add.u32 %step, %zero, {step};"]
            operand = "%step"
        else:
            operand = str(step)
        pair = self.random.random() < 0.5
        self.lines.append(f"shfl.sync.{mode}.b32 %y{'|%p' if pair else ''}, %x, {operand}, {clamp}, -1;")
        value, fits = shuffled(self.x, mode, step, clamp)
        if pair:
            self.lines += ["@!%p add.u32 %y, %y, 77;"]
            value = np.where(fits, value, value + np.uint32(77))
        self.lines += ["mad.lo.u32 %x, %x, 3, %y;"]
        self.write(self.x * np.uint32(3) + value)

    def write(self, value):
        self.x = np.where(self.here, value, self.x).astype(np.uint32)

    def scattered(self, _depth):
        after, bit = self.label(), self.random.choice((1, 2, 5))
        self.lines += [f"and.b32 %y, %x, {bit};", "setp.eq.u32 %p, %y, 0;", f"@%p bra {after};"]
        self.lines += ["xor.b32 %x, %x, 12345;", f"{after}:"]
        self.write(np.where(self.x & bit, self.x ^ 12345, self.x))

    def loop(self, depth):
        again, turns = self.label(), self.random.choice((1, 2, 3))
        counter = f"%n{depth}"
        if depth > 1:
            return
        self.lines += [f"mov.u32 {counter}, 0;", f"{again}:"]
        body = len(self.lines)
        state = self.random.getstate()
        for _ in range(turns):
            self.random.setstate(state)
            del self.lines[body:]
            for _ in range(2):
                self.shuffle(depth)
        self.lines += [f"add.u32 {counter}, {counter}, 1;", f"setp.lt.u32 %q, {counter}, {turns};", f"@%q bra {again};"]

    def piece(self, depth):
        """Add a branch for some whole warps, at whose end either these or all other threads may exit."""
        after, warps = self.label(), -(-len(self.x) // 32)
        first = self.random.randrange(warps)
        end = self.random.randint(first, warps)
        mine = (np.arange(len(self.x)) // 32 >= first) & (np.arange(len(self.x)) // 32 < end)
        self.lines += ["shr.u32 %w, %t, 5;", f"setp.lt.u32 %p, %w, {first};", f"setp.ge.u32 %q, %w, {end};"]
        self.lines += ["or.pred %p, %p, %q;", f"@%p bra {after};"]
        before, self.here = self.here, self.here & mine
        for _ in range(self.random.randint(1, 3)):
            self.step(depth + 1)
        if self.random.random() < 0.15:
            self.lines += ["bra END;"]
            before = before & ~mine
        self.lines += [f"{after}:"]
        self.here = before

    def barrier(self, _depth):
        self.lines += ["bar.sync 0;"]

    def counted(self, _depth):
        self.lines += ["and.b32 %y, %x, 1;", "setp.ne.u32 %p, %y, 0;", "bar.red.popc.u32 %y, 0, %p;"]
        self.lines += ["add.u32 %x, %x, %y;"]
        self.write(self.x + np.uint32(np.count_nonzero(self.x[self.here] & 1)))

    def text(self, name):
        body = "\n".join(self.lines)
        return f""".visible .entry {name}(.param .u64 out, .param .u32 zero) {{
        .reg .b64 %a; .reg .b32 %t, %x, %y, %w, %step, %zero, %n0, %n1, %nx, %ny, %i; .reg .pred %p, %q;
        mov.u32 %t, %tid.x; mov.u32 %nx, %ntid.x; mov.u32 %ny, %tid.y; mad.lo.u32 %t, %ny, %nx, %t;
        ld.param.u32 %zero, [zero]; mul.lo.u32 %x, %t, 2654435761; rem.u32 %x, %x, 1000003;
        {body}
        END: ld.param.u64 %a, [out]; mad.wide.u32 %a, %t, 4, %a; st.global.b32 [%a], %x; ret; }}"""


BLOCKS = ((32,), (64,), (256,), (40,), (100,), (16, 8), (8, 8), (48, 2), (4, 10))


def check(run, thread_block, numbers):
    """Compare the programs of some seeds with the reference."""
    threads = int(np.prod(thread_block))
    programs = [Program(seed, threads) for seed in numbers]
    source = HEAD + "\n".join(program.text(f"k{index}") for index, program in enumerate(programs))
    for index, program in enumerate(programs):
        (found,) = run(source, f"k{index}", 1, thread_block, np.zeros(threads, np.uint32), 0)[:1]
        assert np.array_equal(found, program.x), "\n".join(program.lines)


@pytest.mark.parametrize("thread_block", BLOCKS)
def test_random_shuffles_are_what_a_reference_says(run, thread_block):
    """Random shuffles of every mode, segment and distance match the reference, also in loops and branches."""
    check(run, thread_block, seeds(5))


@pytest.mark.parametrize("thread_block", [(64,), (4, 10)])
def test_optimised_code_of_random_shuffles_does_the_same(run_optimised, thread_block):
    """Consecutive shuffles, which the optimiser turns into vector operations, match the reference."""
    check(run_optimised, thread_block, seeds(2))
