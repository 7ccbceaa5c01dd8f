"""Element types as numbers, for kernels that take a buffer's element type at launch; see `kernels/elements.cuh`."""

import numpy as np

from warploom.engine.types.dtype import DType
from warploom.engine.types.scalars import bf16, f32, f64

#: Flags above the size of an element in bytes, which takes the low 16 bits.
FLOAT = 1 << 16
SIGNED = 1 << 17
BRAIN = 1 << 18
BOOLEAN = 1 << 19
SIZE = FLOAT - 1
#: The position of 4 bits with the size of each float if an element has several, as a complex number has; else 0.
PARTS_AT = 20


def element_number(dtype: DType) -> int:
    """Return an element's size in bytes, in the low 16 bits, with the kind of number above them."""
    flags = FLOAT if dtype.kind == "float" else 0
    flags |= SIGNED if dtype.kind == "integer" and np.issubdtype(dtype.numpy, np.signedinteger) else 0
    flags |= (BRAIN if dtype == bf16 else 0) | (BOOLEAN if dtype.kind == "boolean" else 0)
    if dtype.kind in ("complex", "vector", "struct"):
        part = number_of(dtype)
        flags |= part.size_bytes << PARTS_AT if part is not None and part.kind == "float" else 0
    return dtype.size_bytes | flags


def number_of(dtype: DType) -> DType | None:
    """Return the scalar that elements are made of, without gaps, such as f32 of `float4`; None when there is no single
    one.
    """
    if dtype.kind == "complex":
        return f32 if dtype.size_bytes == 8 else f64
    if dtype.of is not None:
        return number_of(dtype.of)
    if not dtype.fields:
        return dtype if dtype.kind in ("float", "integer", "boolean") else None
    scalars = {number_of(each) for each in dtype.fields.values()}
    is_dense = sum(each.size_bytes for each in dtype.fields.values()) == dtype.size_bytes
    return scalars.pop() if len(scalars) == 1 and is_dense else None
