"""Sparse products by scipy."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from warploom.engine.libraries.host.backend import NamedArrays, NamedNumbers
from warploom.engine.libraries.sparse import BAD_OFFSET, MOST, SparseProduct
from warploom.engine.types import Array


def multiply(call: SparseProduct, arrays: NamedArrays, numbers: NamedNumbers) -> None:
    """out = alpha A x; NaN for missing rows and columns, which scipy would read without a check."""
    offsets, columns, x = arrays["offsets"], arrays["columns"], arrays["x"]
    width = call.width if call.transpose else x.shape[0]
    arrays["info"][0] = word = first_wrong(offsets, columns, width)
    if word:
        arrays["out"][...] = np.nan
        return
    matrix = csr_array((arrays["values"], columns, offsets), (len(offsets) - 1, width))
    arrays["out"][...] = ((matrix.T if call.transpose else matrix) @ x) * x.dtype.type(numbers["alpha"])


def first_wrong(offsets: Array, columns: Array, width: int) -> int:
    """Return the info word for a matrix: 0 when its offsets rise from 0 to the end, and its columns exist."""
    wrong = np.concatenate(([offsets[0] != 0], offsets[1:] < offsets[:-1]))
    wrong[-1] |= offsets[-1] != len(columns)
    if wrong.any():
        return BAD_OFFSET | MOST - int(wrong.argmax())
    wrong = (columns < 0) | (columns >= width)
    return MOST - int(wrong.argmax()) if wrong.any() else 0


FUNCTIONS = {SparseProduct: multiply}
