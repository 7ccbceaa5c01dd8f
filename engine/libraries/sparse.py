"""Products with sparse matrices in CSR form: `offsets` has the index of each row's first entry in `columns` and
`values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.matrices import common_type
from warploom.engine.types import f32, f64, s32, u32
from warploom.engine.types.layout import Layout

#: An info word is 0, or `MOST` minus the index of the first wrong column, or this bit and the same for an offset.
BAD_OFFSET = 1 << 31
MOST = BAD_OFFSET - 1
_REMEDY = "correct the matrix, or check whether it fits x"


@dataclass(frozen=True)
class SparseProduct(LibraryCall):
    """out = alpha A x, with A in CSR form of m rows: offsets [m + 1] and columns [nnz] of s32, values [nnz].

    Values are f32 or f64. x is a vector [n] or a matrix [n, k], and out [m] or [m, k]. With `transpose`, x has m rows
    and out `width`, the number of A's columns. `columns` must lie below the number of A's columns, and `offsets` rise
    from 0 to nnz. Otherwise out is NaN, and `info` an error code that is not 0. Without `checked`, a GPU takes the
    matrix as it is, which saves three launches and a copy of it; a wrong one may then end in a fault.
    """

    transpose: bool = False
    width: int = 0
    checked: bool = True

    library = "sparse"
    inputs = ("offsets", "columns", "values", "x")
    outputs = ("out", "info")
    optional = frozenset({"info"})
    numbers = {"alpha": 1.0}  # noqa: RUF012 - never changed
    scaled = "values"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the product's layout."""
        dtype = common_type(inputs, ("values", "x"), (f32, f64))
        for slot in ("offsets", "columns", "values"):
            layout = inputs[slot]
            if len(layout.shape) != 1 or layout.strides is not None:
                raise OperandError(slot, f"input must have one dimension without gaps, got {layout}")
            if slot != "values" and layout.dtype != s32:
                raise OperandError(slot, f"elements must be s32, got {layout.dtype}")
        if inputs["columns"].shape != inputs["values"].shape:
            wanted, found = inputs["columns"].shape[0], inputs["values"].shape[0]
            raise OperandError("values", f"input must have {wanted} elements as columns, got {found}")
        x, rows = inputs["x"], inputs["offsets"].shape[0] - 1
        if len(x.shape) not in (1, 2) or x.strides is not None:
            raise OperandError("x", f"input must be a vector or a matrix without gaps, got {x}")
        if rows < 1:
            raise OperandError("offsets", "input must have two elements or more, got one")
        if self.transpose and x.shape[0] != rows:
            raise OperandError("x", f"input must have {rows} rows, as the matrix has, got {x.shape[0]}")
        if self.transpose and self.width < 1:
            raise OperandError("x", f"width of a transposed matrix must be 1 or more, got {self.width}")
        out = Layout(dtype, (self.width if self.transpose else rows, *x.shape[1:]))
        return {"out": out, "info": Layout(u32, (1,))}

    def problem(self, word: int) -> tuple[str, str]:
        """Return the error of the matrix."""
        place = MOST - (word & MOST)
        if word & BAD_OFFSET:
            return f"offsets must rise from 0 to the number of columns, got another one at {place}", _REMEDY
        return f"columns must be those of the matrix, got another one at {place}", _REMEDY
