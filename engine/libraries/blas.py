"""Linear algebra with dense matrices and vectors, as BLAS has it; matrices are row-major like every buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.libraries.call import LibraryCall, OperandError
from engine.libraries.layouts import pieces
from engine.types import DType, bf16, c64, c128, f16, f32, f64
from engine.types.layout import Layout

#: What the library computes with; products of f16 and bf16 are summed in f32.
NUMBERS: tuple[DType, ...] = (f16, bf16, f32, f64, c64, c128)


@dataclass(frozen=True)
class Gemm(LibraryCall):
    """out = alpha a b + beta c, with a [..., m, k], b [..., k, n], c and out [..., m, n].

    `transpose_a` and `transpose_b` take a [..., k, m] and b [..., n, k]. All have the same leading axes, over which the
    product is repeated; a or b may have none, and is then the same for each. All have one element type: f16, bf16, f32,
    f64, c64 or c128.
    """

    transpose_a: bool = False
    transpose_b: bool = False

    library = "blas"
    inputs = ("a", "b", "c")
    outputs = ("out",)
    optional = frozenset({"c"})
    numbers = {"alpha": 1.0, "beta": 1.0}  # noqa: RUF012 - never changed

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the product's layout."""
        dtype = common_type(inputs, ("a", "b", "c"), NUMBERS)
        for slot in ("a", "b"):
            _matrix(slot, inputs[slot])
        a, b = inputs["a"].shape, inputs["b"].shape
        m, k = a[-2:][:: -1 if self.transpose_a else 1]
        inner, n = b[-2:][:: -1 if self.transpose_b else 1]
        if inner != k:
            what = "columns" if self.transpose_b else "rows"
            raise OperandError("b", f"matrix must have {k} {what} to be multiplied with a, got shape {list(b)}")
        axes = a[:-2] or b[:-2]
        if b[:-2] not in (axes, ()):
            raise OperandError("b", f"leading axes must be {list(axes)} as in a, got {list(b[:-2])}")
        shape = (*axes, m, n)
        if "c" in inputs and (inputs["c"].shape, inputs["c"].strides) != (shape, None):
            text = f"matrix must be of shape {list(shape)} without gaps, got {inputs['c']}"
            raise OperandError("c", text)
        return {"out": Layout(dtype, shape)}


def common_type(inputs: Mapping[str, Layout], slots: Sequence[str], accepted: Sequence[DType]) -> DType:
    """Return the element type that all of these inputs have; OperandError when they differ or have another one."""
    there = [slot for slot in slots if slot in inputs]
    dtype = inputs[there[0]].dtype
    if dtype not in accepted:
        names = ", ".join(map(str, accepted))
        raise OperandError(there[0], f"elements must be one of {names}, got {dtype}")
    for slot in there[1:]:
        if inputs[slot].dtype != dtype:
            raise OperandError(slot, f"elements must be {dtype} as in {there[0]}, got {inputs[slot].dtype}")
    return dtype


def _matrix(slot: str, layout: Layout) -> None:
    if len(layout.shape) < 2:
        raise OperandError(slot, f"matrix must have 2 dimensions or more, got shape {list(layout.shape)}")
    try:
        matrix_of(layout)
    except ValueError as problem:
        raise OperandError(slot, str(problem)) from None


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
    """Return how BLAS sees the last two axes; ValueError, with a sentence, when it can't."""
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
    count, distance = pieces("matrices", axes, steps)
    return Matrix(rows, columns, max(leading, 1), is_transposed, count, distance)
