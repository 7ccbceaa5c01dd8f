"""Kernel versions for small thread blocks, in which all threads run a loop equally often."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.host_compiler.passes.small_thread_blocks import for_small_thread_blocks
from warploom.engine.ptx import parse
from warploom.engine.ptx.tree import Function, Register

Array = np.ndarray[Any, np.dtype[np.int64]]

TILES = """
extern "C" __global__ void tiles(const int* x, int* out, int n) {
  __shared__ int s[1024];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < n; k++) {
    for (int e = t; e < 1024; e += 256) s[e % 32 * 32 + e / 32] = x[k * 1024 + e];
    __syncthreads();
    for (int e = t; e < 1024; e += 256) sum = sum * 3 + s[e % 32 * 32 + e / 32];
    __syncthreads();
  }
  out[t] = sum;
}"""


@pytest.mark.parametrize("threads", [1, 200, 256, 257, 1000])
def test_tiles_in_small_and_in_large_thread_blocks(run_optimised, dialect, threads):
    """Tiles equal numpy's in thread blocks of up to 256 threads, and in larger ones with fewer turns for some."""
    x = np.random.default_rng(threads).integers(-99, 99, (3, 1024), np.int32)
    out = run_optimised(TILES, "tiles", 1, threads, x, np.zeros(threads, np.int32), 3, dialect=dialect)[1]
    expected = np.zeros(threads, np.int32)
    for tile in x:
        for first in range(0, 1024, 256):
            here = np.arange(min(threads, 1024 - first))
            expected[here] = expected[here] * 3 + tile[first + here]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    ("source", "size"),
    [
        (TILES, 256),
        (TILES.replace("e < 1024", "e < 1000"), None),
        (TILES.replace("e < 1024", "e < n * 8"), None),
        (TILES.replace("e += 256", "e += blockDim.x"), None),
        (TILES.replace("e += 256) s", "e += blockDim.x) if (max(t, 5) < 32) s"), None),
    ],
    ids=["as many turns for all", "different turns", "length of an argument", "stride of the launch", "some threads"],
)
def test_a_version_is_made_where_the_stride_decides_the_number_of_turns(cuda_ptx, source, size):
    """If a loop's constant stride decides its turns, a version for thread blocks of that size is made."""
    found = for_small_thread_blocks(parse(cuda_ptx(source, "compute_90")).functions["tiles"])
    assert (found and found[1]) == size


HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
CHOICE = """
.visible .entry {name}(.param .u64 out) {{
  .reg .pred %p; .reg .b32 %r<20>, %c; .reg .b64 %at;
  mov.u32 %r0, %tid.x;
  {lines}
  add.s32 %r19, %r0, 64;
  {guard} bra ONE;
  mov.u32 %c, 2;
  bra END;
ONE:
  mov.u32 %c, 1;
END:
  ld.param.u64 %at, [out];
  mad.wide.u32 %at, %r0, 4, %at;
  st.global.u32 [%at], %c;
  ret;
}}"""


def chosen(kernel: Function) -> list[int]:
    """Return the numbers that a version for 64 threads chooses from, or none if there is no version."""
    found = for_small_thread_blocks(kernel)
    assert found is None or found[1] == 64
    items = found[0].instructions if found else ()
    return [item.operands[1].value for item in items if item.operands[:1] == (Register("%c"),)]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("steps", "comparison", "numbers"),
    [
        ("", "ne.s32 %p, %r2, 0", [2]),
        ("", "lt.s32 %p, %r3, 63", []),
        ("and.b32 %r5, %r2, 3;", "eq.s32 %p, %r5, 0", [1]),
        ("sub.s32 %r5, %r3, %r4;", "lt.s32 %p, %r5, 64", [1]),
        ("sub.s32 %r5, %r3, %r4;", "lt.s32 %p, %r5, 57", []),
        ("mul.lo.s32 %r5, %r3, -2;", "ge.s32 %p, %r5, -126", [1]),
        ("add.s32 %r5, %r4, -3; mul.lo.s32 %r6, %r5, %r3;", "ge.s32 %p, %r6, 0", []),
        ("mad.lo.s32 %r5, %r3, 2, %r4;", "gt.s32 %p, %r5, 133", [2]),
        ("shl.b32 %r5, %r3, 2;", "le.u32 %p, %r5, 252", [1]),
        ("shl.b32 %r5, %r3, 26;", "lt.s32 %p, %r5, 0", []),
        ("shr.u32 %r5, %r3, 6;", "eq.s32 %p, %r5, 0", [1]),
        ("add.s32 %r5, %r3, -32; shr.s32 %r6, %r5, 1;", "lt.s32 %p, %r6, 16", [1]),
        ("add.s32 %r5, %r3, -32; shr.u32 %r6, %r5, 1;", "lt.s32 %p, %r6, 16", []),
        ("and.b32 %r5, %r3, -64;", "eq.s32 %p, %r5, 0", [1]),
        ("mul.lo.s32 %r5, %r3, 3; and.b32 %r6, %r5, 31;", "lt.s32 %p, %r6, 30", []),
        (
            "and.b32 %r5, %r0, 3; add.s32 %r6, %r5, %r2; add.s32 %r7, %r6, 3; and.b32 %r8, %r7, -6;",
            "eq.s32 %p, %r8, 2",
            [],
        ),
        ("max.u32 %r5, %r3, 70;", "eq.s32 %p, %r5, 70", [1]),
        ("add.s32 %r5, %r3, -32; max.u32 %r6, %r5, 40;", "eq.s32 %p, %r6, 40", []),
        ("add.s32 %r5, %r3, -32;", "lt.u32 %p, %r5, 32", []),
    ],
)
def test_what_64_threads_decide_alike(steps, comparison, numbers):
    """Branches that 64 threads decide alike are removed.

    For the first 64 threads, `%r2` is 0, `%r3` is the thread's number, and `%r4` is its lowest three bits.
    """
    base = "max.s32 %r1, %r0, 63; add.s32 %r2, %r1, -63; add.s32 %r3, %r2, %r0; and.b32 %r4, %r0, 7;"
    text = CHOICE.format(name="choice", lines=f"{base} {steps} setp.{comparison};", guard="@%p")
    assert chosen(parse(HEAD + text).functions["choice"]) == numbers


