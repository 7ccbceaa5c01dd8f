"""Which thread of a warp holds which matrix element: the fragment layouts of mma, wmma and ldmatrix.

A fragment is described by a table: for each element of the matrix, row by row, the byte offset of that element from the
warp's place in the first exchange array. Arrays follow each other in steps of `ARRAY_BYTES`, threads in steps of 4.
Formulas for mma are those of the PTX manual; those of wmma are this device's own, since the manual leaves them open.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from engine.device.host.translate.abi import ARRAY_BYTES
from engine.device.host.translate.analysis.control_flow import elements_of
from engine.device.host.translate.errors import unsupported
from engine.ptx.tree import Instruction

#: Bits of an element of a matrix.
ELEMENT_BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s32": 32,
    "s8": 8,
    "u8": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
    "e4m3": 8,
    "e5m2": 8,
}
#: One place of a fragment: (thread, register, element of the register) -> (row, column).
Place = Callable[[int, int, int], tuple[int, int]]


@dataclass(frozen=True)
class Matrix:
    """A matrix as a warp holds it: element type, rows, columns, and the nibble offset of each element.

    `count` is the number of registers and `size_bytes` of a register; the offsets count half bytes.
    """

    kind: str
    rows: int
    columns: int
    registers: int
    offsets: tuple[int, ...]

    @property
    def words(self) -> int:
        """32-bit words that a thread hands over."""
        return self.registers * (2 if self.kind == "f64" else 1)


Permutation = Sequence[Sequence[tuple[int, int]]]
"""For each result word and thread, the byte offsets of its low and its high half in the exchange arrays."""


@dataclass(frozen=True)
class Product:
    """One D = A B + C; `batch` of them are stacked in A, C and D, and in B, as further rows."""

    a: Matrix
    b: Matrix
    c: Matrix
    d: Matrix
    batch: int = 1
    operation: str = ""  # "xor" or "and" for single bits
    saturates: bool = False
    rounding: str = ""  # of f64: "rz", "rm" or "rp"; "" is to nearest


def matrix(kind: str, rows: int, columns: int, registers: int, place: Place, threads: int = 32) -> Matrix:
    """Return a matrix whose elements lie where `place` says; single bits count as 32-bit words of a row."""
    bits = 32 if kind == "b1" else ELEMENT_BITS[kind]
    per_register = max(32 // bits, 1)
    words = 2 if bits == 64 else 1
    table = [-1] * (rows * columns)
    for thread in range(threads):
        for register in range(registers):
            for element in range(per_register):
                row, column = place(thread, register, element)
                nibbles = 2 * (register * words * ARRAY_BYTES + 4 * thread) + element * bits // 4
                table[row * columns + column] = nibbles
    assert min(table) >= 0, (kind, rows, columns, registers)
    return Matrix(kind, rows, columns, registers, tuple(table))


def _group(thread: int) -> tuple[int, int]:
    return thread >> 2, thread & 3


def _multiplicand_a(per: int) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        group, index = _group(thread)
        return group + 8 * (register & 1), index * per + element + 4 * per * (register >> 1)

    return place


def _multiplicand_a8(per: int) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        group, index = _group(thread)
        return group, index * per + element + 4 * per * register

    return place


def _multiplicand_b(per: int) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        group, index = _group(thread)
        return index * per + element + 4 * per * register, group

    return place


def _accumulator(per: int) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        group, index = _group(thread)
        number = register * per + element
        return group + 8 * (number >> 1), index * 2 + (number & 1)

    return place


def _quad_a(layout: str) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        half, pair, number = thread >> 4, (thread & 15) >> 2, 2 * register + element
        if layout == "row":
            return 8 * pair + thread % 4 + 4 * half, number
        return 8 * pair + number + 4 * half, thread % 4

    return place


def _quad_b(layout: str) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        half, pair, number = thread >> 4, (thread & 15) >> 2, 2 * register + element
        if layout == "row":
            return 4 * pair + thread % 4, number + 4 * half
        return 4 * pair + number, thread % 4 + 4 * half

    return place


def _quad_c(kind: str) -> Place:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        half, pair = thread >> 4, (thread & 15) >> 2
        if kind == "f16":
            return 8 * pair + thread % 4 + 4 * half, 2 * register + element
        row = (thread & 1) + (register & 2) + 4 * half
        return 8 * pair + row, (register & 4) + (thread & 2) + (register & 1)

    return place


def _per(kind: str) -> int:
    return 1 if kind == "b1" else max(32 // ELEMENT_BITS[kind], 1)


_DENSE = "use dense mma.sync of f16, bf16, tf32, f64, 8-bit or 4-bit integers, e4m3, e5m2 or single bits"


def _shape(instruction: Instruction) -> tuple[int, int, int]:
    for modifier in instruction.modifiers:
        match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", modifier)
        if match:
            return int(match[1]), int(match[2]), int(match[3])
    raise unsupported(instruction, _DENSE)


def _kinds(instruction: Instruction) -> list[str]:
    return [item for item in instruction.modifiers if item in ELEMENT_BITS]


class _Options(TypedDict):
    operation: str
    saturates: bool
    rounding: str


def _options(instruction: Instruction) -> _Options:
    """Return how products are made of bits, and how sums are limited and rounded."""
    modifiers = instruction.modifiers
    return {
        "operation": next((item for item in ("xor", "and") if item in modifiers), ""),
        "saturates": "satfinite" in modifiers,
        "rounding": next((item for item in ("rz", "rm", "rp") if item in modifiers), ""),
    }


def mma(instruction: Instruction) -> Product:
    """Return the product that a `mma.sync` computes."""
    modifiers, kinds = instruction.modifiers, _kinds(instruction)
    rows, columns, depth = _shape(instruction)
    if len(kinds) != 4 or "sp" in modifiers or any(item.startswith(("sp:", "kind", "block")) for item in modifiers):
        raise unsupported(instruction, _DENSE)
    counts = [len(elements_of(operand)) for operand in instruction.operands[:4]]
    d, a, b, c = kinds
    try:
        if (rows, columns, depth, a) == (8, 8, 4, "f16"):
            layouts = [item for item in modifiers if item in ("row", "col")]
            return Product(
                matrix(a, 32, 4, counts[1], _quad_a(layouts[0])),
                matrix(b, 16, 8, counts[2], _quad_b(layouts[1])),
                matrix(c, 32, 8, counts[3], _quad_c(c)),
                matrix(d, 32, 8, counts[0], _quad_c(d)),
                batch=4,
            )
        words = depth // 32 if a == "b1" else depth
        place_a = _multiplicand_a if rows == 16 else _multiplicand_a8
        return Product(
            matrix(a, rows, words, counts[1], place_a(_per(a))),
            matrix(b, words, columns, counts[2], _multiplicand_b(_per(b))),
            matrix(c, rows, columns, counts[3], _accumulator(_per(c))),
            matrix(d, rows, columns, counts[0], _accumulator(_per(d))),
            **_options(instruction),
        )
    except (AssertionError, IndexError) as reason:
        raise unsupported(instruction, _DENSE) from reason


# -- wmma ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """A wmma fragment: each thread holds a run of elements of one line; several threads may hold the same."""

    lines: int
    length: int
    elements: int

    @property
    def per_line(self) -> int:
        """Threads that share a line."""
        return max(self.length // self.elements, 1)

    def start(self, thread: int) -> tuple[int, int]:
        """Return a thread's line and where its run begins."""
        return thread // self.per_line % self.lines, thread % self.per_line * self.elements


