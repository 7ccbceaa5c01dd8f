"""Guards: comparisons of thread numbers, which the translator turns into bounds of loops over threads.

The programs store and load under guards of every shape, in plain kernels and between barriers and shuffles, in thread
blocks of every shape; numpy computes the expected arrays.
"""

import random
from contextlib import closing

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache, native
from warploom.engine.diagnostics import KernelFault

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


@pytest.fixture
def host(quick_host: HostDevice) -> HostDevice:
    """Run quickly compiled code."""
    return quick_host


BLOCKS = ((32,), (256,), (100,), (7,), (16, 16), (18, 5), (64, 2))
ORDERS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def signed(values):
    return (values + (1 << 31)) % (1 << 32) - (1 << 31)


class Program:
    """Random PTX whose threads change %acc and their own array elements under guards, with its expected results."""

    def __init__(self, seed, thread_block):
        self.random, self.lines, self.count = random.Random(seed), [], 0
        nx, ny = (*thread_block, 1)[:2]
        self.threads, blocks = nx * ny, 2
        linear = np.tile(np.arange(nx * ny, dtype=np.int64), blocks)
        self.known = {"%t": linear % nx, "%u": linear // nx, "%l": linear, "%nx": np.full_like(linear, nx)}
        self.known["%b"] = np.repeat(np.arange(blocks, dtype=np.int64), nx * ny)
        self.p = self.random.choice((0, 1, 5, 31, -3, 2**31 - 9, -(2**31), self.random.randrange(nx)))
        self.known["%p"] = np.full_like(linear, self.p)
        self.acc = linear * 7 + 1
        self.here = np.ones(len(linear), bool)
        self.arrays = np.zeros((6, len(linear)), np.int64)
        self.shared = np.zeros(len(linear), np.int64)
        self.waits = self.random.random() < 0.7
        for _ in range(self.random.randint(2, 5)):
            self.statement(0)

    def made(self, opcode, sources, value):
        self.count += 1
        name = f"%r{self.count}"
        self.lines.append(f"{opcode} {name}, {', '.join(map(str, sources))};")
        self.known[name] = signed(value)
        return name

    def number(self):
        """Return a register that usually depends on the thread's number."""
        name = self.random.choice(("%t", "%t", "%t", "%l", "%u", "%b", "%p"))
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            have, small = self.known[name], self.random.choice((1, 2, 3, 5, 16, 31))
            kind = self.random.choice(("add", "sub", "from", "mul", "shr", "and", "param", "short", "mov"))
            match kind:
                case "add":
                    name = self.made("add.s32", (name, small), have + small)
                case "sub":
                    name = self.made("sub.s32", (name, small), have - small)
                case "from":
                    name = self.made("sub.s32", (small, name), small - have)
                case "mul":
                    factor = self.random.choice((2, 3, -1, -2, 4))
                    name = self.made("mul.lo.s32", (name, factor), have * factor)
                case "shr":
                    bits, sign = self.random.randint(1, 5), self.random.choice("su")
                    name = self.made(f"shr.{sign}32", (name, bits), (have if sign == "s" else have % 2**32) >> bits)
                case "and":
                    mask = self.random.choice((1, 3, 15, 31, 8, 12, 24, 124, 5, 0x1FFFFFFC))
                    name = self.made("and.b32", (name, mask), have & mask)
                case "param":
                    name = self.made("add.s32", (name, "%p"), have + self.p)
                case "short":
                    self.lines += [f"cvt.u16.u32 %h, {name};", "and.b16 %h, %h, 7;"]
                    name = self.made("mul.wide.u16", ("%h", small), (have & 7) * small)
                case "mov":
                    name = self.made("mov.b32", (name,), have)
        return name

    def condition(self):
        """Return a predicate and its values."""
        self.count += 1
        name, left, order = f"%q{self.count}", self.number(), self.random.choice(list(ORDERS))
        right = self.random.choice((0, 1, 3, 7, 15, 16, 31, -1, 100, "%p", "%nx", "%b", self.number()))
        values = [self.known[item] if isinstance(item, str) else np.full_like(self.acc, item) for item in (left, right)]
        kind = self.random.choice(("s32", "s32", "s32", "u32"))
        if kind == "u32":
            values = [item % 2**32 for item in values]
            right = right % 2**32 if isinstance(right, int) else right
        self.lines.append(f"setp.{order}.{kind} {name}, {left}, {right};")
        found = ORDERS[order](*values)
        for _ in range(self.random.choice((0, 0, 1))):
            other, also = self.condition()
            self.count += 1
            joined, opcode = f"%q{self.count}", self.random.choice(("and", "or"))
            self.lines.append(f"{opcode}.pred {joined}, {name}, {other};")
            name, found = joined, found & also if opcode == "and" else found | also
        if self.random.random() < 0.2:
            self.count += 1
            self.lines.append(f"not.pred %q{self.count}, {name};")
            name, found = f"%q{self.count}", ~found
        return name, found

    def statement(self, depth):
        choices = [self.guarded] * 4 if depth < 2 else []
        choices += [self.store, self.change, self.load] if depth else [self.change]
        if not depth and self.waits:
            choices += [self.barrier, self.shuffle]
        self.random.choice(choices)(depth)

    def guarded(self, depth):
        name, holds = self.condition()
        negated = self.random.random() < 0.6
        self.count += 1
        after = f"L{self.count}"
        self.lines.append(f"@{'!' if negated else ''}{name} bra {after};")
        before, self.here = self.here, self.here & (holds if negated else ~holds)
        for _ in range(self.random.choice((1, 1, 2))):
            self.statement(depth + 1)
        self.lines.append(f"{after}:")
        self.here = before

    def change(self, _depth):
        self.lines.append("mad.lo.s32 %acc, %acc, 3, 5;")
        self.acc = np.where(self.here, signed(self.acc * 3 + 5), self.acc)

    def store(self, _depth):
        if self.waits and self.random.random() < 0.4:
            self.lines.append("st.shared.s32 [%s], %acc;")
            self.shared = np.where(self.here, self.acc, self.shared)
            return
        index = self.random.randrange(len(self.arrays))
        self.lines.append(f"st.global.s32 [%g+{4 * index * len(self.acc)}], %acc;")
        self.arrays[index] = np.where(self.here, self.acc, self.arrays[index])

    def load(self, _depth):
        if self.waits and self.random.random() < 0.4:
            self.lines += ["ld.shared.s32 %v, [%s];", "add.s32 %acc, %acc, %v;"]
            value = self.shared
        else:
            index = self.random.randrange(len(self.arrays))
            self.lines += [f"ld.global.s32 %v, [%g+{4 * index * len(self.acc)}];", "add.s32 %acc, %acc, %v;"]
            value = self.arrays[index]
        self.acc = np.where(self.here, signed(self.acc + value), self.acc)

    def barrier(self, _depth):
        self.lines.append("bar.sync 0;")
        if self.random.random() < 0.5:  # another thread's element, which is not changed before the next barrier
            self.lines += ["ld.shared.s32 %v, [%mirror];", "bar.sync 0;", "add.s32 %acc, %acc, %v;"]
            self.acc = signed(self.acc + self.shared.reshape(2, -1)[:, ::-1].ravel())

    def shuffle(self, _depth):
        step = self.random.choice((1, 2, 16))
        self.lines += [f"shfl.sync.down.b32 %v, %acc, {step}, 31, -1;", "add.s32 %acc, %acc, %v;"]
        found = self.acc.reshape(2, -1).copy()
        for row in found:
            own = np.arange(len(row))
            other = np.where((own % 32 + step < 32) & (own + step < len(row)), own + step, own)
            row += row[other]
        self.acc = signed(found.ravel())

    def text(self, name):
        names = ", ".join(f"%r{index}" for index in range(self.count + 1))
        predicates = ", ".join(f"%q{index}" for index in range(self.count + 1))
        first = ["mov.u32 %v, 0; st.shared.s32 [%s], %v; bar.sync 0;"] if self.waits else []
        body = "\n".join(first + self.lines)
        return f""".visible .entry {name}(.param .u64 out, .param .u64 last, .param .u32 p) {{
        .reg .b32 %t, %u, %l, %b, %nx, %ny, %p, %acc, %v, %s, %mirror, {names}; .reg .b64 %g, %o, %g0, %o0;
        .reg .b16 %h; .reg .pred {predicates}; .shared .align 4 .b8 memory[{4 * self.threads}];
        mov.u32 %t, %tid.x; mov.u32 %u, %tid.y; mov.u32 %nx, %ntid.x; mov.u32 %ny, %ntid.y; mov.u32 %b, %ctaid.x;
        mad.lo.s32 %l, %u, %nx, %t; ld.param.u32 %p, [p]; mad.lo.s32 %acc, %l, 7, 1;
        mov.u32 %s, memory; mad.lo.s32 %s, %l, 4, %s;
        mul.lo.s32 %mirror, %nx, %ny; sub.s32 %mirror, %mirror, %l; sub.s32 %mirror, %mirror, 1;
        shl.b32 %mirror, %mirror, 2; mov.u32 %v, memory; add.s32 %mirror, %mirror, %v;
        mul.lo.s32 %v, %nx, %ny; mad.lo.s32 %v, %b, %v, %l; ld.param.u64 %g0, [out]; cvta.to.global.u64 %g, %g0;
        ld.param.u64 %o0, [last]; cvta.to.global.u64 %o, %o0; mad.wide.s32 %o, %v, 4, %o; mad.wide.s32 %g, %v, 4, %g;
        {body}
        st.global.s32 [%o], %acc; ret; }}"""


def check(run, thread_block, numbers):
    """Compare the programs of some seeds with numpy."""
    programs = [Program(seed, thread_block) for seed in numbers]
    source = HEAD + "\n".join(program.text(f"k{index}") for index, program in enumerate(programs))
    for index, program in enumerate(programs):
        empty = np.zeros(program.arrays.shape, np.int32)
        p = program.p % 2**32
        arrays, last = run(source, f"k{index}", 2, thread_block, empty, np.zeros(len(program.acc), np.int32), p)[:2]
        assert np.array_equal(last, program.acc), program.text("k")
        assert np.array_equal(arrays, program.arrays), program.text("k")


@pytest.mark.parametrize("thread_block", BLOCKS)
def test_random_guards_let_the_right_threads_through(run, thread_block):
    """Stores, loads and registers match numpy under guards that select rows, intervals, one thread or any threads."""
    check(run, thread_block, seeds(4))


@pytest.mark.parametrize("thread_block", [(100,), (18, 5)])
def test_optimised_code_of_random_guards_does_the_same(run_optimised, thread_block):
    """Random guards match numpy even after the optimiser vectorises the loops that they bound."""
    check(run_optimised, thread_block, seeds(2))


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("test", ["gt.u32 %p, %i, 39", "ge.u32 %p, %i, %n"])
def test_threads_below_zero_need_no_checks_behind_an_unsigned_guard(monkeypatch, tmp_path, axis, test):
    """`i < n` of unsigned numbers keeps out negative ones, so that the twin that checks each access does not run."""
    times = np.zeros(1, np.int64)
    count = f"atomicrmw add ptr inttoptr (i64 {times.ctypes.data} to ptr), i64 1 monotonic"

    def compile_object(text: str, processor: tuple[str, str] | None) -> bytes:
        assert "\nslow:\n" in text
        return native.quick_object(text.replace("\nslow:\n", f"\nslow:\n  %times = {count}\n"), processor)

    monkeypatch.setattr(native, "compile_object", compile_object)
    monkeypatch.setattr(build, "run_in_background", lambda function, *given: function(*given))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    source = f"""{HEAD}.visible .entry k(.param .u64 out, .param .u32 n) {{
    .reg .b32 %t, %i, %n; .reg .b64 %g, %at, %place; .reg .pred %p;
    ld.param.u64 %g, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.{axis}; add.s32 %i, %t, -20; setp.{test};
    @%p bra END; mul.wide.s32 %at, %i, 4; add.s64 %place, %g, %at; st.global.u32 [%place], %t; END: ret; }}"""
    with closing(HostDevice(cores=1, quick_first=False)) as device:
        kernel = device.load_module(source).kernel("k")
        for size, expected in ((40, 0), (39, 1)):
            out = device.upload(np.zeros(size, np.int32))
            thread_block = (64,) if axis == "x" else (1, 64)
            if expected:
                with pytest.raises(KernelFault):
                    device.launch(kernel, (1,), thread_block, [out, 40])
            else:
                device.launch(kernel, (1,), thread_block, [out, 40])
                assert out.download().tolist() == [*range(20, 60)]
            assert times[0] == expected


class Access(Program):
    """A load under a guard that reads `size` elements, counted from its lowest index."""

    def __init__(self, seed, thread_block):
        super().__init__(seed, thread_block)
        self.lines = []
        guard, holds = self.condition()
        name = self.number()
        index = self.known[name][holds]
        first = int(index.min()) if len(index) else 0
        self.size = int(index.max()) - first + 1 if len(index) else 0
        self.lines += [f"@!{guard} bra END;", f"cvt.s64.s32 %o, {name};", f"sub.s64 %o, %o, {first};"]
        self.lines += ["shl.b64 %o, %o, 2;", "add.s64 %o, %g, %o;", "ld.global.s32 %acc, [%o];"]
        self.last = set(np.nonzero(holds & (self.known[name] == first + self.size - 1))[0])

    def text(self, name):
        names = ", ".join(f"%r{index}" for index in range(self.count + 1))
        predicates = ", ".join(f"%q{index}" for index in range(self.count + 1))
        body = "\n".join(self.lines)
        return f""".visible .entry {name}(.param .u64 x, .param .u64 out, .param .u32 p) {{
        .reg .b32 %t, %u, %l, %b, %nx, %ny, %p, %acc, {names}; .reg .b64 %g, %o, %g0, %o0; .reg .b16 %h;
        .reg .pred {predicates};
        mov.u32 %t, %tid.x; mov.u32 %u, %tid.y; mov.u32 %nx, %ntid.x; mov.u32 %b, %ctaid.x; mov.u32 %acc, 0;
        mad.lo.s32 %l, %u, %nx, %t; ld.param.u32 %p, [p]; ld.param.u64 %g0, [x];
        cvta.to.global.u64 %g, %g0;
        {body}
        END: mov.u32 %ny, %ntid.y; mul.lo.s32 %ny, %nx, %ny; mad.lo.s32 %ny, %b, %ny, %l;
        ld.param.u64 %o0, [out]; cvta.to.global.u64 %o, %o0; mad.wide.s32 %o, %ny, 4, %o; st.global.s32 [%o], %acc;
        ret; }}"""


@pytest.mark.parametrize("thread_block", [(32,), (100,), (16, 16)])
def test_an_index_past_the_end_is_a_fault_and_the_last_one_is_none(quick_host, thread_block):
    """A load of the last element succeeds, and a load past the end is a fault of the thread that reads there."""
    programs = [Access(seed, thread_block) for seed in seeds(12)]
    programs = [item for item in programs if 1 < item.size < 10000]
    module = quick_host.load_module(HEAD + "\n".join(item.text(f"k{index}") for index, item in enumerate(programs)))
    for index, item in enumerate(programs):
        kernel, out = module.kernel(f"k{index}"), quick_host.upload(np.zeros(len(item.acc), np.int32))
        for size in (item.size, item.size - 1):
            data = quick_host.upload(np.zeros(size, np.int32))
            given = [data, out, item.p % 2**32]
            if size == item.size:
                quick_host.launch(kernel, (2,), thread_block, given)
            else:
                with pytest.raises(KernelFault) as caught:
                    quick_host.launch(kernel, (2,), thread_block, given)
                x, y, _ = caught.value.thread
                thread = x + y * thread_block[0] + caught.value.thread_block[0] * item.threads
                assert thread in item.last, item.text("k")
            data.free()
        out.free()


MASKS = (1, 31, 8, 24, 124, 96, 5, 40)
NUMBERS = ((1, 0), (1, 7), (1, -5), (-1, 60), (-3, -2), (2, 100))


@pytest.mark.parametrize("threads", [17, 100])
@pytest.mark.parametrize("is_loaded", [False, True])
def test_bits_of_a_number_reach_as_far_as_they_say(quick_host, is_loaded, threads):
    """The bounds of a masked number are exact, whether it grows, falls, wraps or is negative, computed or loaded."""
    lines = "mad.wide.u32 %a, %t, 4, %a; ld.global.s32 %r, [%a];" if is_loaded else ""
    cases = [
        (mask, factor, addend, np.arange(threads) * factor + addend) for mask in MASKS for factor, addend in NUMBERS
    ]

    def kernel(index, before):
        """Return a kernel whose lowest element is the buffer's first element, or `before` elements ahead of it."""
        mask, factor, addend, numbers = cases[index]
        return f""".visible .entry k{index}_{before}(.param .u64 numbers, .param .u64 data) {{
        .reg .b32 %t, %r, %s; .reg .b64 %a, %d, %a0, %d0;
        mov.u32 %t, %tid.x; ld.param.u64 %a0, [numbers]; cvta.to.global.u64 %a, %a0;
        mad.lo.s32 %r, %t, {factor}, {addend};
        {lines} and.b32 %s, %r, {mask}; ld.param.u64 %d0, [data]; cvta.to.global.u64 %d, %d0;
        mad.wide.s32 %d, %s, 4, %d; ld.global.s32 %r, [%d{-4 * (int((numbers & mask).min()) + before):+}]; ret; }}"""

    texts = (kernel(index, before) for index in range(len(cases)) for before in (0, 1))
    module = quick_host.load_module(HEAD + "\n".join(texts))
    for index, (mask, _, _, numbers) in enumerate(cases):
        size, given = int(np.ptp(numbers & mask)) + 1, quick_host.upload(numbers.astype(np.int32))
        data, short = (quick_host.upload(np.zeros(item, np.int32)) for item in (size, max(size - 1, 1)))
        quick_host.launch(module.kernel(f"k{index}_0"), (1,), (threads,), [given, data])
        with pytest.raises(KernelFault):
            quick_host.launch(module.kernel(f"k{index}_1"), (1,), (threads,), [given, data])
        if size > 1:
            with pytest.raises(KernelFault):
                quick_host.launch(module.kernel(f"k{index}_0"), (1,), (threads,), [given, short])
        for item in (given, data, short):
            item.free()


@pytest.mark.parametrize("kind", ["s32", "s64"])
def test_a_clamped_number_reaches_as_far_as_its_bounds(kind):
    """A loaded number between two bounds, even swapped ones, names an element; beyond the buffer is a fault."""

    def kernel(inner, outer, first, second):
        extend = "mov.b32 %v, %r;" if kind == "s32" else "cvt.s64.s32 %v, %r;"
        wide = "cvt.s64.s32 %o, %v;" if kind == "s32" else "mov.b64 %o, %v;"
        load = "\n".join(f"ld.param.s32 %r, [{name}]; {extend.replace('%v', '%' + name)}" for name in ("first", "last"))
        return f""".visible .entry {inner}(.param .u64 numbers, .param .u64 data, .param .u64 out, .param .s32 first,
        .param .s32 last) {{
        .reg .b32 %t, %r, %n; .reg .{kind.replace("s", "b")} %v, %c, %d, %first, %last; .reg .b64 %a<9>, %o;
        {load}
        mov.u32 %t, %tid.x; ld.param.u64 %a0, [numbers]; cvta.to.global.u64 %a1, %a0; mad.wide.u32 %a2, %t, 4, %a1;
        ld.global.s32 %n, [%a2]; {extend.replace("%r", "%n").replace("%v", "%c")}
        {inner}.{kind} %d, %c, {first}; {outer}.{kind} %v, {second}, %d; {wide}
        shl.b64 %o, %o, 2; ld.param.u64 %a3, [data]; cvta.to.global.u64 %a4, %a3; add.s64 %o, %a4, %o;
        ld.global.s32 %n, [%o]; ld.param.u64 %a5, [out]; cvta.to.global.u64 %a6, %a5; mad.wide.u32 %a7, %t, 4, %a6;
        st.global.s32 [%a7], %n; ret; }}"""

    text = kernel("min", "max", "%last", "%first") + kernel("max", "min", "%first", "%last")
    numbers = np.random.default_rng(3).integers(-90, 90, 100).astype(np.int32)
    with closing(HostDevice(cores=1, quick_first=False)) as host:
        module, data = host.load_module(HEAD + text), np.arange(50, dtype=np.int32) * 3 + 1
        given, source, out = host.upload(numbers), host.upload(data), host.upload(np.zeros(100, np.int32))
        for name in ("min", "max"):
            for first, last in ((0, 49), (7, 30), (30, 7), (49, 49), (0, 50), (-1, 49)):
                low, high = np.maximum(np.minimum(numbers, last), first), np.minimum(np.maximum(numbers, first), last)
                places = low if name == "min" else high
                arguments = [given, source, out, np.int32(first), np.int32(last)]
                if places.min() < 0 or places.max() > 49:
                    with pytest.raises(KernelFault) as caught:
                        host.launch(module.kernel(name), (1,), (100,), arguments)
                    assert not 0 <= places[caught.value.thread[0]] < 50
                else:
                    host.launch(module.kernel(name), (1,), (100,), arguments)
                    np.testing.assert_array_equal(out.download(), data[places])


@pytest.mark.parametrize(("inner", "outer"), [("min", "max"), ("max", "min")])
@pytest.mark.parametrize(("shift", "last"), [(2, 1 << 62), (4, 1 << 60), (2, (1 << 62) + 8)])
def test_a_bound_whose_place_overflows_is_no_bound(inner, outer, shift, last):
    """A number beyond the buffer is a fault, also if the place of the highest one wraps around into the buffer."""
    first, second = ("%last", "0") if inner == "min" else ("0", "%last")
    text = f""".visible .entry k(.param .u64 numbers, .param .u64 data, .param .s64 last) {{
        .reg .b32 %t, %n; .reg .b64 %v, %c, %d, %last, %o; .reg .b64 %a<9>;
        mov.u32 %t, %tid.x; ld.param.s64 %last, [last]; ld.param.u64 %a0, [numbers]; cvta.to.global.u64 %a1, %a0;
        mad.wide.u32 %a2, %t, 8, %a1; ld.global.s64 %c, [%a2]; {inner}.s64 %d, %c, {first};
        {outer}.s64 %v, %d, {second}; shl.b64 %o, %v, {shift}; ld.param.u64 %a3, [data];
        cvta.to.global.u64 %a4, %a3; add.s64 %o, %a4, %o; ld.global.s32 %n, [%o]; st.global.s64 [%a2], %v; ret; }}"""
    with closing(HostDevice(cores=1, quick_first=False)) as host:
        module, data = host.load_module(HEAD + text), host.upload(np.arange(64, dtype=np.int32))
        for numbers in (np.full(32, 3), np.full(32, 1000)):
            arguments = [host.upload(numbers.astype(np.int64)), data, np.int64(last)]
            if numbers[0] == 3:
                host.launch(module.kernel("k"), (1,), (32,), arguments)
            else:
                with pytest.raises(KernelFault):
                    host.launch(module.kernel("k"), (1,), (32,), arguments)


LIMITED = {
    "min.s32 %d, %k, %n;": lambda k: min(k, 7),
    "min.s32 %e, %k, %n; max.s32 %d, %e, 0;": lambda k: max(min(k, 7), 0),
    "max.s32 %d, %k, 3;": lambda k: max(k, 3),
    "and.b32 %d, %k, 15;": lambda k: k & 15,
}
CHANGES = {
    "setp.gt.s32 %q, %n, 3; @%q add.s32 %k, %k, 2;": lambda _: 2,
    "setp.gt.s32 %q, %m, 1; @!%q bra KEEP; add.s32 %k, %k, 2; KEEP:": lambda left: 2 * (left > 1),
}


@pytest.mark.parametrize("limit", LIMITED)
@pytest.mark.parametrize("change", CHANGES)
def test_a_limited_number_follows_one_that_changes_after_a_barrier(quick_host, limit, change):
    """A number that all threads have at a barrier may change before it is limited and names an element."""
    text = f""".visible .entry k(.param .u64 data, .param .u64 out, .param .s32 n, .param .s32 m, .param .s32 start) {{
        .reg .b32 %t, %k, %d, %n, %m, %r, %e, %sum; .reg .b64 %a<9>; .reg .pred %p, %q;
        mov.u32 %t, %tid.x; ld.param.s32 %n, [n]; ld.param.s32 %m, [m]; ld.param.s32 %k, [start]; mov.u32 %sum, 0;
        ld.param.u64 %a0, [data]; cvta.to.global.u64 %a1, %a0;
    AGAIN: bar.sync 0; {change} {limit} mad.wide.s32 %a2, %d, 4, %a1; ld.global.s32 %r, [%a2];
        add.s32 %sum, %sum, %r; ld.param.u64 %a5, [out]; cvta.to.global.u64 %a6, %a5; mad.wide.u32 %a7, %t, 4, %a6;
        st.global.s32 [%a7], %sum; add.s32 %m, %m, -1; setp.gt.s32 %p, %m, 0; @%p bra AGAIN; ret; }}"""
    module = quick_host.load_module(HEAD + text)
    data = np.arange(40, dtype=np.int32) ** 2
    source, out = quick_host.upload(data), quick_host.upload(np.zeros(100, np.int32))
    for turns in (1, 3):
        arguments = [source, out, np.int32(7), np.int32(turns), np.int32(2)]
        quick_host.launch(module.kernel("k"), (1,), (100,), arguments)
        number, total = 2, 0
        for left in range(turns, 0, -1):
            number += CHANGES[change](left)
            total += int(data[LIMITED[limit](number)])
        np.testing.assert_array_equal(out.download(), total)
    for item in (source, out):
        item.free()