STEPS: dict[str, Callable[[Array, Array], Array]] = {
    "add.s32": np.add,
    "sub.s32": np.subtract,
    "mul.lo.s32": np.multiply,
    "and.b32": np.bitwise_and,
    "min.s32": np.minimum,
    "max.s32": np.maximum,
    "min.u32": lambda a, b: np.where(a % (1 << 32) < b % (1 << 32), a, b),
    "max.u32": lambda a, b: np.where(a % (1 << 32) > b % (1 << 32), a, b),
    "shl.b32": lambda a, b: a << b,
    "shr.s32": lambda a, b: a >> b,
    "shr.u32": lambda a, b: a % (1 << 32) >> b,
}
ORDERS: dict[str, Callable[[Array, Array], Array]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


class Choice:
    """A random kernel whose threads choose between two numbers by a value computed from `max(t, constant)`."""

    def __init__(self, seed: int) -> None:
        self.name = f"choice{seed}"
        self._random = random.Random(seed)
        self._lines: list[str] = []
        thread = np.arange(96, dtype=np.int64)
        most = self._random.randint(0, 99)
        values = [thread, self._step("max.s32", thread, np.int64(most), f"%r0, {most}")]
        for _ in range(self._random.randint(1, 5)):
            name, source = self._random.choice([*STEPS, "sub.s32"]), self._random.randrange(len(values))
            constants = range(10) if name[:2] == "sh" else (-100, -5, -1, 3, 7, 12, 63, -64, 200, 1 << 30)
            other: int | str = self._random.choice(constants)
            if name in ("add.s32", "sub.s32", "mul.lo.s32") and self._random.random() < 0.7:
                other = f"%r{self._random.randrange(len(values))}"
            second = values[int(other[2:])] if isinstance(other, str) else np.int64(other)
            values.append(self._step(name, values[source], second, f"%r{source}, {other}"))
        order, kind = self._random.choice([*ORDERS]), self._random.choice(("s32", "u32"))
        edges = int(values[-1][:64].min()), int(values[-1][:64].max())
        limit = self._random.choice(edges) + self._random.choice((-1, 0, 1))
        self._lines.append(f"setp.{order}.{kind} %p, %r{len(values) - 1}, {limit};")
        last, end = (item % (1 << 32) if kind == "u32" else _wrapped(item) for item in (values[-1], np.int64(limit)))
        negated = self._random.choice(("", "!"))
        self.expected = np.where(ORDERS[order](last, end) == (not negated), 1, 2)
        self.text = CHOICE.format(name=self.name, lines=" ".join(self._lines), guard=f"@{negated}%p")

    def _step(self, name: str, first: Array, second: Array, operands: str) -> Array:
        """Append an instruction and return its results."""
        self._lines.append(f"{name} %r{len(self._lines) + 1}, {operands};")
        return _wrapped(STEPS[name](first, second))


def _wrapped(value: Array) -> Array:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def test_random_branches_are_decided_as_each_thread_decides_them(optimised_host):
    """Every thread chooses as its version decides, with 64 threads and with more."""
    choices = [Choice(seed) for seed in seeds(150)]
    functions = parse(HEAD + "".join(item.text for item in choices)).functions
    decided = [(item, numbers) for item in choices if (numbers := chosen(functions[item.name]))]
    for item, numbers in decided:
        assert [*set(item.expected[:64])] == numbers, item.text
    run = [item for item, _ in decided[:8]]
    assert len(run) == 8
    module = optimised_host.load_module(HEAD + "".join(item.text for item in run))
    out = optimised_host.upload(np.zeros(96, np.int32))
    for item in run:
        for threads in (1, 64, 96):
            optimised_host.launch(module.kernel(item.name), (1,), (threads,), [out])
            assert np.array_equal(out.download()[:threads], item.expected[:threads]), f"{threads} threads: {item.text}"
    out.free()
