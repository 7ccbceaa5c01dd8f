"""Matrices in scratch memory, stored column by column for LAPACK's routines, and the kernels that copy them there."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_int, c_longlong, c_ulonglong, c_void_p
from enum import IntEnum
from typing import Any

from warploom.engine.libraries.cuda.plan import THREADS, Handles
from warploom.engine.libraries.lapack import CODE_BITS
from warploom.engine.libraries.matrices import Stack
from warploom.engine.types import DType, c64, c128, f32, f64
from warploom.engine.types.layout import ALLOCATION_ALIGNMENT

#: Element types as `kernels/lapack.cu` numbers them.
_TYPES: Mapping[DType, int] = {f32: 0, f64: 1, c64: 2, c128: 3}
#: Element types as `kernels/orthogonal.cu` names them.
_ELEMENTS: Mapping[DType, str] = {
    f32: "RealElements<float>",
    f64: "RealElements<double>",
    c64: "ComplexElements<float>",
    c128: "ComplexElements<double>",
}
_FILE, _ORTHOGONAL = "lapack.cu", "orthogonal.cu"


class MatrixPart(IntEnum):
    """The part of a matrix that is copied; the rest is zero. `UNIT_LOWER` has ones in its diagonal."""

    ALL = 0
    LOWER = 1
    UPPER = 2
    UNIT_LOWER = 3
    IDENTITY = 4


def by_columns(count: int, rows: int, columns: int) -> Stack:
    """Return matrices that lie one after another, each column by column."""
    return Stack(count, rows, columns, (rows * columns, 1, rows))


def transposed(stack: Stack) -> Stack:
    """Return the same memory with rows as columns."""
    matrix, row, column = stack.steps
    return Stack(stack.count, stack.columns, stack.rows, (matrix, column, row))


class Scratch:
    """Parts of a plan's scratch memory, by their distance from its start."""

    def __init__(self) -> None:
        self.size_bytes = 0

    def take(self, size_bytes: int) -> int:
        """Return the place of a new part."""
        place = self.size_bytes
        self.size_bytes = place + -(-max(size_bytes, 1) // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT
        return place


class MatrixKernels:
    """The kernels of `kernels/lapack.cu` and `kernels/orthogonal.cu`, launched on a stream."""

    def __init__(self, handles: Handles, dtype: DType) -> None:
        self._handles, self._type, self._elements = handles, _TYPES[dtype], _ELEMENTS[dtype]
        handles.load(_FILE)  # loaded before anything is captured
        handles.load(_ORTHOGONAL, self._elements)

    def copy(
        self,
        stream: int,
        target: tuple[int, Stack],
        source: tuple[int, Stack],
        part: MatrixPart = MatrixPart.ALL,
        *,
        conjugate: bool = False,
    ) -> None:
        """Copy matrices of the target's sizes; source and target are each an address and a stack."""
        to, of = target[1], source[1]
        total = to.count * to.rows * to.columns
        sizes = [(total, c_longlong), (to.rows, c_int), (to.columns, c_int)]
        steps = [(step, c_longlong) for step in (*to.steps, *of.steps)]
        rest = [(self._type, c_int), (int(part), c_int), (int(conjugate), c_int)]
        addresses = [(target[0], c_void_p), (source[0], c_void_p)]
        self._launch("copy_matrices", total, stream, *addresses, *sizes, *steps, *rest)

    def addresses(self, stream: int, target: int, first: int, distance_bytes: int, count: int) -> None:
        """Write the addresses of matrices."""
        rest = (first, c_ulonglong), (distance_bytes, c_longlong), (count, c_int)
        self._launch("matrix_addresses", count, stream, (target, c_void_p), *rest)

    def first_code(self, stream: int, word: int, codes: int, count: int) -> None:
        """Put LAPACK's codes into one word, as `info_word` does."""
        rest = (count, c_int), (CODE_BITS, c_int)
        self._launch("first_code", THREADS, stream, (word, c_void_p), (codes, c_void_p), *rest)

    def dependent_columns(self, stream: int, codes: int, r: tuple[int, Stack]) -> None:
        """Write a code for each matrix R, stored by columns: the diagonal element that is lost in rounding."""
        address, stack = r
        sizes = (stack.rows, c_int), (stack.columns, c_int), (stack.count, c_int), (self._type, c_int)
        self._launch("dependent_columns", stack.count, stream, (codes, c_void_p), (address, c_void_p), *sizes)

    def row_order(self, stream: int, order: int, pivots: int, sizes: tuple[int, int, int]) -> None:
        """Turn pivots into the order of rows; sizes are rows, pivots and matrices."""
        numbers = [(size, c_int) for size in sizes]
        self._launch("row_order", sizes[2], stream, (order, c_void_p), (pivots, c_void_p), *numbers)

    def scale(self, stream: int, matrices: int, scales: int, stack: Stack, *, is_hermitian: bool) -> None:
        """Scale matrices, stored by columns, for the next two methods, as `kernels/orthogonal.cu` describes."""
        sizes = [(size, c_int) for size in (stack.rows, stack.columns, int(is_hermitian), stack.count)]
        self._launch_each("scale_matrices", stack, stream, (matrices, c_void_p), (scales, c_void_p), *sizes)

    def orthonormalize(self, stream: int, vectors: int, stack: Stack) -> None:
        """Make the columns of square matrices, stored by columns, orthonormal."""
        sizes = (stack.rows, c_int), (stack.count, c_int)
        self._launch_each("orthonormalize", stack, stream, (vectors, c_void_p), *sizes)

    def singular_values(self, stream: int, addresses: tuple[int, ...], stack: Stack) -> None:
        """Decompose matrices a, stored by columns; the addresses are of a, w, u, s, v, scales and codes."""
        sizes = [(size, c_int) for size in (stack.rows, stack.columns, stack.count)]
        places = [(address, c_void_p) for address in addresses]
        self._launch_each("singular_values", stack, stream, *places, *sizes)

    def _launch_each(self, entry: str, stack: Stack, stream: int, *arguments: tuple[int, Any]) -> None:
        """Launch one thread block per matrix, with a warp for each two columns."""
        thread_block = 32 * min(-(-stack.columns // 2), 32)
        sizes: dict[str, Any] = {"thread_block": thread_block, "elements": self._elements}
        self._launch(entry, stack.count * thread_block, stream, *arguments, file=_ORTHOGONAL, **sizes)

    def _launch(
        self, entry: str, threads: int, stream: int, *arguments: tuple[int, Any], file: str = _FILE, **more: Any
    ) -> None:
        self._handles.launch(file, entry, threads, stream, *arguments, **more)
