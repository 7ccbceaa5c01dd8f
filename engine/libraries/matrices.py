"""Matrices and vectors for dense linear algebra: the supported layouts, and their form in BLAS and LAPACK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from warploom.engine.libraries.call import OperandError
from warploom.engine.types import DType, bf16, c64, c128, f16, f32, f64
from warploom.engine.types.layout import Layout

#: Elements that BLAS and LAPACK have a routine for, each with its real type.
REAL_OF: Mapping[DType, DType] = {f32: f32, f64: f64, c64: f32, c128: f64}
FULL = tuple(REAL_OF)
#: Elements of matrix products; those of f16 and bf16 are summed in f32.
NUMBERS: tuple[DType, ...] = (f16, bf16, *FULL)


def common_type(inputs: Mapping[str, Layout], slots: Sequence[str], accepted: Sequence[DType]) -> DType:
    """Return the element type that all of these inputs have. Raise OperandError if they differ or have another one."""
    there = [slot for slot in slots if slot in inputs]
    dtype = inputs[there[0]].dtype
    if dtype not in accepted:
        names = ", ".join(map(str, accepted))
        raise OperandError(there[0], f"elements must be one of {names}, got {dtype}")
    for slot in there[1:]:
        if inputs[slot].dtype != dtype:
            raise OperandError(slot, f"elements must be {dtype}, as in {there[0]}, got {inputs[slot].dtype}")
    return dtype


@dataclass(frozen=True)
class Matrix:
    """How BLAS sees a row-major layout: `rows` x `columns`, `leading` elements from one row to the next.

    When it `is_transposed`, columns lie without gaps, and `leading` is from one column to the next. There are `count`
    matrices, `distance` elements apart.
    """

    rows: int
    columns: int
    leading: int
    is_transposed: bool
    count: int
    distance: int


def matrix_of(layout: Layout) -> Matrix:
    """Return how BLAS sees the last two axes. Raise ValueError, with a sentence, when it can't read them."""
    *axes, rows, columns = layout.shape
    *steps, row_step, column_step = layout.element_strides
    if column_step == 1 or columns == 1:
        leading, is_transposed = (row_step if rows > 1 else columns), False
    elif row_step == 1 or rows == 1:
        leading, is_transposed = (column_step if columns > 1 else rows), True
    else:
        text = f"matrix must have its rows or its columns without gaps, got strides {list(layout.element_strides)}"
        raise ValueError(text)
    if leading < (rows if is_transposed else columns):
        raise ValueError(f"rows of a matrix must not overlap, got strides {list(layout.element_strides)}")
    return Matrix(rows, columns, max(leading, 1), is_transposed, *pieces("matrices", axes, steps))


@dataclass(frozen=True)
class Vectors:
    """`count` vectors of `size` elements, which are `step` elements apart; the vectors are `distance` apart."""

    size: int
    step: int
    count: int
    distance: int


def vectors_of(layout: Layout) -> Vectors:
    """Return how BLAS sees the last axis. Raise ValueError, with a sentence, when it can't read it."""
    *axes, size = layout.shape
    *steps, step = layout.element_strides
    return Vectors(size, step if size > 1 else 1, *pieces("vectors", axes, steps))


def flat_of(layout: Layout) -> Vectors:
    """Return all elements of a layout as one vector; `check_vector` says whether there is one."""
    if layout.strides is None:
        return Vectors(prod(layout.shape), 1, 1, 0)
    return vectors_of(layout)


@dataclass(frozen=True)
class Stack:
    """`count` matrices of `rows` x `columns`, with the distances in elements of matrices, rows and columns."""

    count: int
    rows: int
    columns: int
    steps: tuple[int, int, int]


def stack_of(layout: Layout, *, vectors: bool = False) -> Stack:
    """Return the matrices of the last two axes, or the vectors of the last one as columns."""
    shape, strides = layout.shape, layout.element_strides
    if vectors:
        shape, strides = (*shape, 1), (*strides, 1)
    *axes, rows, columns = shape
    count, distance = pieces("matrices", axes, strides[:-2])
    return Stack(count, rows, columns, (distance, strides[-2], strides[-1]))


def check_matrix(slot: str, layout: Layout) -> None:
    """Raise OperandError unless the last two axes are a matrix that BLAS can work on."""
    check_axes(slot, layout)
    try:
        matrix_of(layout)
    except ValueError as problem:
        raise OperandError(slot, str(problem)) from None


def check_axes(slot: str, layout: Layout) -> None:
    """Raise OperandError when there are fewer than two axes."""
    if len(layout.shape) < 2:
        raise OperandError(slot, f"matrix must have 2 dimensions or more, got shape {list(layout.shape)}")


def check_vector(slot: str, layout: Layout) -> None:
    """Raise OperandError unless all elements lie at equal distances: one axis, or any without gaps."""
    if layout.strides is not None and len(layout.shape) != 1:
        raise OperandError(slot, f"vector must have one dimension or no gaps, got {layout}")


def repeated_axes(a: Sequence[int], b: Sequence[int], slot: str) -> tuple[int, ...]:
    """Return the leading axes of two operands, of which one may have none.

    Raise OperandError at `slot`, that of the second operand, if the axes differ.
    """
    axes = tuple(a) or tuple(b)
    if tuple(b) not in (axes, ()):
        raise OperandError(slot, f"leading axes must be {list(axes)}, as in a, got {list(b)}")
    return axes


def check_like(slot: str, given: Layout, expected: Layout) -> None:
    """Raise OperandError unless an operand has the shape of another and no gaps."""
    if (given.shape, given.strides) != (expected.shape, None):
        raise OperandError(slot, f"{slot} must be of shape {list(expected.shape)} without gaps, got {given}")


def pieces(what: str, sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Return how many pieces the leading axes hold, and the distance of neighbours in elements, 0 for a single one.

    Raise ValueError, with a sentence about `what` the pieces are, when distances differ.
    """
    distance, passed = 0, 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1:
            continue
        distance = distance or stride
        if stride != distance * passed:
            raise ValueError(f"{what} must lie at equal distances, got strides {list(strides)}")
        passed *= size
    return prod(sizes), distance
