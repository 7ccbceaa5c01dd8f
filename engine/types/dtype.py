"""`DType`, the class of every element type, and `any_type`, which stands for all of them.

An element type is a class, so that it reads as a type in a block's declaration (``x: In[f32]``), and at the same time a
value with a size and a numpy layout (``f32.size_bytes``). The layout equals that of the CUDA C++ type of the same name,
so that a kernel and a block share it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class DType(type):
    """Metaclass of all element types; its instances (`f32`, `float4`, a `Struct`) are the element types themselves."""

    size_bytes: int
    alignment: int
    #: Layout of one element. For a vector this is a sub-array type, so arrays of it get one more axis.
    numpy: np.dtype[Any]
    #: Numbers in one element: 4 for `float4`, 2 for `c64`'s real and imaginary part, 1 for other scalars and a struct.
    components: int
    #: "float", "integer", "boolean", "complex", "vector", "struct", "any", or "array" for a field of a struct.
    kind: str
    #: A struct's fields by name; empty for every other type.
    fields: dict[str, DType]
    #: The type's name in CUDA C++, and the header that declares it ("" when the compiler knows it).
    cuda_name: str
    cuda_header: str
    #: The element type of a vector or an array; None for every other type.
    of: DType | None

    def __repr__(cls) -> str:
        return cls.__name__

    def __eq__(cls, other: object) -> bool:
        if cls is other:
            return True
        # A block's module may be loaded again, so two structs of one name and layout are the same type.
        return isinstance(other, DType) and cls.__name__ == other.__name__ and cls.numpy == other.numpy

    def __hash__(cls) -> int:
        return hash((cls.__name__, cls.size_bytes))


class any_type(metaclass=DType):
    """Any element type: a port of this type accepts buffers of every type."""

    numpy = np.dtype(np.void)
    size_bytes, alignment, components, kind = 0, 1, 1, "any"
    cuda_name, cuda_header, of = "void", "", None
    fields: ClassVar[dict[str, DType]] = {}
