"""The number that tells a kernel an element type; `kernels/elements.cuh` takes it apart."""

from __future__ import annotations

import numpy as np

from engine.types import DType, bf16

FLOAT = 1 << 16
SIGNED = 1 << 17
BRAIN = 1 << 18
BOOLEAN = 1 << 19


def element_number(dtype: DType) -> int:
    """Return an element's size in bytes, in the low 16 bits, with what kind of number it is above them."""
    flags = FLOAT if dtype.kind == "float" else 0
    flags |= SIGNED if dtype.kind == "integer" and np.issubdtype(dtype.numpy, np.signedinteger) else 0
    flags |= (BRAIN if dtype == bf16 else 0) | (BOOLEAN if dtype.kind == "boolean" else 0)
    return dtype.size_bytes | flags