def lines(instruction: Instruction, role: str, kind: str, registers: int) -> Lines:
    """Return how a warp holds matrix `role` ("a", "b", "c" or "d")."""
    rows, columns, depth = _shape(instruction)
    elements = registers * _per(kind)
    if kind == "b1":
        depth //= 32
    found = {"a": Lines(rows, depth, elements), "b": Lines(columns, depth, elements)}.get(
        role, Lines(rows, columns, elements)
    )
    if found.length % elements or 32 * elements < found.lines * found.length:
        raise unsupported(instruction, _DENSE)
    return found


def _in_lines(kind: str, found: Lines, registers: int, *, transposed: bool) -> Matrix:
    def place(thread: int, register: int, element: int) -> tuple[int, int]:
        line, start = found.start(thread)
        at = start + register * _per(kind) + element
        return (at, line) if transposed else (line, at)

    rows, columns = (found.length, found.lines) if transposed else (found.lines, found.length)
    return matrix(kind, rows, columns, registers, place)


def wmma_kinds(instruction: Instruction) -> tuple[str, str, str, str]:
    """Return the types of D, A, B and C; f16 products name only D and C."""
    kinds = _kinds(instruction)
    if len(kinds) == 2:
        return kinds[0], "f16", "f16", kinds[1]
    if len(kinds) != 4:
        raise unsupported(instruction, _DENSE)
    return kinds[0], kinds[1], kinds[2], kinds[3]


def wmma(instruction: Instruction) -> Product:
    """Return the product that a `wmma.mma` computes."""
    operands = [elements_of(operand) for operand in instruction.operands[:4]]
    kinds = wmma_kinds(instruction)
    made = {}
    for role, kind, held in zip("dabc", kinds, operands, strict=True):
        found = lines(instruction, role, kind, len(held))
        made[role] = _in_lines(kind, found, len(held), transposed=role == "b")
    return Product(
        made["a"],
        made["b"],
        made["c"],
        made["d"],
        **_options(instruction),
    )


# -- eight by eight matrices of 16 bits -------------------------------------------------------------------------------


def permutation(mode: str, count: int, *, transposed: bool) -> Permutation:
    """Return, for each result word and thread, the byte offsets of its low and its high half.

    `mode` is "load" (rows handed over by threads 8j to 8j+7 become fragments), "store" (the reverse) or "move".
    """

    def half(array: int, thread: int, part: int) -> int:
        return array * ARRAY_BYTES + 4 * thread + 2 * part

    def held(which: int, row: int, column: int) -> int:
        """Return where element (row, column) of matrix `which` is in a fragment."""
        if transposed:
            row, column = column, row
        return half(which, 4 * row + column // 2, column & 1)

    if mode == "store":
        return [
            [
                (held(thread >> 3, thread & 7, 2 * word), held(thread >> 3, thread & 7, 2 * word + 1))
                if thread >> 3 < count
                else (0, 0)
                for thread in range(32)
            ]
            for word in range(4)
        ]
    found = []
    for which in range(count):
        row: list[tuple[int, int]] = []
        for thread in range(32):
            pair = []
            for part in (0, 1):
                r, c = thread >> 2, 2 * (thread & 3) + part
                if mode == "move":
                    pair.append(half(which, 4 * c + r // 2, r & 1))
                    continue
                if transposed:
                    r, c = c, r
                pair.append(half(c // 2, 8 * which + r, c & 1))
            row.append((pair[0], pair[1]))
        found.append(row)
    return found
