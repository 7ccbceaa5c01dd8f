"""Element types as numbers, for kernels that are told at launch what a buffer holds; see `kernels/elements.cuh`."""

import numpy as np

from engine.types.dtype import DType
from engine.types.scalars import bf16

#: Flags above the size of an element in bytes, which takes the low 16 bits.
FLOAT = 1 << 16
SIGNED = 1 << 17
BRAIN = 1 << 18
BOOLEAN = 1 << 19
SIZE = FLOAT - 1


def element_number(dtype: DType) -> int:
    """Return an element's size in bytes, in the low 16 bits, with what kind of number it is above them."""
    flags = FLOAT if dtype.kind == "float" else 0
    flags |= SIGNED if dtype.kind == "integer" and np.issubdtype(dtype.numpy, np.signedinteger) else 0
    flags |= (BRAIN if dtype == bf16 else 0) | (BOOLEAN if dtype.kind == "boolean" else 0)
    return dtype.size_bytes | flags
