"""Which thread of a warp holds which matrix element: the fragment layouts of mma, wmma and ldmatrix.

A fragment is described by a table: for each element of the matrix, row by row, the byte offset of that element from the
warp's place in the first exchange array. Arrays follow each other in steps of `ARRAY_BYTES`, threads in steps of 4.
Formulas for mma are those of the PTX manual; those of wmma are this device's own, since the manual leaves them open.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from warploom.engine.host_compiler.abi import ARRAY_BYTES
from warploom.engine.host_compiler.analysis.control_flow import elements_of
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.ptx.tree import Instruction

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
#: One place of a fragment: (thread, register, element of the register, elements per register) -> (row, column).
ElementPosition = Callable[[int, int, int, int], tuple[int, int]]


@dataclass(frozen=True)
class WarpMatrix:
    """A matrix as a warp holds it: element type, rows, columns, registers of a thread, and where each element is.

    The offsets count half bytes.
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
    """A product D = A B + C, or `batch` of them: each matrix then has the rows of all, one product after the other."""

    a: WarpMatrix
    b: WarpMatrix
    c: WarpMatrix
    d: WarpMatrix
    batch: int = 1
    operation: str = ""  # "xor" or "and" for single bits
    saturates: bool = False
    rounding: str = ""  # of f64: "rz", "rm" or "rp"; "" is to nearest


def matrix(kind: str, rows: int, columns: int, registers: int, place: ElementPosition, threads: int = 32) -> WarpMatrix:
    """Return a matrix whose elements lie where `place` says; single bits count as 32-bit words of a row."""
    bits, per_register = 32 if kind == "b1" else ELEMENT_BITS[kind], _per(kind)
    words = 2 if bits == 64 else 1
    table = [-1] * (rows * columns)
    for thread in range(threads):
        for register in range(registers):
            for element in range(per_register):
                row, column = place(thread, register, element, per_register)
                nibbles = 2 * (register * words * ARRAY_BYTES + 4 * thread) + element * bits // 4
                table[row * columns + column] = nibbles
    assert min(table) >= 0, (kind, rows, columns, registers)
    return WarpMatrix(kind, rows, columns, registers, tuple(table))


def _per(kind: str) -> int:
    """Return how many elements a 32-bit register holds."""
    return 1 if kind == "b1" else max(32 // ELEMENT_BITS[kind], 1)


def _multiplicand_a(thread: int, register: int, element: int, per: int) -> tuple[int, int]:
    """Return the row and the column of an element of mma's A with 16 rows."""
    group, index = divmod(thread, 4)
    return group + 8 * (register & 1), (index + 4 * (register >> 1)) * per + element


def _multiplicand_a8(thread: int, register: int, element: int, per: int) -> tuple[int, int]:
    """Return the row and the column of an element of mma's A with 8 rows."""
    group, index = divmod(thread, 4)
    return group, (index + 4 * register) * per + element


def _multiplicand_b(thread: int, register: int, element: int, per: int) -> tuple[int, int]:
    column, row = _multiplicand_a8(thread, register, element, per)
    return row, column


def _accumulator(thread: int, register: int, element: int, per: int) -> tuple[int, int]:
    """Return the row and the column of an element of mma's C and D."""
    group, index = divmod(thread, 4)
    number = register * per + element
    return group + 8 * (number >> 1), index * 2 + (number & 1)


# mma.m8n8k4 of f16 is four products, each of which two groups of four threads hold.


def _quad_a(layout: str, thread: int, register: int, element: int, _: int) -> tuple[int, int]:
    half, pair, number = thread >> 4, (thread & 15) >> 2, 2 * register + element
    line, place = (thread % 4, number) if layout == "row" else (number, thread % 4)
    return 8 * pair + 4 * half + line, place


def _quad_b(layout: str, thread: int, register: int, element: int, _: int) -> tuple[int, int]:
    half, pair, number = thread >> 4, (thread & 15) >> 2, 2 * register + element
    line, place = (thread % 4, number) if layout == "row" else (number, thread % 4)
    return 4 * pair + line, place + 4 * half


def _quad_c(thread: int, register: int, element: int, per: int) -> tuple[int, int]:
    half, pair = thread >> 4, (thread & 15) >> 2
    if per == 2:  # f16
        return 8 * pair + thread % 4 + 4 * half, 2 * register + element
    row = (thread & 1) + (register & 2) + 4 * half
    return 8 * pair + row, (register & 4) + (thread & 2) + (register & 1)


_DENSE = "use dense mma.sync of f16, bf16, tf32, f64, 8-bit or 4-bit integers, e4m3, e5m2 or single bits"


def _shape(instruction: Instruction) -> tuple[int, int, int]:
    for modifier in instruction.modifiers:
        match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", modifier)
        if match:
            return int(match[1]), int(match[2]), int(match[3])
    raise unsupported(instruction, _DENSE)


def _kinds(instruction: Instruction) -> list[str]:
    return [item for item in instruction.modifiers if item in ELEMENT_BITS]


def _product(instruction: Instruction, a: WarpMatrix, b: WarpMatrix, c: WarpMatrix, d: WarpMatrix) -> Product:
    """Return a product, with the instruction's bit operation, limits and rounding."""
    modifiers = instruction.modifiers
    return Product(
        a,
        b,
        c,
        d,
        operation=next((item for item in ("xor", "and") if item in modifiers), ""),
        saturates="satfinite" in modifiers,
        rounding=next((item for item in ("rz", "rm", "rp") if item in modifiers), ""),
    )


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
                matrix(a, 32, 4, counts[1], partial(_quad_a, layouts[0])),
                matrix(b, 16, 8, counts[2], partial(_quad_b, layouts[1])),
                matrix(c, 32, 8, counts[3], _quad_c),
                matrix(d, 32, 8, counts[0], _quad_c),
                batch=4,
            )
        words = depth // 32 if a == "b1" else depth
        return _product(
            instruction,
            matrix(a, rows, words, counts[1], _multiplicand_a if rows == 16 else _multiplicand_a8),
            matrix(b, words, columns, counts[2], _multiplicand_b),
            matrix(c, rows, columns, counts[3], _accumulator),
            matrix(d, rows, columns, counts[0], _accumulator),
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


def _in_lines(kind: str, found: Lines, registers: int, *, transposed: bool) -> WarpMatrix:
    def place(thread: int, register: int, element: int, per: int) -> tuple[int, int]:
        line, start = found.start(thread)
        at = start + register * per + element
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
    return _product(instruction, made["a"], made["b"], made["c"], made["d"])


# -- eight by eight matrices of 16 bits -------------------------------------------------------------------------------


def permutation(mode: str, count: int, *, transposed: bool) -> Permutation:
    """Return, for each result word and thread, the byte offsets of its low and its high half.

    `mode` is "load" (rows handed over by threads 8j to 8j+7 become fragments), "store" (the reverse) or "move" (the
    transpose of a fragment).
    """

    def source(word: int, thread: int, part: int) -> int:
        if mode == "store":
            which, row, column = thread >> 3, thread & 7, 2 * word + part
        else:
            which, row, column = word, thread >> 2, 2 * (thread & 3) + part
        if which >= count:
            return 0
        if transposed or mode == "move":
            row, column = column, row
        array, holder = (column // 2, 8 * which + row) if mode == "load" else (which, 4 * row + column // 2)
        return array * ARRAY_BYTES + 4 * holder + 2 * (column & 1)

    words = 4 if mode == "store" else count
    return [[(source(word, thread, 0), source(word, thread, 1)) for thread in range(32)] for word in range(words)]
