"""Sparse products by scipy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from engine.libraries.sparse import SparseProduct


def multiply(call: SparseProduct, arrays: Mapping[str, np.ndarray[Any, Any]], numbers: Mapping[str, Any]) -> None:
    """out = alpha A x; ValueError for rows and columns that aren't there, which scipy would read without a check."""
    offsets, columns, x = arrays["offsets"], arrays["columns"], arrays["x"]
    width = call.width if call.transpose else x.shape[0]
    if offsets[0] != 0 or offsets[-1] != len(columns) or np.any(np.diff(offsets) < 0):
        raise ValueError(f"offsets must rise from 0 to {len(columns)}, got {offsets[0]} to {offsets[-1]}")
    if len(columns) and (columns.min() < 0 or columns.max() >= width):
        raise ValueError(f"columns must be from 0 to {width - 1}, got {columns.min()} to {columns.max()}")
    matrix = csr_array((arrays["values"], columns, offsets), (len(offsets) - 1, width))
    arrays["out"][...] = ((matrix.T if call.transpose else matrix) @ x) * x.dtype.type(numbers["alpha"])


FUNCTIONS = {SparseProduct: multiply}
