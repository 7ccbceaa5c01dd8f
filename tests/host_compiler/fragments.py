"""Which matrix elements a thread of a warp stores for mma.sync, as in the figures of the PTX manual."""

from collections.abc import Callable

import numpy as np

HEAD = ".version 8.4\n.target sm_90\n.address_size 64\n"
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "e4m3": 8, "e5m2": 8} | {
    f"{sign}{size}": size for sign in "su" for size in (4, 8)
}
#: (element of the thread, thread) -> (row, column).
Place = Callable[[int, int], tuple[int, int]]


def per_register(kind: str) -> int:
    """Return how many elements a register holds; a word of single bits counts as one element."""
    return 1 if kind == "b1" else max(32 // BITS[kind], 1)


def multiplicand_a(rows: int, per: int) -> Place:
    """Place elements of A: registers continue 8 rows down if there are 16 rows, and then in later columns."""

    def place(element: int, lane: int) -> tuple[int, int]:
        register, within = divmod(element, per)
        down, right = (register % 2, register // 2) if rows == 16 else (0, register)
        return lane // 4 + 8 * down, lane % 4 * per + within + 4 * per * right

    return place


def multiplicand_b(per: int) -> Place:
    """Place elements of B: four threads share a column, `per` elements each, and continue in the rows below."""
    return lambda element, lane: (lane % 4 * per + element % per + 4 * per * (element // per), lane // 4)


def accumulator() -> Place:
    """Place elements of C or D: two neighbours in a row, then the same columns eight rows further down."""
    return lambda element, lane: (lane // 4 + 8 * (element // 2), lane % 4 * 2 + element % 2)


def spread(matrix: np.ndarray, elements: int, place: Place) -> np.ndarray:
    """Return a matrix as an array of (thread, element)."""
    return np.array([[matrix[place(element, lane)] for element in range(elements)] for lane in range(32)])


def packed(held: np.ndarray, kind: str) -> np.ndarray:
    """Return (thread, element) as (thread, register); short elements share a register, the first in the lowest bits."""
    if kind in ("b1", "f64", "f32", "tf32", "s32"):
        return held
    per, size = per_register(kind), BITS[kind]
    bits = held.view(f"u{held.itemsize}").astype(np.uint32) & np.uint32((1 << size) - 1)
    words = np.zeros((32, held.shape[1] // per), np.uint32)
    for index in range(per):
        words |= bits[:, index::per] << np.uint32(size * index)
    return words


def kernel(opcode: str, kinds: str, counts: tuple[int, int, int, int]) -> str:
    """Return PTX in which each thread loads its registers of A, B and C, runs one mma, and stores its registers of D.

    `kinds` has the register widths ("r" or "x"), and `counts` the numbers of registers, of A, B, C and D.
    """
    size = {"r": 4, "x": 8}
    text = [HEAD, ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {"]
    text += [".reg .b64 %at; .reg .b32 %lane; mov.u32 %lane, %laneid;"]
    lists = {}
    for name, kind, count in zip("abcd", kinds, counts, strict=True):
        text.append(f".reg .b{8 * size[kind]} %{name}<{count}>;")
        lists[name] = "{" + ", ".join(f"%{name}{index}" for index in range(count)) + "}"
        if name == "d":
            text.append(f"{opcode} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};")
        text.append(f"ld.param.u64 %at, [p{name}]; mad.wide.u32 %at, %lane, {size[kind] * count}, %at;")
        for index in range(count):
            place, register = f"[%at+{size[kind] * index}]", f"%{name}{index}"
            pair = f"{place}, {register}" if name == "d" else f"{register}, {place}"
            text.append(f"{'st' if name == 'd' else 'ld'}.global.b{8 * size[kind]} {pair};")
    return "\n".join([*text, "ret; }"])
