"""Element types of buffers: scalars, small vectors and named structs, each laid out as CUDA C++ lays it out."""

from warploom.engine.types import scalars, vectors
from warploom.engine.types.arrays import (
    Array,
    Shape,
    dtype_of,
    element_count,
    from_bf16,
    nearest_number,
    number_range,
    to_bf16,
)
from warploom.engine.types.dtype import DType, any_type
from warploom.engine.types.scalars import *  # noqa: F403 - one name an element type
from warploom.engine.types.scalars import SCALARS
from warploom.engine.types.structs import Struct, declaration, field_offset, fixed_array, layout_text
from warploom.engine.types.vectors import *  # noqa: F403 - one name an element type
from warploom.engine.types.vectors import VECTORS

#: Every scalar and vector by its name.
NAMED: dict[str, DType] = {t.__name__: t for t in (*SCALARS, *VECTORS)}

__all__ = [
    "NAMED",
    "SCALARS",
    "VECTORS",
    "Array",
    "DType",
    "Shape",
    "Struct",
    "any_type",
    "declaration",
    "dtype_of",
    "element_count",
    "field_offset",
    "fixed_array",
    "from_bf16",
    "layout_text",
    "nearest_number",
    "number_range",
    "to_bf16",
]
__all__ += scalars.__all__
__all__ += vectors.__all__
